"""Arithmetic, rounding and logarithms."""
