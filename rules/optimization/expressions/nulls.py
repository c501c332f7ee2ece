"""Null propagation, upwards and downwards."""

from __future__ import annotations

from ....planner.model.expressions.core import AggregateExpression, Call, Expression, Literal, lit
from ....planner.model.expressions.predicates import conjunction, disjunction
from ....planner.model.schemas.types import BOOLEAN, LONG
from ....planner.model.tree import replace
from ..support.calls import call, is_null, null_intolerant, null_of, truth


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
                return truth(expression.name == "isnotnull")
            case "<=>" if is_null(arguments[0]):
                return call("isnull", arguments[1])
            case "<=>" if is_null(arguments[1]):
                return call("isnull", arguments[0])
            case "coalesce":
                return _coalesce(expression)
            case "in" if is_null(arguments[0]):
                return null_of(BOOLEAN)
    if expression.children and any(is_null(child) for child in expression.children):
        return null_of(expression.data_type) if null_intolerant(expression) else expression
    return expression


def _count(aggregate: AggregateExpression) -> Expression:
    function = aggregate.function
    if function.name != "count":
        return aggregate
    if all(is_null(argument) for argument in function.arguments):
        return Literal(value=0, type_=LONG)
    if aggregate.distinct or any(argument.nullable for argument in function.arguments):
        return aggregate
    if function.arguments == (lit(1),):
        return aggregate
    return replace(aggregate, function=replace(function, arguments=(lit(1),)))


def _coalesce(coalesce: Call) -> Expression:
    kept = [argument for argument in coalesce.arguments if not is_null(argument)]
    if not kept:
        return null_of(coalesce.data_type)
    if len(kept) == 1:
        return kept[0]
    for position, argument in enumerate(kept):
        if not argument.nullable:
            kept = kept[: position + 1]
            break
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
