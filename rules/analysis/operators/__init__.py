"""Operators that are neither of FROM nor of the select list."""
