"""Functions of dates and timestamps, and their patterns."""
