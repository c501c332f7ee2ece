"""Logical plans: operators and what is known of their rows."""
