"""Dates and times by patterns of java.time, as Spark's formatters parse them.

Only patterns are known here of which it is certain what they match: fields of digits, names of
months, halves of days, offsets and literal text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from .errors import BadValue, Uncertain

Read = Callable[[str], tuple[int, int | None]]
"""Gives the microseconds of the local time since 1970, and the offset in seconds if there is one.

It raises BadValue and Uncertain.
"""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([^A-Za-z'\[\]{}#])")
_FIELDS = {
    "yyyy": r"(?P<year>[+-]\d{4,19}|\d{4})",
    "uuuu": r"(?P<year>[+-]\d{4,19}|\d{4})",
    "MM": r"(?P<month>\d\d)",
    "M": r"(?P<month>\d{1,19})",
    "MMM": f"(?P<name>{'|'.join(_MONTHS)})",
    "dd": r"(?P<day>\d\d)",
    "d": r"(?P<day>\d{1,19})",
    "HH": r"(?P<hour>\d\d)",
    "H": r"(?P<hour>\d{1,19})",
    "hh": r"(?P<half>\d\d)",
    "h": r"(?P<half>\d{1,19})",
    "a": r"(?P<noon>am|pm)",
    "mm": r"(?P<minute>\d\d)",
    "m": r"(?P<minute>\d{1,19})",
    "ss": r"(?P<second>\d\d)",
    "s": r"(?P<second>\d{1,19})",
    **{"S" * count: rf"(?P<fraction>\d{{1,{count}}})" for count in range(1, 10)},
    "XXX": r"(?P<offset>z|[+-]\d\d:\d\d)",
    "XX": r"(?P<offset>z|[+-]\d\d\d\d)",
}
_DATE, _CLOCK, _ZONE = {"y", "u", "M", "d"}, {"H", "h", "a", "m", "s", "S"}, {"X"}
_MANY = "a field of any length"
_MOST_SECONDS = 18 * 3600


def unsupported_pattern(pattern: str) -> bool:
    """Whether it is not certain here what a pattern matches."""
    return _compiled(pattern) is None


@cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """The pattern as a regular expression; None: it is not known here."""
    parts, fields, at = [], [], 0
    before = ""
    while at < len(pattern):
        found = _TOKEN.match(pattern, at)
        if found is None or not found[0].isascii():
            return None
        at = found.end()
        if found[2]:
            part = _FIELDS.get(found[0])
            if part is None:
                return None
            many = r"\d{1,19}" in part
            if before and r"\d" in part and (many or found[2] == "S" or before == _MANY):
                return None  # the first of two such fields leaves digits to the other
            before = _MANY if many else part if r"\d" in part else ""
            fields.append(found[2])
        else:
            literal = found[3] if found[1] is None else found[1].replace("''", "'") or "'"
            if any(letter.isdigit() for letter in literal):
                return None
            part, before = re.escape(literal), ""
        parts.append(part)
    kinds = set(fields)
    twice = len(fields) != len(kinds) or {"y", "u"} <= kinds or {"H", "h"} <= kinds
    if twice or ("h" in kinds) != ("a" in kinds) or not kinds:
        return None
    whole_date = (bool(kinds & {"y", "u"}) and {"M"} <= kinds) or not kinds & _DATE
    if not whole_date or (kinds & _CLOCK and not kinds & {"H", "h"}):
        return None  # what Spark puts in the place of a field that is missing is not known here
    return re.compile("".join(parts), re.ASCII | re.IGNORECASE)


def reader_of(pattern: str) -> Read:
    """What reads texts by a pattern that is not `unsupported_pattern`."""
    compiled = _compiled(pattern)
    assert compiled is not None

    def read(text: str) -> tuple[int, int | None]:
        found = compiled.fullmatch(text)
        if found is None:
            raise BadValue
        if (found.groupdict().get("year") or "")[:1] in ("+", "-"):
            raise Uncertain(f"the time '{text}'")
        return _moment(found.groupdict())

    return read


def _moment(parts: dict[str, str | None]) -> tuple[int, int | None]:
    def whole(name: str, usual: int = 0) -> int:
        text = parts.get(name)
        return usual if text is None else int(text)

    from ..expressions.values.dates import read_date  # numpy, for who reads, not for who asks

    name = parts.get("name")
    month = whole("month", 1) if name is None else _MONTHS.index(name.lower()) + 1
    hour, minute, second = whole("hour"), whole("minute"), whole("second")
    if parts.get("half") is not None:
        half = whole("half")
        if not 1 <= half <= 12:
            raise BadValue
        hour = half % 12 + (12 if (parts.get("noon") or "").lower() == "pm" else 0)
    if hour > 23 or minute > 59 or second > 59 or month > 12 or whole("day", 1) > 31:
        raise BadValue
    try:
        days = read_date(f"{whole('year', 1970):04d}-{month:02d}-{whole('day', 1):02d}")
    except ValueError:
        raise BadValue from None
    seconds = days * 86_400 + hour * 3600 + minute * 60 + second
    micros = int((parts.get("fraction") or "")[:6].ljust(6, "0"))
    return seconds * 1_000_000 + micros, _offset(parts.get("offset"))


def _offset(text: str | None) -> int | None:
    if text is None:
        return None
    if text in "zZ":
        return 0
    hours, minutes = int(text[1:3]), int(text[-2:])
    seconds = hours * 3600 + minutes * 60
    if minutes > 59 or seconds > _MOST_SECONDS:
        raise BadValue
    return -seconds if text[0] == "-" else seconds
