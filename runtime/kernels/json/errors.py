"""What can be wrong with a value of a JSON file, or with its record."""

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


class Partial:
    """What is odd about the current record.

    Attributes:
        found: whether a value was malformed, and is null for that reason.
        cause: the first such value.
        field: the name of its field.
        repeated: whether a field stands twice in an object.
        broken_value: whether a syntax error is within a string, an array or an object that a field
            takes. Jackson goes on behind it, so that more of the record may be read.
    """

    found: bool
    cause: BadValue
    field: str
    repeated: bool
    broken_value: bool

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin a record."""
        self.found = self.repeated = self.broken_value = False

    def malformed(self, field: str, cause: BadValue) -> None:
        """Take in a malformed value."""
        if not self.found:
            self.found, self.field, self.cause = True, field, cause
