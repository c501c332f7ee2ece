"""One form for aggregates that do the same with the rows that they are given."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from ..model.registry import find
from .implied import needed, simplified, without_implied
from .spelling import (
    ONE,
    ZERO,
    Symbol,
    call_of,
    conditions_in,
    holding,
    is_constant,
    is_null,
    never_null,
)


def aggregate_of(
    function: Symbol,
    rows: Iterable[Symbol],
    *,
    distinct: bool,
    filters: frozenset[Symbol] = frozenset(),
    grouped: bool = False,
) -> Symbol:
    """An aggregate function over rows that pass conditions.

    Args:
        function: the function with its arguments.
        rows: its FILTER, each condition by itself.
        distinct: whether equal rows count once.
        filters: what all rows pass that reach it.
        grouped: whether each group has a row; without keys there is a group of none.
    """
    function = simplified(function, filters)
    given = frozenset(part for row in rows for part in conditions_in(simplified(row, filters)))
    name, value, others = _parts(function)
    if name == "count" and not distinct:
        if value is not None and not others:
            given |= _counted(value)
        else:
            given |= {_present(part) for part in function[4] if not never_null(part)}
        function = _with(function, ())
    elif name == "sum" and not distinct and grouped and not given and _is_number_of_rows(value):
        # Without a row that counts it is 0 as the count is: each group has a row.
        assert value is not None
        given = frozenset() if value == ONE else frozenset(conditions_in(value[4][0]))
        function = ("call", "count", None, (), ())
    elif value is not None and _skips_nulls(name) and all(map(_is_literal, others)):
        match value:
            case ("call", "if", _, _, (condition, inner, other)) if is_null(other):
                # `sum(IF(c, x, NULL))` is `sum(x) FILTER (WHERE c)`.
                given |= frozenset(conditions_in(condition))
                value = inner
                function = _with(function, (value, *others))
        given -= {_present(part) for part in needed(value)}
    return ("aggregate", function, distinct, without_implied(filters | given) - filters)


def _parts(function: Symbol) -> tuple[str, Symbol | None, tuple[Symbol, ...]]:
    match function:
        case ("call", str(name), _, _, (value, *others)):
            return name, value, tuple(others)
        case ("call", str(name), *_):
            return name, None, ()
        case _:
            return "", None, ()


def _with(function: Symbol, arguments: tuple[Symbol, ...]) -> Symbol:
    return (*function[:4], arguments)


def _present(value: Symbol) -> Symbol:
    return ("call", "isnotnull", None, (), (value,))


def _counted(value: Symbol) -> frozenset[Symbol]:
    """The condition `c` of `count(IF(c, 1, NULL))`, and of what `count_if(c)` is planned as."""
    match value:
        case ("call", "if", _, _, (condition, counted, other)) if is_null(other):
            return frozenset(conditions_in(condition)) | _counted(counted)
        case ("call", "if", _, _, (condition, none, yes)) if is_null(none) and condition == holding(
            call_of("not", None, (), (yes,))
        ):
            return frozenset(conditions_in(yes))
    return frozenset() if never_null(value) else frozenset([_present(value)])


def _is_number_of_rows(value: Symbol | None) -> bool:
    """Whether a sum of it is a count: it is 1 in some rows, and 0 in all others."""
    match value:
        case ("call", "if", _, _, (_, one, zero)):
            return (one, zero) == (ONE, ZERO)
        case _:
            return value == ONE


def ignored_nulls(function: Symbol) -> frozenset[Symbol]:
    """What must not be null in a row for an aggregate to take notice of it."""
    name, value, others = _parts(function)
    skips = find(name) is None or _skips_nulls(name)  # the word for a state that several share
    if value is None or not skips or not all(map(_is_literal, others)):
        return frozenset()
    return frozenset(needed(value))


def _is_literal(value: Hashable) -> bool:
    return is_null(value) or is_constant(value)


def _skips_nulls(name: str) -> bool:
    """Whether rows in which the first argument is null count for nothing, whatever the options."""
    spec = find(name)
    return spec is not None and spec.kind == "aggregate" and not spec.null_treatment
