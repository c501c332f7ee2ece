"""Expressions: names to columns, calls to functions, types and casts."""
