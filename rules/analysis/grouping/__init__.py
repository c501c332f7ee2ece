"""Aggregation: GROUP BY and grouping sets."""
