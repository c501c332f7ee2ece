"""Subqueries in expressions: the types of IN, and what is refused of them."""

from __future__ import annotations

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Expression,
)
from ....planner.model.expressions.equality import same
from ....planner.model.expressions.subqueries import (
    Exists,
    InSubquery,
    ListQuery,
    OuterReference,
    ScalarSubquery,
    SubqueryExpression,
    is_outer,
    subqueries_in,
)
from ....planner.model.functions.coercion import wider_type
from ....planner.model.plans.logical import (
    Aggregate,
    Filter,
    Generate,
    Join,
    Project,
    UnresolvedHaving,
)
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import OneRowRelation, PipeOperator
from ....planner.model.schemas.types import DataType, same_type
from ....planner.model.text.logical_text import tree_text
from ....planner.model.text.quoting import to_sql_expr, to_sql_id
from ....planner.model.text.text import pretty
from ....planner.model.tree import replace
from ...common.trees import walk_up
from ..context import Context
from ..failures import failure, invalid, mismatch
from ..names.names import qualified


def coerce_in_subquery(test: InSubquery, context: Context) -> InSubquery:
    """Both sides of IN in their common types, the query's by a Project over it."""
    query = test.query
    assert isinstance(query, ListQuery)
    columns = query.plan.output
    if len(columns) != len(test.values):
        return invalid(test, _length_mismatch(test, columns))
    pairs = list(zip(test.values, columns, strict=True))
    if all(same_type(value.data_type, column.type_) for value, column in pairs):
        return test
    common = [wider_type(v.data_type, c.type_, context.conf) for v, c in pairs]
    if any(kind is None for kind in common):
        return invalid(test, _type_mismatch(test, columns))
    kinds = [kind for kind in common if kind is not None]
    values = tuple(_cast(v, k, context) for v, k in zip(test.values, kinds, strict=True))
    items: list[Expression] = []
    for column, kind in zip(columns, kinds, strict=True):
        new = _cast(column, kind, context)
        items.append(new if new is column else Alias(child=new, name=column.name))
    plan = Project(project_list=tuple(items), child=query.plan)
    return replace(test, values=values, query=replace(query, plan=plan))


def _cast(expression: Expression, kind: DataType, context: Context) -> Expression:
    if same_type(expression.data_type, kind):
        return expression
    return context.cast(expression, kind)


def _length_mismatch(test: InSubquery, columns: tuple[AttributeReference, ...]) -> AnalysisError:
    left = ", ".join(f'"{pretty(value)}"' for value in test.values)
    right = ", ".join(f'"{column.name}"' for column in columns)
    return mismatch(
        "IN_SUBQUERY_LENGTH_MISMATCH",
        pretty(test),
        test.origin,
        leftLength=len(test.values),
        leftColumns=left,
        rightLength=len(columns),
        rightColumns=right,
    )


def _type_mismatch(test: InSubquery, columns: tuple[AttributeReference, ...]) -> AnalysisError:
    pairs = list(zip(test.values, columns, strict=True))
    wrong = ", ".join(
        f"({pretty(qualified(v))}:{v.data_type.simple},"
        f" {pretty(qualified(c))}:{c.data_type.simple})"
        for v, c in pairs
        if not same_type(v.data_type, c.type_)
    )
    left = ", ".join(f'"{v.data_type.sql}"' for v in test.values)
    right = ", ".join(f'"{c.data_type.sql}"' for c in columns)
    return mismatch(
        "IN_SUBQUERY_DATA_TYPE_MISMATCH",
        pretty(test),
        test.origin,
        mismatchedColumns=wrong,
        leftType=left,
        rightType=right,
    )


def streaming_subqueries(plan: LogicalPlan) -> AnalysisError | None:
    """A stream inside an expression: it would have to be read whole for every row."""
    found = (s for e in plan.expressions for s in subqueries_in(e))
    if not any(subquery.plan.is_streaming for subquery in found):
        return None
    return failure("INVALID_SUBQUERY_EXPRESSION.STREAMING_QUERY", origin=plan.origin)


