"""Joins of streams with streams and with tables, and whether watermarks let their state go."""

from __future__ import annotations

from ...physical.join_state import value_watermark
from ...planner.model.expressions.core import AttributeReference, Call, Expression
from ...planner.model.expressions.predicates import split_conjuncts
from ...planner.model.plans.join_types import INNER_JOINS, OUTER_JOINS
from ...planner.model.plans.logical import Join
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.tree import replace
from ..common.trees import equated
from .queries import Refusal

_ANY_WATERMARK = 1_000_000


def watermark_in_keys(join: Join) -> bool:
    """Whether a join key is an event-time column."""
    pairs = (equated(part, join) for part in split_conjuncts(join.condition))
    return any(
        isinstance(side, AttributeReference) and side.delay_ms is not None
        for pair in pairs
        if pair is not None and all(side.references for side in pair)
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


_ANTI = (
    "LeftAnti joins with a streaming DataFrame/Dataset on the right are not supported",
    "Use a left outer join and keep the rows without a match.",
)


def join_refusal(join: Join, mode: str) -> Refusal:
    """Why a stream does not support the join in the mode; None if it does."""
    left, right, kind = join.left.is_streaming, join.right.is_streaming, join.join_type
    if left and right:
        if kind == "LeftAnti":  # in any mode
            return _ANTI
        return _mode(join, mode) or _stream_stream(join)
    match kind:
        case "FullOuter" if left or right:
            sides = ("left", "right") if left else ("right", "left")
            return (
                f"FullOuter joins with streaming DataFrames/Datasets on the {sides[0]} and a static"
                f" DataFrame/Dataset on the {sides[1]} is not supported",
                "Use an inner join or keep the stream's side only.",
            )
        case "LeftAnti" if right:
            return _ANTI
        case "LeftOuter" | "LeftSemi" if right:
            return (
                f"{kind} join with a streaming DataFrame/Dataset on the right and a static"
                " DataFrame/Dataset on the left is not supported",
                "Put the stream on the left.",
            )
        case "RightOuter" if left:
            return (
                "RightOuter join with a streaming DataFrame/Dataset on the left and a static"
                " DataFrame/DataSet on the right not supported",
                "Put the stream on the right.",
            )
    return None


def _mode(join: Join, mode: str) -> Refusal:
    kind = join.join_type
    if kind in OUTER_JOINS and mode != "append":
        return (
            f"{kind} join between two streaming DataFrames/Datasets is not supported in"
            f" {mode.capitalize()} output mode, only in Append output mode",
            "Use append mode.",
        )
    if mode == "complete":
        return (
            f"{kind} join between two streaming DataFrames/Datasets is not supported in Complete"
            " output mode, only in Append and Update output modes",
            "Use append or update mode.",
        )
    return None


def _stream_stream(join: Join) -> Refusal:
    kind = join.join_type
    if kind in INNER_JOINS or watermark_in_keys(join) or bounds_state(join):
        return None
    return (
        f"Stream-stream {kind} join between two streaming DataFrame/Datasets is not supported"
        " without a watermark in the join keys, or a watermark on the nullable side and an"
        " appropriate range condition",
        "Define watermarks on both sides and bound the event times in ON.",
    )
