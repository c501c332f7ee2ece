"""Expressions: the kinds, their values over constants, their equality."""
