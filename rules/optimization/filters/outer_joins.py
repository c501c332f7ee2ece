"""Outer joins whose padded rows a filter drops."""

from __future__ import annotations

from ....planner.model.expressions.core import AggregateExpression, AttributeReference, Expression
from ....planner.model.expressions.predicates import split_conjuncts
from ....planner.model.plans.logical import Aggregate, Filter, Join, JoinType, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import replace_attributes, top_down
from ..expressions.simplify import simplify
from ..operators.distinct_keys import distinct_keys, key_columns
from ..support.calls import is_false, is_null
from ..support.constraints import constraints


@top_down(LogicalPlan, holding=(Join,))
def eliminate_outer_joins(node: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Filter r > 1, Join LeftOuter` -> `Filter r > 1, Join Inner`, r being a right column.

    A condition that no padded row can pass makes the padding useless. A side that is padded and
    whose columns nobody asks for goes, where it has at most one match for each row, or where rows
    are aggregated so that repetitions do not matter. Idempotent.
    """
    match node:
        case Project(child=Join() as join):
            kept = _kept_side(join, node.references)
            if kept is not None and _matches_once(join):
                return replace(node, child=kept)
            return node
        case Aggregate() if _ignores_repetition(node):
            return _without_padding(node)
    if not isinstance(node, Filter) or not isinstance(node.child, Join):
        return node
    join = node.child
    new = _join_type(node, join)
    return node if new == join.join_type else replace(node, child=replace(join, join_type=new))


def _kept_side(join: Join, needed: frozenset[int]) -> LogicalPlan | None:
    """The side whose rows an outer join keeps, if no column of the other is needed."""
    match join.join_type:
        case "LeftOuter" if needed <= join.left.output_ids:
            return join.left
        case "RightOuter" if needed <= join.right.output_ids:
            return join.right
        case _:
            return None


def _matches_once(join: Join) -> bool:
    """Whether the padded side has no two rows with the same keys."""
    left, right = key_columns(join)
    padded, keys = (join.right, right) if join.join_type == "LeftOuter" else (join.left, left)
    return bool(keys) and any(key <= keys for key in distinct_keys(padded))


def _ignores_repetition(plan: Aggregate) -> bool:
    found = [a for e in plan.aggregates for a in e.collect(AggregateExpression)]
    return all(a.function.spec.duplicate_agnostic for a in found)


def _without_padding(plan: Aggregate) -> LogicalPlan:
    match plan.child:
        case Join() as join:
            kept = _kept_side(join, plan.references)
            return plan if kept is None else replace(plan, child=kept)
        case Project(child=Join() as join) as project if all(
            e.deterministic for e in project.project_list
        ):
            kept = _kept_side(join, project.references)
            return plan if kept is None else replace(plan, child=replace(project, child=kept))
        case _:
            return plan


def _join_type(node: Filter, join: Join) -> JoinType:
    if join.join_type not in ("LeftOuter", "RightOuter", "FullOuter"):
        return join.join_type
    conditions = [*split_conjuncts(node.condition), *constraints(node)]
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
    if not condition.deterministic or not condition.references <= side.output_ids:
        return False
    from ..support.calls import null_of

    nulls: dict[int, Expression] = {
        e.expr_id: null_of(e.type_) for e in condition.walk() if isinstance(e, AttributeReference)
    }
    value = simplify(replace_attributes(condition, nulls))
    return is_false(value) or is_null(value)
