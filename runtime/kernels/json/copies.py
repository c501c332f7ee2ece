"""JSON values that from_json reads as strings: as Jackson writes them anew, without blanks."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from ..expressions.values.java_numbers import java_double
from .errors import Uncertain

_BEYOND = re.compile("[\U00010000-\U0010ffff\ud800-\udfff]")
ESCAPED = {
    **{code: f"\\u{code:04X}" for code in range(32)},
    **{ord(sign): f"\\{name}" for sign, name in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True)},
}
"""What Jackson writes for letters that it escapes in strings, by their codes."""


def written_anew(value: str) -> str:
    """The text of a value that is no string.

    Raises:
        Uncertain: Jackson may write it otherwise.
    """
    numbers: Any = {"parse_constant": _no_number, "parse_float": _copied_float}
    return _written(json.loads(value, object_pairs_hook=_Pairs, **numbers))


def _string(text: str) -> str:
    """A string in quotes; letters beyond 16 bits, and halves of such, are escaped."""
    escaped = text.translate(ESCAPED)
    return f'"{escaped if escaped.isascii() else _BEYOND.sub(_units, escaped)}"'


def _units(letter: re.Match[str]) -> str:
    units = letter[0].encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


class _Pairs(list[tuple[str, Any]]):
    """The fields of an object, also those that stand twice."""


def _no_number(token: str) -> Any:
    raise Uncertain(f"'{token}' in a value that is read as a string")


class _Number(str):
    """A number as Java shows it."""


def _copied_float(token: str) -> _Number:
    number = float(token)
    text = java_double(number)
    return _Number(text if math.isfinite(number) else f'"{text}"')


def _written(value: Any) -> str:
    if isinstance(value, _Pairs):
        return "{" + ",".join(f"{_string(name)}:{_written(v)}" for name, v in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    if isinstance(value, str) and not isinstance(value, _Number):
        return _string(value)
    return value if isinstance(value, _Number) else json.dumps(value)
