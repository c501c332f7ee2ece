"""Values of functions of texts over constants.

Each takes the call and its arguments' plain values and gives Spark's value. A ValueError,
LookupError or ArithmeticError says that the value is not known here.
"""

from __future__ import annotations

import base64
import math
from decimal import Decimal
from urllib.parse import quote_plus

from ..expressions.core import Call


def character(call: Call, n: int) -> str:
    """`chr`."""
    return "" if n < 0 else chr(n & 0xFF)


def soundex(call: Call, text: str) -> str:
    """The letter and the three digits of a word."""
    if not text or not text[0].isascii() or not text[0].isalpha():
        return text
    codes = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))
    letters = [c for c in text.upper() if c in codes]
    found, last = letters[0], codes[letters[0]]
    for letter in letters[1:]:
        code = codes[letter]
        if code == "7":  # H and W do not part equal codes
            continue
        if code not in ("0", last):
            found += code
        last = code
    return (found + "000")[:4]


def levenshtein(call: Call, one: str, other: str, most: int | None = None) -> int:
    """`levenshtein`: -1 for a distance above the most."""
    distance = edit_distance(one, other)
    return distance if most is None or distance <= most else -1


def edit_distance(one: str, other: str) -> int:
    """How many characters to change, add or drop."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            best = min(row[j] + 1, row[j - 1] + 1, before + (a != b))
            before, row[j] = row[j], best
    return row[-1]


def translated(call: Call, text: str, wanted: str, given: str) -> str:
    """`translate`."""
    table: dict[int, int | None] = {}
    for place, char in enumerate(wanted):
        table.setdefault(ord(char), ord(given[place]) if place < len(given) else None)
    return text.translate(table)


def joined(call: Call, separator: str | None, *parts: object) -> str | None:
    """`concat_ws`."""
    if separator is None:
        return None
    flat: list[object] = []
    for part in parts:
        flat.extend(part if isinstance(part, tuple) else (part,))
    return separator.join(str(part) for part in flat if part is not None)


def substring_index(call: Call, text: str, mark: str, count: int) -> str:
    """What stands before (from the end: behind) so many marks."""
    if not mark or count == 0:
        return ""
    parts = text.split(mark)
    return mark.join(parts[:count] if count > 0 else parts[count:])


def overlaid(call: Call, text: str, other: str, position: int, length: int) -> str:
    """`overlay`: as many characters as the other text has are replaced, or so many as are said."""
    if position < 1:
        raise ValueError(position)
    end = position - 1 + (len(other) if length < 0 else length)
    return text[: position - 1] + other + text[end:]


def place_in_list(call: Call, text: str, items: str) -> int:
    """`find_in_set`: from 1, 0 for a text that is not there."""
    parts = items.split(",")
    return parts.index(text) + 1 if text in parts else 0


def with_thousands(call: Call, number: float | Decimal, places: int | str) -> str:
    """`format_number` with so many places, rounded half even as by DecimalFormat."""
    if not isinstance(places, int) or places < 0 or not math.isfinite(number):
        raise ValueError(places)
    return format(number, f",.{places}f")


def in_base64(call: Call, value: bytes) -> str:
    """Lines of 76 characters, as MIME has them."""
    text = base64.b64encode(value).decode()
    return "\r\n".join(text[at : at + 76] for at in range(0, len(text), 76))


def encoded(call: Call, text: str, charset: str) -> bytes:
    """`encode` in UTF-8."""
    if charset.upper() != "UTF-8":
        raise ValueError(charset)
    return text.encode()


def for_url(call: Call, text: str) -> str:
    """`url_encode`: a blank is a plus, and a tilde no plain letter."""
    return quote_plus(text, safe="*").replace("~", "%7E")


def octets(value: str | bytes) -> int:
    """The number of bytes."""
    return len(value.encode() if isinstance(value, str) else value)


def unhex(call: Call, text: str) -> bytes | None:
    """Null where the text has other characters than hexadecimal digits."""
    if not all(digit in "0123456789abcdefABCDEF" for digit in text):
        return None
    return bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}")


def formatted(call: Call, pattern: str | None, *values: object) -> str | None:
    """`%s` of texts and whole numbers and `%d`; other directives differ from Java's."""
    if pattern is None:
        return None
    pieces = pattern.replace("%%", "").split("%")[1:]
    if any(piece[:1] not in ("s", "d") for piece in pieces):
        raise ValueError(pattern)
    values = values[: len(pieces)]  # Java leaves the others out
    if len(values) < len(pieces) or any(
        isinstance(value, bool) or not isinstance(value, int if piece[0] == "d" else str | int)
        for piece, value in zip(pieces, values, strict=True)
    ):
        raise ValueError(values)
    return pattern % values
