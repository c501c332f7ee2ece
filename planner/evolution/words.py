"""Symbols in words, for people: short, with the names of the source columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import takewhile
from typing import Any

from ..model.expressions.core import AttributeReference
from ..model.expressions.intervals import interval_text
from .spelling import Symbol

_WORDS_BETWEEN = ("and", "or", "div")
_LONGEST = 320
_BEFORE = 80


def text_of(value: Hashable) -> str:
    """A symbol as SQL would say it, more or less."""
    match value:
        case ("column", str(name), *_):
            return name
        case ("literal", _, str(text)):
            return text
        case ("first" | "second", inner):
            return text_of(inner)
        case ("PreciseTimestampConversion", inner, *_):
            return _window_text(inner) or text_of(inner)
        case ("call", "isnotnull", _, _, (one,)):
            return f"{text_of(one)} IS NOT NULL"
        case ("call", str(name), _, _, (one, two)) if (
            not name.isidentifier() or name in _WORDS_BETWEEN
        ):
            return f"({text_of(one)} {name.upper()} {text_of(two)})"
        case ("call", "count", _, _, ()):
            return "count(*)"
        case ("call", str(name), _, _, tuple(parts)):
            return f"{name}({', '.join(map(text_of, parts))})"
        case ("cast", target, _, zone, inner):
            return f"CAST({text_of(inner)} AS {target}{f' in {zone}' if zone else ''})"
        case ("aggregate", function, distinct, rows):
            start = "DISTINCT " if distinct else ""
            return f"{start}{text_of(function)}{_filter_text(rows)}"
        case ("buffer", _, inner) | ("result", inner):
            return text_of(inner)
        case ("united", tuple(parts)):
            return " | ".join(dict.fromkeys(map(text_of, parts)))
        case ("field", int(place), inner):
            return f"{text_of(inner)}.{place}"
        case (str(name), *rest) if rest:
            return f"{name}({', '.join(text_of(part) for part in rest)})"
        case frozenset():
            return " AND ".join(sorted(map(text_of, value)))
        case tuple():
            return ", ".join(map(text_of, value))
        case _:
            return str(value)


def _filter_text(rows: Hashable) -> str:
    return f" FILTER (WHERE {text_of(rows)})" if rows else ""


def shortened(was: str, now: str) -> tuple[str, str]:
    """Two texts as a reader wants them: long ones from shortly before the first difference."""
    if max(len(was), len(now)) <= _LONGEST:
        return was, now
    same = takewhile(lambda pair: pair[0] == pair[1], zip(was, now, strict=False))
    start = was.rfind(" ", 0, max(sum(1 for _ in same) - _BEFORE, 0)) + 1
    return _cut(was, start), _cut(now, start)


def _cut(text: str, start: int) -> str:
    end = start + _LONGEST
    return f"{'...' if start else ''}{text[start:end]}{'...' if len(text) > end else ''}"


def key_text(key: Symbol) -> str:
    """A key: windows by their size, slide and offset."""
    match key:
        case ("first" | "second", tuple(inner)):
            return key_text(inner)
        case _:
            return window_of(key) or text_of(key)


def window_of(key: Symbol) -> str | None:
    """`window(ts, 1 minute, 30 seconds)` for the struct that a window is computed as."""
    struct: Any = key[1][0] if key[0] == "one of" else key
    match struct:
        case ("call", "named_struct", _, _, (_, start, _, end)):
            size = _gap(start, end)
            found = _window_start(start)
            if found is None:
                session = {*_columns_in(start)} <= {*_columns_in(end)}
                return f"session_window({_times_text(end)}, {size})" if session else None
            _, time, slide, _ = found
            slid = interval_text(0, 0, slide)
            parts = (_times_text(time), size) if size == slid else (_times_text(time), size, slid)
            return f"window({', '.join(parts)})"
        case _:
            return None


def _window_start(value: Hashable) -> Any:
    """The `window start` in a symbol, if there is one; not one that its time is made of."""
    if not isinstance(value, tuple):
        return None
    if value and value[0] == "window start":
        return value
    return next(filter(None, map(_window_start, value)), None)


def _window_text(value: Hashable) -> str | None:
    """A bound of a window, by its slide."""
    found = _window_start(value)
    if found is None:
        return None
    _, time, slide, _ = found
    return f"bound of window({_times_text(time)}, {interval_text(0, 0, slide)})"


def _times_text(value: Hashable) -> str:
    within = _window_text(value)
    return within or ", ".join(dict.fromkeys(_columns_in(value))) or "the time"


def _gap(start: Hashable, end: Hashable) -> str:
    """What the end adds to the start."""
    before, after = _literals(start), _literals(end)
    for literal in before:
        if literal in after:
            after.remove(literal)
    return ", ".join(_interval(text) for _, text in after) or "its gap"


def _interval(text: str) -> str:
    if text.lstrip("-").isdigit():
        return interval_text(0, 0, int(text))
    digits = [part.strip(" ()") for part in text.split(",")]
    if len(digits) == 3 and all(part.lstrip("-").isdigit() for part in digits):
        months, days, micros = map(int, digits)
        return interval_text(months, days, micros)
    return text


def _literals(value: Hashable) -> list[tuple[Hashable, str]]:
    match value:
        case ("literal", kind, str(text)):
            return [(kind, text)]
        case ("window start", *_):
            return []
        case tuple() | frozenset():
            return [found for part in value for found in _literals(part)]
        case _:
            return []


def _columns_in(value: Hashable) -> list[str]:
    match value:
        case ("column", str(name), *_):
            return [name]
        case tuple() | frozenset():
            return [found for part in value for found in _columns_in(part)]
        case _:
            return []


def rows_text(rows: Any) -> str:
    """Where rows come from, and their filters."""
    base, filters = rows
    conditions = sorted(map(text_of, filters))
    return f"{base_text(base)}{' where ' + ' AND '.join(conditions) if conditions else ''}"


def base_text(base: Hashable) -> str:
    """The rows before filters."""
    match base:
        case ("stream" | "table", str(name), *_):
            return name
        case ("groups", rows, frozenset(keys)):
            by = ", ".join(sorted(map(key_text, keys)))
            return f"groups by {by} of ({rows_text(rows)})" if by else f"all of ({rows_text(rows)})"
        case ("join", str(kind), _, (left, right), *_):
            return f"({rows_text(left)}) {kind} join ({rows_text(right)})"
        case ("union", tuple(inputs)):
            return " union ".join(f"({rows_text(each)})" for each in inputs)
        case ("limit", int(number), rows):
            return f"the first {number} of ({rows_text(rows)})"
        case ("expand", _, inner):
            return base_text(inner)
        case ("generate", *_, inner):
            return f"rows generated from {base_text(inner)}"
        case (str(name), rows, *_) if "Deduplicate" in name:
            return f"different rows of ({rows_text(rows)})"
        case (str(name), *_):
            return name
        case _:
            return str(base)


def columns_text(columns: Iterable[AttributeReference]) -> str:
    """Columns with their types."""
    return ", ".join(f"{c.name} {c.data_type.simple}" for c in columns)
