"""Sorts whose order nobody sees."""

from __future__ import annotations

from ....planner.model.expressions.core import AggregateExpression, AttributeReference, Expression
from ....planner.model.plans.logical import Aggregate, Filter, Join, Project, Sort
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import DoubleType, FloatType
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import rewrite_down


def eliminate_sorts(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """A sort below another sort, a join, or an aggregate that does not care, goes.

    Constant sort keys go too: `Sort [1, a]` -> `Sort [a]`. Idempotent.
    """
    return rewrite_down(plan, _eliminate, frozenset((Sort,)))


def _eliminate(node: LogicalPlan) -> LogicalPlan:
    match node:
        case Sort(order=order) if any(o.child.foldable for o in order) or not order:
            kept = tuple(o for o in order if not o.child.foldable)
            return replace(node, order=kept) if kept else _eliminate(node.child)
        case Sort(is_global=is_global, child=child):
            below = _without_sorts(child, is_global)
            return node if below is child else replace(node, child=below)
        case Join(left=left, right=right):
            new_left, new_right = _without_sorts(left, True), _without_sorts(right, True)
            if new_left is left and new_right is right:
                return node
            return replace(node, left=new_left, right=new_right)
        case Aggregate(child=child) if all(_ignores_order(e) for e in node.aggregates):
            below = _without_sorts(child, True)
            return node if below is child else replace(node, child=below)
    return node


def _without_sorts(plan: LogicalPlan, all_sorts: bool) -> LogicalPlan:
    if Sort not in plan.classes:
        return plan
    match plan:
        case Sort(is_global=is_global, child=child) if all_sorts or not is_global:
            return _without_sorts(child, all_sorts)
        case Project() | Filter() if all(e.deterministic for e in plan.expressions):
            node: LogicalPlan = plan
            return node.map_children(lambda child: _without_sorts(child, all_sorts))
    return plan


def _ignores_order(expression: Expression) -> bool:
    if isinstance(expression, AttributeReference):
        return True
    if isinstance(expression, AggregateExpression):
        function = expression.function
        if function.spec.order_irrelevant == "always":
            return True
        return function.spec.order_irrelevant == "exact" and not isinstance(
            function.arguments[0].data_type, FloatType | DoubleType
        )
    return all(_ignores_order(child) for child in expression.children)
