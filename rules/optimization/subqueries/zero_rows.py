"""What aggregations give of no rows."""

from __future__ import annotations

from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Expression,
    Literal,
    without_alias,
)
from ....planner.model.plans.logical import Aggregate, Filter, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ...common.trees import replace_attributes
from ..expressions.simplify import simplify
from ..support.calls import is_null, null_of, value_over_no_rows


def value_of_no_rows(item: Expression) -> Literal | None:
    """The value of an aggregation's column over no rows, if that is other than null."""
    return _known(item.transform_up(_default))


def result_of_no_rows(plan: LogicalPlan) -> Literal | None:
    """The value of the one column of an aggregation over no rows, if that is other than null."""
    values = _values(plan)
    return None if values is None else _known(values[plan.output[0].expr_id])


def _known(value: Expression) -> Literal | None:
    value = simplify(value)
    return value if isinstance(value, Literal) and not is_null(value) else None


def _values(plan: LogicalPlan) -> dict[int, Expression] | None:
    match plan:
        case Aggregate(aggregates=items):
            return {_id(e): e.transform_up(_default) for e in items}
        case Project(project_list=items, child=child):
            below = _values(child)
            if below is None:
                return None
            return {_id(e): replace_attributes(without_alias(e), below) for e in items}
        case Filter(child=child):
            return _values(child)
        case _:
            return None


def _id(item: Expression) -> int:
    assert isinstance(item, Alias | AttributeReference)
    return item.expr_id


def _default(node: Expression) -> Expression:
    if isinstance(node, Alias):
        return node.child
    if isinstance(node, AggregateExpression):
        return value_over_no_rows(node.function)
    if isinstance(node, AttributeReference):
        return null_of(node.data_type)
    return node
