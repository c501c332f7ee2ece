"""Columns that a filter or a select list makes constant."""

from __future__ import annotations

from ....planner.model.expressions.core import Alias, AttributeReference, Call, Expression, Literal
from ....planner.model.functions.build import call, is_call, is_comparison
from ....planner.model.memo import remembered
from ....planner.model.plans.join_types import PADS_LEFT, PADS_RIGHT
from ....planner.model.plans.logical import (
    Aggregate,
    Distinct,
    Expand,
    Filter,
    Generate,
    GlobalLimit,
    Join,
    LocalLimit,
    Offset,
    Project,
    Sort,
)
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ...common.trees import bottom_up, over_children, replace_attributes

Constants = dict[int, Expression]
# What a column equals, and the condition that says so.
Equalities = dict[int, tuple[Literal, Expression]]


@bottom_up(Filter)
def propagate_equalities(node: Filter, conf: Conf) -> LogicalPlan:
    """In a filter, `a = 5 AND b > a` -> `a = 5 AND b > 5`. Idempotent."""
    return node.map_expressions(lambda e: _traverse(e, replaces=True, null_is_false=True)[0])


def _traverse(
    condition: Expression, *, replaces: bool, null_is_false: bool
) -> tuple[Expression, Equalities]:
    """The condition rewritten, and the columns that it makes constant, each by one equality."""
    if not isinstance(condition, Call):
        return condition, {}
    if condition.name in ("=", "<=>"):
        return condition, _equality(condition, null_is_false)
    if condition.name == "and":
        (left, left_found), (right, right_found) = (
            _traverse(side, replaces=False, null_is_false=null_is_false)
            for side in condition.arguments
        )
        found = {**left_found, **right_found}
        if found and replaces:
            left, right = _put_in(left, found), _put_in(right, found)
        if left is condition.arguments[0] and right is condition.arguments[1]:
            return condition, found
        return call("and", left, right), found
    if condition.name in ("or", "not"):
        keep = null_is_false and condition.name == "or"
        whole: Expression = condition
        new = whole.map_children(lambda e: _traverse(e, replaces=True, null_is_false=keep)[0])
        return new, {}
    return condition, {}


def _equality(condition: Call, null_is_false: bool) -> Equalities:
    left, right = condition.arguments
    if isinstance(left, Literal):
        left, right = right, left
    if not isinstance(left, AttributeReference) or not isinstance(right, Literal):
        return {}
    if null_is_false or not left.nullable:
        return {left.expr_id: (right, condition)}
    return {}


def _put_in(expression: Expression, found: Equalities) -> Expression:
    if is_comparison(expression):
        if any(expression is equality for _, equality in found.values()):
            return expression
        constants = {column: value for column, (value, _) in found.items()}
        return replace_attributes(expression, constants)
    return expression.map_children(lambda child: _put_in(child, found))


_PASSES = (Expand, Filter, GlobalLimit, LocalLimit, Offset, Generate, Distinct, Sort)


def propagate_foldables(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """A column that is a constant below becomes the constant above.

    `Project [a + 1], Filter, Project [5 AS a]` -> `Project [5 + 1], ..`. Aggregates of a stream are
    left alone: what their state holds may not depend on it. Idempotent.
    """
    return _propagate(plan)[0] if _has_constants(plan) else plan


@remembered
def _has_constants(plan: LogicalPlan) -> bool:
    """Whether any select list in the tree has a constant."""
    return (
        isinstance(plan, Project | Aggregate)
        and any(isinstance(e, Alias) and e.child.foldable for e in plan.expressions)
    ) or any(map(_has_constants, plan.children))


def _propagate(plan: LogicalPlan) -> tuple[LogicalPlan, Constants]:
    """The plan with constants put in, and those of its own columns."""
    node, known = over_children(plan, _propagate)
    if not isinstance(plan, (Project, Aggregate, Join, *_PASSES)) or (
        isinstance(plan, Aggregate) and plan.is_streaming
    ):
        return node, {}
    node = _replaced(node, known)
    match node:
        case Project() | Aggregate():
            own = (e for e in node.expressions if isinstance(e, Alias) and e.child.foldable)
            return node, {alias.expr_id: alias.child for alias in own}
        case Join():
            padded: frozenset[int] = frozenset()
            if node.join_type in PADS_RIGHT:
                padded |= node.right.output_ids
            if node.join_type in PADS_LEFT:
                padded |= node.left.output_ids
            return node, {k: v for k, v in known.items() if k not in padded}
    return node, known


def _replaced(node: LogicalPlan, known: Constants) -> LogicalPlan:
    if not known or known.keys().isdisjoint(node.references):
        return node
    return node.map_expressions(lambda e: _constant(e, known))


def _constant(expression: Expression, known: Constants) -> Expression:
    if isinstance(expression, AttributeReference):
        value = known.get(expression.expr_id)
        if value is None:
            return expression
        return Alias(child=value, name=expression.name, expr_id=expression.expr_id)
    if is_call(expression, "explode"):
        return expression
    return replace_attributes(expression, known)
