"""Subqueries in expressions, and what they may use of the query around them."""
