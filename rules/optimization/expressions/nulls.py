"""Null propagation, upwards and downwards; null as false in conditions; nullability of columns."""

from __future__ import annotations

from ....planner.model.expressions.core import (
    AggregateExpression,
    AttributeReference,
    Call,
    CaseWhen,
    Expression,
    LambdaFunction,
    Literal,
    lit,
)
from ....planner.model.expressions.predicates import conjunction, disjunction
from ....planner.model.functions.build import call, is_null, null, null_intolerant
from ....planner.model.memo import remembered
from ....planner.model.plans.logical import Aggregate, Deduplicate, Filter, Join, Union
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import BOOLEAN, LONG
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from .conditions import null_to_false


def propagate_nulls(expression: Expression) -> Expression:
    """What is null whatever the row, or never null, becomes a literal.

    `null + a` -> `null`, `isnull(1)` -> `false`, `count(not nullable)` -> `count(1)`,
    `coalesce(null, a, 1, b)` -> `coalesce(a, 1)`, `a <=> null` -> `isnull(a)`.
    """
    if isinstance(expression, AggregateExpression):
        return _count(expression)
    if isinstance(expression, Call):
        arguments = expression.arguments
        match expression.name:
            case "isnull" | "isnotnull" if not arguments[0].nullable:
                return lit(expression.name == "isnotnull")
            case "<=>" if is_null(arguments[0]):
                return call("isnull", arguments[1])
            case "<=>" if is_null(arguments[1]):
                return call("isnull", arguments[0])
            case "coalesce":
                return _coalesce(expression)
            case "in" if is_null(arguments[0]):
                return null(BOOLEAN)
    if null_intolerant(expression) and any(map(is_null, expression.children)):
        return null(expression.data_type)
    return expression


def _count(aggregate: AggregateExpression) -> Expression:
    function = aggregate.function
    if function.name != "count":
        return aggregate
    if all(is_null(argument) for argument in function.arguments):
        return Literal(value=0, type_=LONG)
    nullable = any(argument.nullable for argument in function.arguments)
    if aggregate.distinct or nullable or function.arguments == (lit(1),):
        return aggregate
    return replace(aggregate, function=replace(function, arguments=(lit(1),)))


def _coalesce(coalesce: Call) -> Expression:
    kept = [argument for argument in coalesce.arguments if not is_null(argument)]
    if not kept:
        return null(coalesce.data_type)
    never_null = next((i for i, argument in enumerate(kept) if not argument.nullable), len(kept))
    kept = kept[: never_null + 1]
    if len(kept) == 1:
        return kept[0]
    if len(kept) == len(coalesce.arguments):
        return coalesce
    return replace(coalesce, arguments=tuple(kept))


def push_null_checks_down(expression: Expression) -> Expression:
    """A null check of a comparison becomes null checks of its operands.

    `isnull(a > b)` -> `(isnull(a) OR isnull(b))`, `isnotnull(NOT a)` -> `isnotnull(a)`.
    """
    if not isinstance(expression, Call):
        return expression
    inner = expression.arguments[0]
    if not isinstance(inner, Call) or not inner.deterministic:
        return expression
    if inner.name != "not" and inner.spec.negation is None:
        return expression
    checks: list[Expression] = [call(expression.name, operand) for operand in inner.arguments]
    return disjunction(checks) if expression.name == "isnull" else conjunction(checks)


_WITH_CONDITION = frozenset(("filter", "map_filter"))  # not exists: null differs from false


def replace_null_with_false(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Filter a > 1 OR null` -> `Filter a > 1 OR false`; so in the conditions of IF and CASE.

    Idempotent.
    """

    def visit(node: LogicalPlan) -> LogicalPlan:
        if not _has_truth(node):
            return node
        whole = isinstance(node, Filter | Join)
        return node.map_expressions(null_to_false if whole else _in_conditions)

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


CHANGE_NULLABILITY = frozenset((Aggregate, Deduplicate, Union, Join))


def update_nullability(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """References say nullable where the column below is, and not where it is not.

    The state of an aggregate, the inputs of a union, the padded side of an outer join change that
    after a reference was made. Idempotent.
    """
    if all(CHANGE_NULLABILITY.isdisjoint(child.classes) for child in plan.children):
        return plan
    node = plan.map_children(lambda child: update_nullability(child, conf))
    nullable: dict[int, bool] = {}
    for column in (column for child in node.children for column in child.output):
        nullable[column.expr_id] = nullable.get(column.expr_id, False) or column.nullable

    def visit(expression: Expression) -> Expression:
        if isinstance(expression, AttributeReference):
            return expression.with_nullability(
                nullable.get(expression.expr_id, expression.nullable)
            )
        return expression.map_children(visit) if expression.references else expression

    return node.map_expressions(visit)
