"""Subqueries as joins."""
