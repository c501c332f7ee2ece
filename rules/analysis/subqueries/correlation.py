"""What subqueries may not do with columns of the query around them."""

from __future__ import annotations

from collections.abc import Iterator

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Expression,
)
from ....planner.model.expressions.subqueries import OuterReference, SubqueryExpression, is_outer
from ....planner.model.plans.logical import Filter, Generate, Join, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import OneRowRelation, PipeOperator
from ....planner.model.text.logical_text import tree_text
from ....planner.model.text.quoting import to_sql_id
from ....planner.model.text.text import pretty
from ..failures import failure

_HOSTS = (Filter, Project, Join)
_MIXED = "AGGREGATE_FUNCTION_MIXED_OUTER_LOCAL_REFERENCES"


def misplaced_outer_references(subquery: SubqueryExpression) -> AnalysisError | None:
    """Outer columns in operators that cannot be made part of a join, children before parents."""
    if not subquery.correlated:
        return None
    for operator in _bottom_up(subquery.plan):
        error = _mixed_aggregates(operator) or _outside_of_filters(operator)
        if error is not None:
            return error
    return _behind_pipes(subquery.plan)


def _behind_pipes(plan: LogicalPlan) -> AnalysisError | None:
    """Outer columns below the end of a pipe operator, which Spark takes for any other operator."""
    for end in _bottom_up(plan):
        if not isinstance(end, PipeOperator):
            continue
        for operator in _bottom_up(end.child):
            if any(is_outer(e) for e in operator.expressions):
                location = "ACCESSING_OUTER_QUERY_COLUMN_IS_NOT_ALLOWED"
                return failure(
                    f"UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.{location}",
                    origin=operator.origin,
                    treeNode=f"{tree_text(operator)}\n",
                )
    return None


def _bottom_up(plan: LogicalPlan) -> Iterator[LogicalPlan]:
    for child in plan.children:
        yield from _bottom_up(child)
    yield plan


def _mixed_aggregates(operator: LogicalPlan) -> AnalysisError | None:
    for expression in operator.expressions:
        for function in expression.collect(AggregateExpression):
            if is_outer(function) and function.references:
                return failure(
                    f"UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.{_MIXED}",
                    origin=function.function.origin,
                    function=pretty(_qualified(function)),
                )
    return None


def _outside_of_filters(operator: LogicalPlan) -> AnalysisError | None:
    if isinstance(operator, _HOSTS):
        return None
    if isinstance(operator, Generate) and isinstance(operator.child, OneRowRelation):
        return None
    found = [e for e in operator.expressions if is_outer(e)]
    if not found:
        return None
    listed = ",".join(f'"{_sql(_stripped(e))}"' for e in found)
    return failure(
        "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.CORRELATED_REFERENCE",
        origin=operator.origin,
        sqlExprs=listed,
    )


def _stripped(expression: Expression) -> Expression:
    return expression.transform_up(lambda e: e.column if isinstance(e, OuterReference) else e)


def _qualified(expression: Expression) -> Expression:
    def full(node: Expression) -> Expression:
        if isinstance(node, AttributeReference):
            return AttributeReference(
                name=".".join((*node.qualifier, node.name)), type_=node.type_, expr_id=node.expr_id
            )
        return node

    return expression.map_children(lambda e: e.transform_up(full))


def _sql(expression: Expression) -> str:
    match expression:
        case Alias(child=child, name=name):
            plain = name.isidentifier()
            return f"{pretty(child)} AS {name if plain else to_sql_id(name)}"
        case _:
            return pretty(expression)
