"""Casts, and values as JSON."""
