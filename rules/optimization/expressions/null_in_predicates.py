"""Null counts as false in a condition."""

from __future__ import annotations

from ....planner.model.expressions.core import Call, CaseWhen, Expression, LambdaFunction, Literal
from ....planner.model.memo import remembered
from ....planner.model.plans.logical import Filter, Join
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from .booleans import null_to_false

_WITH_CONDITION = frozenset(("exists", "filter"))


def replace_null_with_false(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Filter a > 1 OR null` -> `Filter a > 1 OR false`; so in the conditions of IF and CASE.

    Idempotent.
    """
    if not _has_truth(plan):
        return plan

    def visit(node: LogicalPlan) -> LogicalPlan:
        if not _has_truth(node):
            return node
        if isinstance(node, Filter):
            condition = null_to_false(node.condition)
            return node if condition is node.condition else replace(node, condition=condition)
        if isinstance(node, Join):
            if node.condition is None:
                return node
            condition = null_to_false(node.condition)
            return node if condition is node.condition else replace(node, condition=condition)
        return node.map_expressions(_in_conditions)

    return plan.transform_down(visit)


@remembered
def _has_truth(plan: LogicalPlan) -> bool:
    """Whether the tree has a null, true or false in it."""
    return any(map(_is_truth, plan.expressions)) or any(map(_has_truth, plan.children))


@remembered
def _is_truth(expression: Expression) -> bool:
    if isinstance(expression, Literal):
        return expression.value is None or isinstance(expression.value, bool)
    return any(map(_is_truth, expression.children))


def _in_conditions(expression: Expression) -> Expression:
    if not _is_truth(expression):
        return expression
    current = expression.map_children(_in_conditions)
    match current:
        case CaseWhen(conditions=conditions):
            new = tuple(null_to_false(c) for c in conditions)
            if all(a is b for a, b in zip(new, conditions, strict=True)):
                return current
            return replace(current, conditions=new)
        case Call(name="if", arguments=(condition, yes, no)):
            chosen = null_to_false(condition)
            return current if chosen is condition else replace(current, arguments=(chosen, yes, no))
        case Call(name=name, arguments=(values, LambdaFunction() as function)) if (
            name in _WITH_CONDITION
        ):
            body = null_to_false(function.body)
            if body is function.body:
                return current
            return replace(current, arguments=(values, replace(function, body=body)))
    return current