_TAKE_PREDICATES = (Filter, Project, Aggregate, Join, UnresolvedHaving)


_TAKE_VALUES = (Filter, Project, Aggregate, UnresolvedHaving)


def misplaced_subqueries(plan: LogicalPlan) -> AnalysisError | None:
    """Subqueries where no join can be made of them; a correlated value that is not grouped."""
    for expression in plan.expressions:
        for subquery in subqueries_in(expression):
            if isinstance(subquery, ScalarSubquery):
                if subquery.correlated and not isinstance(plan, _TAKE_VALUES):
                    return failure(
                        "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY",
                        origin=plan.origin,
                        treeNode=f"{tree_text(plan)}\n",
                    )
                if isinstance(plan, Aggregate) and subquery.correlated:
                    error = _ungrouped(subquery, expression, plan)
                    if error is not None:
                        return error
            elif isinstance(subquery, ListQuery | Exists) and not isinstance(
                plan, _TAKE_PREDICATES
            ):
                return failure(
                    "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_IN_EXISTS_SUBQUERY",
                    origin=subquery.origin,
                    treeNode=f"{tree_text(plan)}\n",
                )
    return None


def _ungrouped(
    subquery: ScalarSubquery, expression: Expression, plan: Aggregate
) -> AnalysisError | None:
    if any(same(subquery, e) for key in plan.grouping for e in key.walk()):
        return None
    aggregates = expression.collect(AggregateExpression)
    if any(inner is subquery for a in aggregates for inner in subqueries_in(a)):
        return None
    return failure(
        "SCALAR_SUBQUERY_IS_IN_GROUP_BY_OR_AGGREGATE_FUNCTION",
        origin=subquery.origin,
        sqlExpr=to_sql_expr(subquery),
    )


def scalar_columns(subquery: SubqueryExpression) -> AnalysisError | None:
    """A subquery that is used as one value and gives several columns."""
    if not isinstance(subquery, ScalarSubquery) or len(subquery.plan.output) == 1:
        return None
    return failure(
        "INVALID_SUBQUERY_EXPRESSION.SCALAR_SUBQUERY_RETURN_MORE_THAN_ONE_OUTPUT_COLUMN",
        origin=subquery.origin,
        number=len(subquery.plan.output),
    )


_HOSTS = (Filter, Project, Join)
_MIXED = "AGGREGATE_FUNCTION_MIXED_OUTER_LOCAL_REFERENCES"


def misplaced_outer_references(subquery: SubqueryExpression) -> AnalysisError | None:
    """Outer columns in operators that cannot be made part of a join, children before parents."""
    if not subquery.correlated:
        return None
    for operator in walk_up(subquery.plan):
        error = _mixed_aggregates(operator) or _outside_of_filters(operator)
        if error is not None:
            return error
    return _behind_pipes(subquery.plan)


def _behind_pipes(plan: LogicalPlan) -> AnalysisError | None:
    """Outer columns below the end of a pipe operator, which Spark takes for any other operator."""
    for end in walk_up(plan):
        if not isinstance(end, PipeOperator):
            continue
        for operator in walk_up(end.child):
            if any(is_outer(e) for e in operator.expressions):
                location = "ACCESSING_OUTER_QUERY_COLUMN_IS_NOT_ALLOWED"
                return failure(
                    f"UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.{location}",
                    origin=operator.origin,
                    treeNode=f"{tree_text(operator)}\n",
                )
    return None


def _mixed_aggregates(operator: LogicalPlan) -> AnalysisError | None:
    for expression in operator.expressions:
        for function in expression.collect(AggregateExpression):
            whole: Expression = function
            if is_outer(function) and function.references:
                return failure(
                    f"UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.{_MIXED}",
                    origin=function.function.origin,
                    function=pretty(whole.map_children(qualified)),
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


def _sql(expression: Expression) -> str:
    match expression:
        case Alias(child=child, name=name):
            plain = name.isidentifier()
            return f"{pretty(child)} AS {name if plain else to_sql_id(name)}"
        case _:
            return pretty(expression)
