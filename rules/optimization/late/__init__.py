"""Rules that run once, behind all others."""
