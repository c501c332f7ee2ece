"""What can be wrong with a value of a JSON file."""

from __future__ import annotations


class BadValue(Exception):
    """A value that Spark cannot read as its column's type: the record is malformed."""


class Uncertain(Exception):
    """Text of which it is not certain what Spark makes of it."""
