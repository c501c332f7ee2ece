"""What can be wrong with a value of a JSON file."""

from __future__ import annotations


class BadValue(Exception):
    """A value that Spark cannot read as its column's type: the record is malformed.

    Args:
        token: the text, where Spark names it and the type in its error.
        target: the name of Spark's class of the type.
        in_array: whether it is an array's element, which has no name.
    """

    def __init__(self, token: str = "", target: str = "", *, in_array: bool = False) -> None:
        super().__init__(token, target)
        self.token = token
        self.target = target
        self.in_array = in_array


class Uncertain(Exception):
    """Text of which it is not certain what Spark makes of it."""
