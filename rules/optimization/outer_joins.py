"""Outer joins whose padded rows a filter drops."""

from __future__ import annotations

from dataclasses import replace

from ...planner.model.conf import Conf
from ...planner.model.expressions import AttributeReference, Expression
from ...planner.model.logical import Filter, Join, JoinType
from ...planner.model.query_plan import LogicalPlan
from .calls import is_false, is_null, split
from .constraints import constraints
from .simplify import simplify
from .trees import replace_attributes, rewrite_down


def eliminate_outer_joins(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Filter r > 1, Join LeftOuter` -> `Filter r > 1, Join Inner`, r being a right column.

    A condition that no padded row can pass makes the padding useless. Idempotent.
    """

    def visit(node: LogicalPlan) -> LogicalPlan:
        if not isinstance(node, Filter) or not isinstance(node.child, Join):
            return node
        join = node.child
        new = _join_type(node, join)
        return node if new == join.join_type else replace(node, child=replace(join, join_type=new))

    return rewrite_down(plan, visit, frozenset((Join,)))


def _join_type(node: Filter, join: Join) -> JoinType:
    if join.join_type not in ("LeftOuter", "RightOuter", "FullOuter"):
        return join.join_type
    conditions = [*split(node.condition, "and"), *constraints(node)]
    left = any(_drops_nulls(e, join.left) for e in conditions)
    right = any(_drops_nulls(e, join.right) for e in conditions)
    match join.join_type:
        case "RightOuter" if left:
            return "Inner"
        case "LeftOuter" if right:
            return "Inner"
        case "FullOuter" if left and right:
            return "Inner"
        case "FullOuter" if left:
            return "LeftOuter"
        case "FullOuter" if right:
            return "RightOuter"
    return join.join_type


def _drops_nulls(condition: Expression, side: LogicalPlan) -> bool:
    """Whether the condition is false or null for a row of nulls of that side."""
    if not condition.deterministic or not condition.references:
        return False
    if not condition.references <= side.output_ids:
        return False
    from .calls import null_of

    nulls: dict[int, Expression] = {
        e.expr_id: null_of(e.type_) for e in condition.walk() if isinstance(e, AttributeReference)
    }
    value = simplify(replace_attributes(condition, nulls))
    return is_false(value) or is_null(value)
