"""Logical operators to physical ones, in Spark's order."""
