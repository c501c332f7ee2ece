"""JSON values that from_json reads as strings: as Jackson writes them anew, without blanks."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from ..expressions.values.java_numbers import java_double
from .errors import Uncertain

_CONTROL = re.compile(r"\\u|\\[bfnrt/]|\x7f")
_BEYOND = re.compile("[\U00010000-\U0010ffff]")


def written_anew(value: str) -> str:
    """The text of a value that is no string.

    Raises:
        Uncertain: Jackson may write it otherwise.
    """
    if _CONTROL.search(value):
        raise Uncertain("an escaped letter in a value that is read as a string")
    numbers: Any = {"parse_constant": _no_number, "parse_float": _copied_float}
    copied = _written(json.loads(value, object_pairs_hook=_Pairs, **numbers))
    return copied if copied.isascii() else _BEYOND.sub(_as_pair, copied)


def _as_pair(letter: re.Match[str]) -> str:
    """A letter beyond 16 bits as Jackson writes it to bytes: two escapes."""
    units = letter[0].encode("utf-16-be").hex().upper()
    return f"\\u{units[:4]}\\u{units[4:]}"


class _Pairs(list[tuple[str, Any]]):
    """The fields of an object, also those that stand twice."""


def _no_number(token: str) -> Any:
    raise Uncertain(f"'{token}' in a value that is read as a string")


class _Number(str):
    """A number as Java shows it."""


def _copied_float(token: str) -> _Number:
    number = float(token)
    if not math.isfinite(number):
        raise Uncertain("such a number in a value that is read as a string")
    return _Number(java_double(number))


def _written(value: Any) -> str:
    if isinstance(value, _Pairs):
        fields = (f"{json.dumps(k, ensure_ascii=False)}:{_written(v)}" for k, v in value)
        return "{" + ",".join(fields) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    return value if isinstance(value, _Number) else json.dumps(value, ensure_ascii=False)
