"""Patterns of dates and times: which of them are computed here, and their parts.

The module imports neither Arrow nor numpy: the planner's passes ask it.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

from .program import Refused

_TOKEN = re.compile(r"''|'((?:[^']|'')+)'|(([A-Za-z])\3*)|([^A-Za-z'])")
_SHOWN = frozenset(
    (
        *("y", "yyyy", "yy", "M", "MM", "MMM", "MMMM", "d", "dd", "H", "HH", "h", "hh", "m", "mm"),
        *("s", "ss", "a", "E", "EE", "EEE", "EEEE", "D", "DDD", "XXX", "XXXXX"),
        *("S" * count for count in range(1, 10)),
    )
)
_READ = frozenset(
    (
        *("yyyy", "yy", "M", "MM", "MMM", "d", "dd", "H", "HH", "m", "mm", "s", "ss", "XXX"),
        *("Z", *("S" * count for count in range(1, 7))),
    )
)
_NUMBERS = frozenset("yMdHms")


@cache
def format_parts(pattern: str) -> tuple[tuple[str, str], ...]:
    """The parts of a pattern: `("text", ...)` or `("field", letters)`.

    Raises:
        Refused: it holds a sign that means something else.
    """
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            raise Refused(pattern)
        at = token.end()
        quoted, letters, _, sign = token.groups()
        if letters:
            found.append(("field", letters))
        elif sign and sign in "[]{}#":
            raise Refused(pattern)
        else:
            found.append(("text", sign or (quoted or "'").replace("''", "'")))
    if not found:
        raise Refused(pattern)
    return tuple(found)


def is_shown(pattern: object) -> bool:
    """Whether times are shown in a pattern here."""
    return _are_fields(pattern, _SHOWN)


def is_read(pattern: object) -> bool:
    """Whether times are read by a pattern here.

    A number without a fixed width must not stand before another number, nor a field twice.
    """
    if not _are_fields(pattern, _READ):
        return False
    parts = format_parts(str(pattern))
    letters = [value[0] for sort, value in parts if sort == "field"]
    if len(set(letters)) < len(letters):
        return False
    for (sort, value), (next_sort, following) in pairwise(parts):
        adjacent = sort == next_sort == "field" and not {value, following} & {"XXX", "Z"}
        # Java reserves digits for numbers of a fixed width behind another.
        fixed = (len(value) == 2 or value == "yyyy") and len(following) == 2
        if adjacent and not fixed:
            return False
        if value == "yyyy" and next_sort == "text" and following[:1].isdigit():
            return False
        if sort == "field" and value[0] in _NUMBERS | {"S"} and following[:1].isdecimal():
            return False
    return True


def _are_fields(pattern: object, known: frozenset[str]) -> bool:
    if not isinstance(pattern, str):
        return False
    try:
        parts = format_parts(pattern)
    except Refused:
        return False
    return all(sort == "text" or value in known for sort, value in parts)
