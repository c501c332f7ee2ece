"""Joins two streams: each side's kept rows, and which rows of the other are their partners."""
