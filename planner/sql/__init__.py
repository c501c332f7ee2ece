"""Streaming SQL: Spark's syntax through sqlglot, into unresolved logical plans."""
