"""Filters and joins: conditions that are pushed, inferred, dropped or reordered."""
