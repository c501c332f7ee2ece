"""Whether a join's watermarks ever let its state go.

A row of one side can be forgotten once no row of the other side can match it any more: its event
time is a join key, or the ON condition bounds it from below by the other side's event time.
"""

from __future__ import annotations

from ...physical.join_state import value_watermark
from ...planner.model.expressions.core import AttributeReference, Call, Expression
from ...planner.model.expressions.predicates import split_conjuncts
from ...planner.model.plans.logical import Join
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.tree import replace

_ANY_WATERMARK = 1_000_000


def equi_keys(join: Join) -> list[tuple[Expression, Expression]]:
    """The pairs of expressions that ON sets equal, left side first."""
    left, right = join.left.output_ids, join.right.output_ids
    pairs: list[tuple[Expression, Expression]] = []
    for part in split_conjuncts(join.condition):
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
            return _bounded(join, join.left, join.right)
        case "RightOuter":
            return _bounded(join, join.right, join.left)
        case "FullOuter":
            left, right = join.left, join.right
            # One side suffices, as in Spark, although the other's state then stays.
            return _bounded(join, left, right) or _bounded(join, right, left)
        case _:
            return True


def _bounded(join: Join, kept: LogicalPlan, other: LogicalPlan) -> bool:
    """Whether ON bounds one column of `kept` from below by an event time of `other`."""
    if join.condition is None:
        return False
    condition = join.condition.transform_up(_as_bounds)
    return value_watermark(kept.output, other.output, condition, _ANY_WATERMARK) is not None


def _as_bounds(expression: Expression) -> Expression:
    """`x BETWEEN a AND b` as `x >= a AND x <= b`, which it is from optimization on."""
    match expression:
        case Call(name="between", arguments=(value, low, high)):
            bounds = (
                replace(expression, name=">=", arguments=(value, low)),
                replace(expression, name="<=", arguments=(value, high)),
            )
            return replace(expression, name="and", arguments=bounds)
        case _:
            return expression
