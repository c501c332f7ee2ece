"""Correlated scalar subqueries as outer joins; what aggregations give of no rows."""

from __future__ import annotations

from ....planner.model.expressions.core import (
    TRUE,
    AggregateExpression,
    Alias,
    AttributeReference,
    Expression,
    Literal,
    to_attribute,
    without_alias,
)
from ....planner.model.expressions.equality import canonical
from ....planner.model.expressions.predicates import conjunction_or_none
from ....planner.model.expressions.subqueries import ScalarSubquery
from ....planner.model.functions.build import call, is_null, null, value_over_no_rows
from ....planner.model.plans.logical import Aggregate, Filter, Join, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import replace_attributes
from ..expressions.simplify import simplify
from .lateral_joins import rewrite_domain_joins
from .subqueries import has_subquery


def value_of_no_rows(item: Expression) -> Literal | None:
    """The value of an aggregation's column over no rows, if that is other than null."""
    return _known(item.transform_up(_default))


def result_of_no_rows(plan: LogicalPlan) -> Literal | None:
    """The value of the one column of an aggregation over no rows, if that is other than null."""
    values = _values_of_no_rows(plan)
    return None if values is None else _known(values[plan.output[0].expr_id])


def _known(value: Expression) -> Literal | None:
    value = simplify(value)
    return value if isinstance(value, Literal) and not is_null(value) else None


def _values_of_no_rows(plan: LogicalPlan) -> dict[int, Expression] | None:
    match plan:
        case Aggregate(aggregates=items):
            return {to_attribute(e).expr_id: e.transform_up(_default) for e in items}
        case Project(project_list=items, child=child):
            below = _values_of_no_rows(child)
            if below is None:
                return None
            return {
                to_attribute(e).expr_id: replace_attributes(without_alias(e), below) for e in items
            }
        case Filter(child=child):
            return _values_of_no_rows(child)
        case _:
            return None


def _default(node: Expression) -> Expression:
    if isinstance(node, Alias):
        return node.child
    if isinstance(node, AggregateExpression):
        return value_over_no_rows(node.function)
    if isinstance(node, AttributeReference):
        return null(node.data_type)
    return node


def rewrite_correlated_scalar_subqueries(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Project [s [a = b] q], t` -> `Project [q.x], Join LeftOuter (a = b), t, q`.

    Where the subquery has no row for a row its value is null, or what its aggregates are of no
    rows. Not idempotent by itself: no subquery is left to rewrite.
    """
    if not has_subquery(plan):
        return plan
    node = plan.map_children(lambda child: rewrite_correlated_scalar_subqueries(child, conf))
    match node:
        case Project(project_list=items, child=child):
            found: list[ScalarSubquery] = []
            new = tuple(_extracted(e, found) for e in items)
            if not found:
                return node
            joined, values = _joined(child, found)
            return Project(project_list=tuple(_put(e, values) for e in new), child=joined)
        case Filter(condition=condition, child=child):
            found = []
            condition = _extracted(condition, found)
            if not found:
                return node
            joined, values = _joined(child, found)
            kept = Filter(condition=_put(condition, values), child=joined)
            return Project(project_list=node.output, child=kept)
        case Aggregate():
            return _aggregate(node)
    return node


def _aggregate(node: Aggregate) -> LogicalPlan:
    found: list[ScalarSubquery] = []
    items = tuple(_extracted(e, found) for e in node.aggregates)
    if not found:
        return node
    by_form = {canonical(s): s.plan.output[0] for s in found}
    keys = tuple(by_form.get(canonical(k), k) for k in node.grouping)
    joined, values = _joined(node.child, found)
    return replace(
        node,
        grouping=tuple(_put(k, values) for k in keys),
        aggregates=tuple(_put(e, values) for e in items),
        child=joined,
    )


def _extracted(expression: Expression, found: list[ScalarSubquery]) -> Expression:
    """The expression with each correlated subquery's column in its place."""

    def visit(node: Expression) -> Expression:
        if isinstance(node, ScalarSubquery) and node.correlated:
            found.append(node)
            return node.plan.output[0]
        return node

    return expression.transform_up(visit)


def _put(expression: Expression, values: dict[int, Expression]) -> Expression:
    new = replace_attributes(expression, values)
    if isinstance(expression, AttributeReference) and new is not expression:
        return Alias(child=new, name=expression.name, expr_id=expression.expr_id)
    return new


def _joined(
    child: LogicalPlan, subqueries: list[ScalarSubquery]
) -> tuple[LogicalPlan, dict[int, Expression]]:
    """The input joined with each subquery, and the values that are not just a column of it."""
    values: dict[int, Expression] = {}
    for subquery in subqueries:
        query = rewrite_domain_joins(child, subquery.plan, subquery.conditions)
        column = query.output[0]
        empty = result_of_no_rows(query) if subquery.may_have_count_bug else None
        condition = conjunction_or_none(subquery.conditions)
        if empty is None:
            joined = Join(
                left=child,
                right=query,
                join_type="LeftSingle" if subquery.single_join else "LeftOuter",
                condition=condition,
            )
            child = Project(project_list=(*child.output, column), child=joined)
            continue
        mark = Alias(child=TRUE, name="alwaysTrue")
        marked = Project(project_list=(*query.output, mark), child=query)
        joined = Join(left=child, right=marked, join_type="LeftOuter", condition=condition)
        absent = call("isnull", mark.to_attribute().with_nullability(True))
        value = Alias(child=call("if", absent, empty, column), name=column.name)
        child = Project(project_list=(*child.output, value), child=joined)
        values[column.expr_id] = value.to_attribute()
    return child, values
