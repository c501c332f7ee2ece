"""Summaries that aggregate functions keep of many values, byte by byte as Spark has them."""
