"""Strings as times by a pattern: java.time's rules over whole columns."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.ordering import valid
from ...columns.texts import bytes_of
from ...errors import not_exact
from ..programs.program import Step
from ..programs.time_formats import format_parts
from ..values import messages
from ..values.dates import MONTHS, days_of
from ..values.division import towards_zero
from ..values.vectors import Value, made, nulled, numbers
from ..values.zones import DAY, MICROS, MOST_DAYS, zone_of
from .formats import HOUR, MINUTE

_MOST_OFFSET = 18 * 3600


def read_times(step: Step, text: Any, pattern: Value) -> Any:
    """Strings as times by a pattern: `gettimestamp`, and the seconds of `unix_timestamp`.

    Dates and timestamps stay what they are, whatever the pattern.

    Raises:
        KernelError: a string is no such time; a date has no microseconds in 64 bits.
    """
    if step.kinds[0] != "string":
        times = numbers(text)
        if step.kinds[0] == "date":
            if np.any(np.abs(times.astype(np.int64)) > MOST_DAYS):
                raise messages.overflow(step, "long overflow")
            times = zone_of(step.zone).starts(times)
        known = nulled(made(times if step.kind != "bigint" else towards_zero(times, MICROS)), text)
        return known if pattern.is_valid else pa.nulls(len(text), known.type)
    times, fits = _read(text, pattern.as_py(), step.zone if "ntz" not in str(step.kind) else "UTC")
    bad = ~fits & text.is_valid().to_numpy(zero_copy_only=False)
    if bad.any():
        odd = text.filter(pa.array(bad))
        if step.mode == "ANSI":
            raise messages.cannot_parse(step, *_unread(odd[0].as_py(), pattern.as_py()))
        times = np.where(bad, 0, times)
    if step.kind == "bigint":
        times = towards_zero(times, MICROS)
    return pc.if_else(pa.array(fits), made(times), pa.scalar(None, pa.int64()))


def _unread(text: str, pattern: str) -> tuple[str, str]:
    """A text, and where reading it ends, as Java says it; nothing of a time that there is not."""
    at, parts = 0, _part_expressions(pattern)
    for part, following in zip(parts, (*parts[1:], ""), strict=True):
        signed = False
        if part == _FIELDS["yyyy"] and not following.startswith("(?P<"):
            part += "(?![0-9])"  # Java takes further digits, too, and misses a sign then
            signed = _SIGN_ALONE.match(text, at) is not None
        found = re.compile(part, re.IGNORECASE).match(text, at)
        if found is None:
            return text, f" at index {at + signed}"
        at = found.end()
    return text, f", unparsed text found at index {at}" if at < len(text) else ""


_SIGN_ALONE = re.compile("[+-](?![0-9]{4})")
"""Java has read such a sign when it misses the year's digits."""
_SHORT_MONTHS = tuple(name[:3] for name in MONTHS)
_FIELDS = {
    "yyyy": r"(?P<y>[0-9]{4})",
    "yy": r"(?P<y>[0-9]{2})",
    "MMM": rf"(?P<M>{'|'.join(_SHORT_MONTHS)})",
    "XXX": r"(?P<X>Z|[+-][0-9]{2}:[0-9]{2})",
    "Z": r"(?P<X>[+-][0-9]{4})",
}


@cache
def _part_expressions(pattern: str) -> tuple[str, ...]:
    """What the parts of a text in the pattern look like."""
    parts = []
    for sort, value in format_parts(pattern):
        if sort == "text":
            parts.append(re.escape(value) if value.isascii() else value)
        elif value in _FIELDS:
            parts.append(_FIELDS[value])
        elif value[0] == "S":
            parts.append(f"(?P<S>[0-9]{{1,{len(value)}}})")
        else:
            parts.append(f"(?P<{value[0]}>[0-9]{'{2}' if len(value) == 2 else '{1,18}'})")
    return tuple(parts)


@cache
def _expressions(pattern: str) -> tuple[str, str]:
    """What a text in the pattern looks like, and one with a year that has a sign."""
    whole = "".join(_part_expressions(pattern))
    signed = whole.replace(_FIELDS["yyyy"], r"(?:\+[0-9]{5,19}|-[0-9]{4,19})")
    return rf"(?i)\A{whole}\z", rf"(?i)\A{signed}\z" if signed != whole else ""


def _read(text: Any, pattern: str, zone: str) -> tuple[Any, Any]:
    """Microseconds, and where the text is in the pattern and there is such a time."""
    known = _fields_of_fixed_width(text, pattern) or _fields_found(text, pattern)

    def number(letter: str, default: int = 0) -> Any:
        return known[letter] if letter in known else np.full(len(text), default, np.int64)

    years, hours, minutes, seconds = number("y", 1970), number("H"), number("m"), number("s")
    if "yy" in pattern and "yyyy" not in pattern:
        years = years + 2000
    days, are_days = days_of(years, number("M", 1), number("d", 1))
    fits = known["fits"] & are_days & (hours < 24) & (minutes < 60) & (seconds < 60)
    micros = hours * HOUR + minutes * MINUTE + seconds * MICROS + number("S")
    local = np.where(fits, days.astype(np.int64) * DAY + micros, 0)
    if "X" not in known:
        return zone_of(zone).utc(local), fits
    return local - known["X"] * MICROS, fits & (np.abs(known["X"]) <= _MOST_OFFSET)


