"""Observed metrics: aggregates with names, over the rows that pass."""

from __future__ import annotations

from ....planner.model.expressions.core import (
    AggregateExpression,
    AttributeReference,
    Expression,
    without_alias,
)
from ....planner.model.plans.logical import CollectMetrics
from ....planner.model.text.quoting import to_sql_expr
from ....planner.model.tree import replace
from ..expressions.expressions import Resolver
from ..failures import failure
from ..names.names import named
from ..selects.selects import resolve_items


def resolve_metrics(plan: CollectMetrics, resolver: Resolver) -> CollectMetrics:
    """The metrics resolved over the columns that pass, and named.

    Raises:
        AnalysisError: a column stands outside of an aggregate.
    """
    metrics = tuple(named(item) for item in resolve_items(plan.metrics, resolver))
    for metric in metrics:
        _check(without_alias(metric), plan)
    return replace(plan, metrics=metrics)


def _check(expression: Expression, plan: CollectMetrics) -> None:
    if isinstance(expression, AggregateExpression):
        return
    if isinstance(expression, AttributeReference):
        raise failure(
            "INVALID_OBSERVED_METRICS.NON_AGGREGATE_FUNC_ARG_IS_ATTRIBUTE",
            origin=plan.origin,
            expr=to_sql_expr(expression),
        )
    for child in expression.children:
        _check(child, plan)
