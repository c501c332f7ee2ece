"""The columns of an outer row in a subquery's expressions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ....planner.model.expressions.core import AttributeReference, Expression
from ....planner.model.expressions.subqueries import OuterReference, is_outer
from ....planner.model.plans.query_plan import LogicalPlan
from ...common.trees import each_once

Columns = Mapping[int, AttributeReference]


def by_name(columns: Iterable[AttributeReference]) -> tuple[AttributeReference, ...]:
    """Each once, in the order of names: plans must not depend on hash values (nor do Spark's)."""
    return tuple(sorted(each_once(columns), key=lambda a: (a.name, a.expr_id)))


def outer_columns(expressions: Iterable[Expression]) -> list[AttributeReference]:
    """The columns of outer rows that expressions mention."""
    return [node.column for e in expressions for node in e.collect(OuterReference)]


def outer_columns_of_tree(plan: LogicalPlan) -> list[AttributeReference]:
    """Those of a whole plan, the root's first: a filter's before those below it."""
    return each_once(a for node in plan.walk() for a in outer_columns(node.expressions))


def all_with(expressions: Iterable[Expression], known: Columns) -> tuple[Expression, ...]:
    """`with_columns` for each."""
    return tuple(with_columns(e, known) for e in expressions)


def with_columns(expression: Expression, known: Columns) -> Expression:
    """The expression with columns in place of those of the outer row, by their ids."""
    if not is_outer(expression):
        return expression

    def put(node: Expression) -> Expression:
        return known.get(node.column.expr_id, node) if isinstance(node, OuterReference) else node

    return expression.transform_up(put)


def mentions_outer(plan: LogicalPlan) -> bool:
    """Whether a plan mentions an outer row."""
    return any(is_outer(e) for node in plan.walk() for e in node.expressions)
