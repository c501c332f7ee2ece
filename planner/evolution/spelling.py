"""One form for a value that can be written in several ways.

What is made here of a function and its arguments has the same value for every row as the call, null
and all; conditions apart, where null counts as false. Nothing here knows the data.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from ..model.functions import shapes
from ..model.registry import find

Symbol = tuple[Any, ...]
"""Nested tuples; the first item names what it is."""

TRUE: Symbol = ("literal", "boolean", "True")
FALSE: Symbol = ("literal", "boolean", "False")
ONE: Symbol = ("literal", "integer", "1")
ZERO: Symbol = ("literal", "integer", "0")
_DAY = 86_400_000_000  # microseconds


def call_of(name: str, zone: Hashable, options: Hashable, parts: Iterable[Symbol]) -> Symbol:
    """A call, its operands in one order where the order makes no difference."""
    spec = find(name)
    parts = list(parts)
    match name:
        case "if":
            return chosen(*parts)
        case "coalesce":
            return first_not_null(parts)
        case "inset":
            name = "in"
        case "timestamp_add_interval":
            micros = _micros(parts[1])
            if micros is not None:
                return _later(parts[0], micros)
        case "or" | "and":
            parts = [inner for part in parts for inner in operands_of(part, name)]
            parts = list(dict.fromkeys(parts)) if all(map(steady, parts)) else parts
            parts = [part for part in parts if part != (TRUE if name == "and" else FALSE)]
            if len(parts) < 2:
                return parts[0] if parts else TRUE if name == "and" else FALSE
            compared = _one_of(parts) if name == "or" else None
            if compared is not None:
                name, parts = "in", list(compared)
    if name in ("<", "<="):
        name, parts = _whole(name, _without_minus(parts))
    elif name == "in":
        parts[1:] = sorted(set(parts[1:]), key=order_key)
        if len(parts) == 2:
            return call_of("=", zone, options, parts)
    elif spec is not None and spec.commutative:
        parts.sort(key=order_key)
    return ("call", name, zone, options, tuple(parts))


def _without_minus(parts: Sequence[Symbol]) -> tuple[Symbol, Symbol]:
    """Two times that are compared, with an interval added to at most one of them."""
    (one, first), (other, second) = map(_time_and_gap, parts)
    return _later(one, max(first - second, 0)), _later(other, max(second - first, 0))


def _later(time: Symbol, micros: int) -> Symbol:
    """A time and an interval of less than a day, which is as long wherever the clock stands."""
    if not micros:
        return time
    interval = ("literal", "interval", str(micros))
    return ("call", "timestamp_add_interval", None, (), (time, interval))


def _time_and_gap(value: Symbol) -> tuple[Symbol, int]:
    match value:
        case ("call", "timestamp_add_interval", _, _, (time, interval)):
            micros = _micros(interval)
            if micros is not None:
                return time, micros
    return value, 0


def _micros(interval: Hashable) -> int | None:
    """The microseconds of a constant interval of less than a day."""
    match interval:
        case ("literal", str(kind), str(text)) if kind.startswith("interval"):
            if any(unit in kind for unit in ("month", "year")):
                return None
            months, days, micros = _units(text)
            return None if months or days or abs(micros) >= _DAY else micros
        case _:
            return None


def _units(text: str) -> tuple[int, ...]:
    """Months, days and microseconds of an interval as a literal has it."""
    parts = [int(part) for part in text.strip("()").split(",")] if text != "None" else [0]
    return tuple([0] * (3 - len(parts)) + parts)


def _whole(name: str, parts: tuple[Symbol, Symbol]) -> tuple[str, list[Symbol]]:
    """A comparison with an integer as one that the integer itself fulfils: of `v > 3`, `4 <= v`."""
    one, other = parts
    match one, other:
        case ("literal", "integer", str(text)), _ if name == "<" and is_constant(one):
            return "<=", [("literal", "integer", str(int(text) + 1)), other]
        case _, ("literal", "integer", str(text)) if name == "<" and is_constant(other):
            return "<=", [one, ("literal", "integer", str(int(text) - 1))]
    return name, [one, other]


def chosen(condition: Symbol, value: Symbol, other: Symbol) -> Symbol:
    """`IF(condition, value, other)`; as a coalesce where it says no more."""
    condition = holding(condition)
    if condition == TRUE or (value == other and steady(condition)):
        return value
    if condition == FALSE:
        return other
    match condition:
        case ("call", "isnotnull", _, _, (one,)) if one == value and steady(one):
            return first_not_null((value, other))
        case ("call", "isnull", _, _, (one,)) if one == other and steady(one):
            return first_not_null((other, value))
    if (value, other) == (TRUE, FALSE):
        return first_not_null((condition, FALSE))
    return ("call", "if", None, (), (condition, value, other))


def first_not_null(parts: Iterable[Symbol]) -> Symbol:
    """`coalesce(parts)`, without what is never reached."""
    kept: list[Symbol] = []
    null: Symbol = ()
    for part in (inner for each in parts for inner in operands_of(each, "coalesce")):
        null = null or part
        if not is_null(part) and not (part in kept and steady(part)):
            kept.append(part)
        if never_null(part):
            break
    if not kept:
        return null
    return kept[0] if len(kept) == 1 else ("call", "coalesce", None, (), tuple(kept))


def holding(condition: Symbol) -> Symbol:
    """What is true of the same rows, where null is as good as false."""
    match condition:
        case ("call", "coalesce", _, _, (inner, other)) if other == FALSE:
            return holding(inner)
        case ("call", "=" | "<=>", _, _, (one, other)) if TRUE in (one, other):
            return holding(one if other == TRUE else other)
        case ("call", "<=>", zone, options, (one, other)) if is_constant(one) or is_constant(other):
            return call_of("=", zone, options, (one, other))
        case ("call", "and" | "or" as name, zone, options, tuple(parts)):
            return call_of(name, zone, options, map(holding, parts))
        case ("call", "if", _, _, (first, value, other)) if other == FALSE:
            return call_of("and", None, (), (first, holding(value)))
        case ("call", "if", _, _, (first, value, other)) if value == TRUE:
            return call_of("or", None, (), (first, holding(other)))
        case ("call", "<", _, _, (time, ("call", "timestamp_add_interval", _, _, later))) if (
            _is_after(time, later)
        ):
            return ("call", "isnotnull", None, (), (time,))
        case ("call", "not", _, _, (("call", "in", zone, options, (one, *values)),)) if values:
            unequal = (
                ("call", "not", None, (), (call_of("=", zone, options, (one, value)),))
                for value in values
            )
            return call_of("and", None, (), unequal)
        case _:
            return condition


def conditions_in(condition: Symbol) -> Iterator[Symbol]:
    """What must hold for a condition to hold, each by itself."""
    for part in operands_of(holding(condition), "and"):
        if part != TRUE:
            yield part


def operands_of(value: Symbol, name: str) -> tuple[Symbol, ...]:
    """The operands of calls of one function within one another; of another value itself."""
    match value:
        case ("call", called, _, _, tuple(parts)) if called == name:
            return tuple(inner for part in parts for inner in operands_of(part, name))
        case _:
            return (value,)


def given(value: Symbol, known: frozenset[Symbol]) -> Symbol:
    """A value in rows of which it is known what is not null in them."""
    if not known:
        return value
    match value:
        case ("call", "isnotnull", _, _, (one,)) if one in known:
            return TRUE
        case ("call", "isnull", _, _, (one,)) if one in known:
            return FALSE
        case ("call", "coalesce", _, _, tuple(parts)):
            reached = list(parts)
            for i, part in enumerate(parts):
                if part in known:
                    reached = reached[: i + 1]
                    break
            return first_not_null(given(part, known) for part in reached)
        case ("call", str(name), zone, options, tuple(parts)):
            return call_of(name, zone, options, (given(part, known) for part in parts))
        case ("cast", target, tried, zone, tuple(inner)):
            return ("cast", target, tried, zone, given(inner, known))
        case _:
            return value


def is_null(value: Hashable) -> bool:
    """Whether it is the literal null."""
    return isinstance(value, tuple) and value[0] == "literal" and value[2] == "None"


def is_constant(value: Hashable) -> bool:
    """Whether it is a literal other than null."""
    return isinstance(value, tuple) and value[0] == "literal" and value[2] != "None"


def is_zero(value: Hashable) -> bool:
    """Whether it is a literal 0 of any numeric type."""
    match value:
        case ("literal", _, str(text)):
            digits = text.removeprefix("Decimal('").removesuffix("')")
            return digits.strip("0.") == "" and "0" in digits
        case _:
            return False


def never_null(value: Hashable) -> bool:
    """Whether a value is null in no row, whatever the columns hold."""
    match value:
        case ("call", "coalesce", _, _, tuple(parts)):
            return any(map(never_null, parts))
        case ("call", "if", _, _, (_, one, other)):
            return never_null(one) and never_null(other)
        case ("call", str(name), *_) | ("result", ("aggregate", ("call", str(name), *_), *_)):
            spec = find(name)
            return spec is not None and spec.nullable is shapes.never_null
        case _:
            return is_constant(value)


def steady(value: Hashable) -> bool:
    """Whether a value is the same each time that it is computed of one row."""
    match value:
        case ("call", str(name), _, _, tuple(parts)):
            spec = find(name)
            return spec is not None and spec.deterministic and all(map(steady, parts))
        case ("python", *_):
            return False
        case tuple() | frozenset():
            return all(map(steady, value))
        case _:
            return True


def order_key(value: Hashable) -> str:
    """A text to sort by, the same in every process: a set's own order is not."""
    match value:
        case tuple():
            return f"({','.join(map(order_key, value))})"
        case frozenset():
            return f"{{{','.join(sorted(map(order_key, value)))}}}"
        case _:
            return repr(value)


def _is_after(time: Hashable, added: Any) -> bool:
    """Whether `time + interval` is after `time`, wherever the clock stands."""
    start, interval = added
    match interval:
        case ("literal", _, str(text)) if start == time and text != "None":
            return min(_units(text)) >= 0 and max(_units(text)) > 0
        case _:
            return False


def _one_of(parts: Sequence[Symbol]) -> tuple[Symbol, ...] | None:
    """What `x = 1 OR x IN (2, 3)` compares: x, then the constants; None if it does not."""
    values: list[Symbol] = []
    subject: Symbol | None = None
    for part in parts:
        if part[0] != "call" or part[1] not in ("=", "in"):
            return None
        sides: Any = part[4]
        constants = [side for side in sides if side[0] == "literal"]
        others = [side for side in sides if side[0] != "literal"]
        if len(others) != 1 or subject not in (None, others[0]) or not steady(others[0]):
            return None
        subject = others[0]
        values += constants
    return None if subject is None else (subject, *values)
