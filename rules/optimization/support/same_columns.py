"""Columns of one table that a query reads twice have the same ids in a subquery and around it."""

from __future__ import annotations

from ....planner.model.expressions.core import Expression
from ....planner.model.expressions.subqueries import SubqueryExpression


def asks_same_columns(condition: Expression, below: frozenset[int]) -> bool:
    """Whether a subquery gives columns that the rows below have, too: they would be confused."""
    return any(
        not below.isdisjoint(query.plan.output_ids)
        for query in condition.collect(SubqueryExpression)
    )
