"""Aggregation: GROUP BY, grouping sets, PIVOT, FILTER and WITHIN GROUP."""
