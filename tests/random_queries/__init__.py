"""Random streaming queries for tests/compare_random_queries.py."""
