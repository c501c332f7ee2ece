"""Whether a join's watermarks ever let its state go.

A row of one side can be forgotten once no row of the other side can match it any more: its event
time is a join key, or the ON condition bounds it from below by the other side's event time.
"""

from __future__ import annotations

from ...planner.model.expressions import (
    AttributeReference,
    Call,
    Cast,
    Expression,
    GetStructField,
    Literal,
    split_conjuncts,
)
from ...planner.model.logical import Join
from ...planner.model.query_plan import LogicalPlan
from ...planner.model.types import YearMonthIntervalType
from ...planner.model.windows import PreciseTimestampConversion

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def equi_keys(join: Join) -> list[tuple[Expression, Expression]]:
    """The pairs of expressions that ON sets equal, left side first."""
    left, right = join.left.output_ids, join.right.output_ids
    pairs: list[tuple[Expression, Expression]] = []
    for part in [] if join.condition is None else split_conjuncts(join.condition):
        if not isinstance(part, Call) or part.name not in ("=", "<=>"):
            continue
        one, other = part.arguments
        if one.references and other.references:
            if one.references <= left and other.references <= right:
                pairs.append((one, other))
            elif one.references <= right and other.references <= left:
                pairs.append((other, one))
    return pairs


def watermark_in_keys(join: Join) -> bool:
    """Whether a join key is an event-time column."""
    return any(
        isinstance(side, AttributeReference) and side.delay_ms is not None
        for pair in equi_keys(join)
        for side in pair
    )


def bounds_state(join: Join) -> bool:
    """Whether ON lets the state of each side that must wait for a match be evicted."""
    match join.join_type:
        case "LeftOuter" | "LeftSemi":
            return has_lower_bound(join, join.left, join.right)
        case "RightOuter":
            return has_lower_bound(join, join.right, join.left)
        case "FullOuter":
            return has_lower_bound(join, join.left, join.right) and has_lower_bound(
                join, join.right, join.left
            )
        case _:
            return True


def has_lower_bound(join: Join, kept: LogicalPlan, other: LogicalPlan) -> bool:
    """Whether ON bounds one column of `kept` from below by an event time of `other`."""
    parts = [] if join.condition is None else split_conjuncts(join.condition)
    return any(_bounds(part, kept.output_ids, other) for part in parts)


def _bounds(part: Expression, kept: frozenset[int], other: LogicalPlan) -> bool:
    if not isinstance(part, Call) or part.name not in _FLIPPED:
        return False
    terms: dict[int, tuple[AttributeReference, int]] = {}
    one, two = part.arguments
    if not (_collect(one, 1, terms) and _collect(two, -1, terms)):
        return False
    own = [(a, sign) for a, sign in terms.values() if a.expr_id in kept]
    theirs = [(a, sign) for a, sign in terms.values() if a.expr_id in other.output_ids]
    if len(own) != 1 or len(theirs) != 1 or theirs[0][0].delay_ms is None:
        return False
    sign = own[0][1]
    if theirs[0][1] != -sign:
        return False
    # `a - b OP 0`: a bound from below needs OP to be >, or < with the signs turned.
    operator = part.name if sign > 0 else _FLIPPED[part.name]
    return operator in (">", ">=", "=")


def _collect(
    expression: Expression, sign: int, terms: dict[int, tuple[AttributeReference, int]]
) -> bool:
    """Sum up the columns of a linear expression; False where it is not linear."""
    match expression:
        case AttributeReference():
            if expression.expr_id in terms:
                return False
            terms[expression.expr_id] = (expression, sign)
            return True
        case Literal():
            return True
        case Cast(child=child) | PreciseTimestampConversion(child=child):
            return _collect(child, sign, terms)
        case GetStructField():
            return False
        case Call(name="datetime_sub", arguments=(_, months)) if isinstance(
            months.data_type, YearMonthIntervalType
        ):
            return False
        case Call(arguments=(one, two)) if expression.name in ("-", "datetime_sub"):
            return _collect(one, sign, terms) and _collect(two, -sign, terms)
        case Call(arguments=(one, two)) if expression.name in ("+", "timestamp_add_interval"):
            return _collect(one, sign, terms) and _collect(two, sign, terms)
        case Call(name="negative", arguments=(one,)):
            return _collect(one, -sign, terms)
        case _:
            return not expression.references
