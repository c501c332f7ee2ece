"""Rewrites of one operator or of operators side by side."""
