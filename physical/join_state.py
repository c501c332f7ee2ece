"""How long a join of two streams keeps a row: the watermarks of its state.

A row of one side can go once no row of the other side can match it any more. Either a join key is
an event time, then the query's watermark holds for both sides; or the condition bounds one side's
event time from below by the other's, as in `left > right - INTERVAL 5 MINUTES`. All in the
arithmetic of Spark's StreamingJoinHelper: doubles in microseconds, cut to whole milliseconds, one
millisecond less where the bound is closed; longs wrap, which shows before a query has started.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..planner.model.expressions.core import AttributeReference, Call, Cast, Expression, Literal
from ..planner.model.expressions.intervals import DAY_MICROS
from ..planner.model.expressions.predicates import split_conjuncts
from ..planner.model.expressions.windows import PreciseTimestampConversion
from ..planner.model.frozen import dataclass
from ..planner.model.schemas.types import (
    CalendarIntervalType,
    DayTimeIntervalType,
    NumericType,
    TimestampType,
)

Columns = Sequence[AttributeReference]

_LEAST, _MOST = -(2**63), 2**63 - 1
_SUMS = ("+", "timestamp_add_interval")
_DIFFERENCES = ("-", "datetime_sub")


class _NotLinear(Exception):
    """A condition that is no sum of columns and constants."""


@dataclass(frozen=True)
class _Term:
    """A column or a constant in microseconds, with its sign."""

    sign: int
    column: AttributeReference | None = None
    micros: float = 0.0


def wrapped(number: int) -> int:
    """A whole number as a 64-bit long that overflows silently."""
    return (number + 2**63) % 2**64 - 2**63


def event_time(columns: Columns) -> AttributeReference | None:
    """The first column with a watermark."""
    return next((column for column in columns if column.delay_ms is not None), None)


def event_time_key(left: Sequence[Expression], right: Sequence[Expression]) -> int | None:
    """The place of the first key that is an event time: the left keys are asked first."""
    for keys in (left, right):
        for i, key in enumerate(keys):
            if isinstance(key, AttributeReference) and key.delay_ms is not None:
                return i
    return None


def value_watermark(
    kept: Columns, other: Columns, condition: Expression | None, watermark_ms: int
) -> int | None:
    """Up to which event time rows of one side can go, in milliseconds; None: none ever can.

    Args:
        kept: the columns of the side whose state it is.
        other: the columns of the other side.
        condition: what the sides are joined on besides equal keys.
        watermark_ms: the operator's watermark.
    """
    if condition is None or event_time(other) is None:
        return None
    found = [
        limit
        for part in split_conjuncts(condition)
        if (limit := _limit(part, kept, other, watermark_ms)) is not None
    ]
    return min(found, default=None)


def _limit(part: Expression, kept: Columns, other: Columns, watermark_ms: int) -> int | None:
    if not isinstance(part, Call) or part.spec.negation is None:
        return None
    one, two = part.arguments
    small, large = (one, two) if part.name in ("<", "<=") else (two, one)
    try:
        terms = list(dict.fromkeys([*_terms(small, 1), *_terms(large, -1)]))
        micros = _solved(terms, kept, other, watermark_ms)
    except _NotLinear:
        return None
    if micros is None:
        return None
    milliseconds = max(_LEAST, min(_MOST, int(micros / 1000.0)))
    return wrapped(milliseconds - 1) if part.name in ("<=", ">=") else milliseconds


def _solved(
    terms: Sequence[_Term], kept: Columns, other: Columns, watermark_ms: int
) -> float | None:
    """`rest - column < 0` solved for the column of the kept side: the rest, at the watermark."""
    own, theirs = {a.expr_id for a in kept}, {a.expr_id for a in other}
    columns = [t.column for t in terms if t.column is not None]
    for side in (own, theirs):
        if len({c.expr_id for c in columns if c.expr_id in side}) > 1:
            return None
    wanted = [t for t in terms if t.column is not None and t.column.expr_id in own]
    rest = [t for t in terms if t not in wanted]
    if len(wanted) != 1 or wanted[0].sign > 0 or not rest:
        return None
    total = 0.0
    for term in rest:
        value = term.micros
        if term.column is not None:
            if term.column.expr_id not in theirs or term.column.delay_ms is None:
                return None
            value = float(watermark_ms) * 1000.0
        total += term.sign * value
    return total


def _terms(expression: Expression, sign: int) -> Iterator[_Term]:
    match expression:
        case AttributeReference():
            yield _Term(sign, column=expression)
        case Literal():
            yield _Term(sign, micros=_micros(expression))
        case Cast(child=child, type_=NumericType() | TimestampType()):
            yield from _terms(child, sign)
        case PreciseTimestampConversion(child=child):
            yield from _terms(child, sign)
        case Call(arguments=(one, two)) if expression.name in _SUMS:
            yield from _terms(one, sign)
            yield from _terms(two, sign)
        case Call(arguments=(one, two)) if expression.name in _DIFFERENCES:
            yield from _terms(one, sign)
            yield from _terms(two, -sign)
        case Call(name="negative", arguments=(one,)):
            yield from _terms(one, -sign)
        case _:
            raise _NotLinear


def _micros(literal: Literal) -> float:
    match literal.type_, literal.value:
        case DayTimeIntervalType(), int(micros):
            return float(micros)
        case CalendarIntervalType(), (int(months), int(days), int(micros)) if months <= 0:
            return float(micros + days * DAY_MICROS)
        case NumericType(), int() | float() as seconds:
            return float(seconds) * 1_000_000.0
        case _:
            raise _NotLinear