_WIDTHS = {"yyyy": 4, "yy": 2, "MMM": 3, **dict.fromkeys(("MM", "dd", "HH", "mm", "ss"), 2)}
_MONTH_LETTERS = np.array([int.from_bytes(name[:3].lower().encode(), "big") for name in MONTHS])


def _fields_of_fixed_width(text: Any, pattern: str) -> dict[str, Any] | None:
    """The numbers in texts that are all equally long and in the pattern; None: they are not.

    By letter of the pattern, a fraction in microseconds; `fits`: which texts are not null.
    """
    parts, width = [], 0
    for sort, value in format_parts(pattern):
        wide = len(value.encode()) if sort == "text" or value[0] == "S" else _WIDTHS.get(value)
        if wide is None:
            return None
        parts.append((sort, value, slice(width, width + wide)))
        width += wide
    letters, ends = bytes_of(text.drop_null())
    if len(ends) == 1 or not (np.diff(ends) == width).all():
        return None
    fits = valid(text)
    rows = letters.reshape(-1, width).T  # a row for each place
    found: dict[str, Any] = {"fits": fits}
    for sort, value, places in parts:
        own = rows[places]
        if sort == "text":
            if not (own == np.frombuffer(value.encode(), np.uint8)[:, None]).all():
                return None
            continue
        numbers_read = _months_named(own) if value == "MMM" else _digits_read(own)
        if numbers_read is None:
            return None
        if value[0] == "S":
            numbers_read = numbers_read * 10 ** (6 - len(value))
        found[value[0]] = np.ones(len(text), np.int64)
        found[value[0]][fits] = numbers_read
    return found


def _digits_read(rows: Any) -> Any | None:
    """Numbers of which each place has a row of digits; None: not all are digits."""
    digits = rows - np.uint8(ord("0"))
    if (digits > 9).any():
        return None
    number = np.zeros(rows.shape[1], np.int64)
    for place in digits:
        number = number * 10 + place
    return number


def _months_named(rows: Any) -> Any | None:
    """The months of three letters each; None: there are others."""
    codes = (rows | np.uint8(32)).astype(np.int64)
    codes = codes[0] << 16 | codes[1] << 8 | codes[2]
    order = np.argsort(_MONTH_LETTERS)
    at = np.searchsorted(_MONTH_LETTERS, codes, sorter=order).clip(max=11)
    return order[at] + 1 if (_MONTH_LETTERS[order[at]] == codes).all() else None


def _fields_found(text: Any, pattern: str) -> dict[str, Any]:
    """As `_fields_of_fixed_width`, of any texts: 0 in those that are not in the pattern."""
    expression, signed = _expressions(pattern)
    if signed and pc.any(pc.match_substring_regex(text, signed)).as_py():
        raise not_exact(
            "A time has a year with a sign, which the embedded engine does not read by a pattern.",
            of_rows=True,
        )
    found = pc.extract_regex(text, expression)
    fields = {field.name: pc.struct_field(found, field.name) for field in found.type}
    known = {"fits": found.is_valid().to_numpy(zero_copy_only=False)}
    for letter, digits in fields.items():
        match letter:
            case "M":
                known[letter] = _month(digits)
            case "S":
                known[letter] = _fraction(digits)
            case "X":
                known[letter] = _offsets(digits)
            case _:
                known[letter] = _number(digits)
    return known


def _number(digits: Any) -> Any:
    return numbers(digits.fill_null("0").cast(pa.int64()))


def _month(text: Any) -> Any:
    if not pc.any(pc.utf8_is_alpha(text)).as_py():
        return _number(text)
    names = pa.array([name.lower() for name in _SHORT_MONTHS])
    return numbers(pc.index_in(pc.utf8_lower(text), names)).astype(np.int64) + 1


def _fraction(text: Any) -> Any:
    return _number(pc.utf8_rpad(text.fill_null("0"), 6, padding="0"))


def _offsets(text: Any) -> Any:
    """`+05:30` or `+0530` as seconds; minutes beyond 59 as none that there is."""
    text = pc.replace_substring(text, ":", "")
    text = pc.if_else(pc.match_substring_regex(text, "^[+-]").fill_null(False), text, "+0000")
    hours, minutes = (
        numbers(pc.utf8_slice_codeunits(text, start, start + 2).cast(pa.int64()))
        for start in (1, 3)
    )
    size = np.where((hours > 59) | (minutes > 59), 2 * _MOST_OFFSET, hours * 3600 + minutes * 60)
    negative = pc.starts_with(text, "-").to_numpy(zero_copy_only=False)
    return np.where(negative, -size, size)
