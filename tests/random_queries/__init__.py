"""Random streaming queries, planned here and by a live Spark; see tests/compare_random_queries.py."""
