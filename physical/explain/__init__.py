"""The texts of a plan: simple, extended, formatted, json, stateful."""
