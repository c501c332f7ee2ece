"""Formats of format_string: which of them are computed here, and their parts.

The grammar is that of java.util.Formatter with `%s`, `%d`, `%x`, `%f`, `%%` and `%n`. The module
imports neither Arrow nor numpy: the planner's passes ask it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from .operation_facts import FLOATS, WHOLE, Arguments
from .program import Refused

_PART = re.compile(r"%([-+ 0,]*)([1-9][0-9]*)?(?:\.([0-9]+))?([sdxXf%n])|([^%]+)")
_TAKES = {
    "s": (*WHOLE, *FLOATS, "boolean", "string"),
    "d": WHOLE,
    "x": WHOLE,
    "X": WHOLE,
    "f": FLOATS,
}
_FLAGS = {"s": "-", "d": "-+ 0,", "x": "-0", "X": "-0", "f": "-+ 0,"}
_MOST_PLACES = 15
_WIDEST = 1000


@dataclass(frozen=True)
class Shown:
    """How an argument is shown.

    Attributes:
        conversion: `s`, `d`, `x`, `X` or `f`.
        flags: of `-+ 0,`, each once at most.
        width: how many UTF-16 units it has at least; 0: any number.
        precision: places behind the point, or for texts how many units it has at most; -1: none.
    """

    conversion: str
    flags: str
    width: int
    precision: int


@cache
def print_parts(text: str) -> tuple[str | Shown, ...]:
    """The parts of a format: texts, and how the arguments are shown, in their order.

    Raises:
        Refused: it is not in the grammar.
    """
    found: list[str | Shown] = []
    at = 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            raise Refused(text)
        at = part.end()
        flags, width, precision, conversion, plain = part.groups()
        if plain or conversion in "%n":
            if not plain and part[0] not in ("%%", "%n"):
                raise Refused(text)
            found.append(plain or {"%": "%", "n": "\n"}[conversion])
        else:
            places = -1 if precision is None else int(precision)
            one = Shown(conversion, flags, int(width or 0), places)
            if not _is_known(one):
                raise Refused(text)
            found.append(one)
    return tuple(found)


def _is_known(one: Shown) -> bool:
    flags = one.flags
    fits = set(flags) <= set(_FLAGS[one.conversion]) and len(set(flags)) == len(flags)
    aligned = one.width > 0 or not set(flags) & set("-0")
    excluding = {"-", "0"} <= set(flags) or {"+", " "} <= set(flags)
    whole = one.conversion in "dxX"
    return (
        fits
        and aligned
        and not excluding
        and one.width <= _WIDEST
        and (one.precision < 0 if whole else one.precision <= _MOST_PLACES)
    )


def is_printed(given: Arguments) -> bool:
    """Whether arguments of these types are shown in a format."""
    if not isinstance(given.values[0], str):
        return False
    try:
        shown = [part for part in print_parts(given.values[0]) if isinstance(part, Shown)]
    except Refused:
        return False
    kinds = given.kinds[1:]
    return len(shown) <= len(kinds) and all(
        kind in _TAKES[part.conversion] for part, kind in zip(shown, kinds, strict=False)
    )
