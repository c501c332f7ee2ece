"""GROUP BY: positions, aliases, the select list of an aggregation."""

from __future__ import annotations

from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Expression,
    Literal,
    Origin,
    without_alias,
)
from ....planner.model.expressions.unresolved import UnresolvedAttribute, UnresolvedOrdinal
from ....planner.model.expressions.windows import WindowExpression
from ....planner.model.plans.logical import Aggregate
from ....planner.model.schemas.types import IntegerType
from ....planner.model.tree import replace
from ..columns import Scope
from ..context import Context
from ..failures import failure
from ..names.names import as_sql, named


def has_aggregate(expression: Expression) -> bool:
    """Whether an aggregate function stands in the expression, one with OVER aside."""
    if isinstance(expression, AggregateExpression):
        return True
    if isinstance(expression, WindowExpression):
        parts = (*expression.partition_by, *expression.order_by)
        return any(has_aggregate(part) for part in (*expression.function.children, *parts))
    return any(has_aggregate(child) for child in expression.children)


def with_ordinals(items: tuple[Expression, ...], enabled: bool) -> tuple[Expression, ...]:
    """Whole-number constants of GROUP BY and ORDER BY as positions."""
    if not enabled:
        return items
    return tuple(
        UnresolvedOrdinal(ordinal=item.value, origin=item.origin)
        if isinstance(item, Literal)
        and isinstance(item.type_, IntegerType)
        and isinstance(item.value, int)
        else item
        for item in items
    )


def resolve_grouping(plan: Aggregate, context: Context) -> Aggregate:
    """The aggregation with positions and aliases in GROUP BY put in and all columns named.

    A column of the input wins over an alias of the select list of the same name; by the time this
    runs, such names are columns already.
    """
    aggregates = tuple(named(item) for item in plan.aggregates)
    plan = replace(plan, aggregates=aggregates)
    ready = all(item.resolved for item in aggregates)
    if ready and _is_all(plan.grouping):
        every = (item for item in aggregates if not has_aggregate(item))
        return replace(plan, grouping=tuple(without_alias(item) for item in every))
    grouping = tuple(
        _grouping_item(item, plan, context) if ready else item for item in plan.grouping
    )
    return replace(plan, grouping=grouping)


def _is_all(grouping: tuple[Expression, ...]) -> bool:
    """Whether it is GROUP BY ALL: by every entry of the select list that aggregates nothing."""
    match grouping:
        case (UnresolvedAttribute(parts=(name,)),):
            return name.lower() == "all"
        case _:
            return False


def _grouping_item(item: Expression, plan: Aggregate, context: Context) -> Expression:
    if isinstance(item, UnresolvedOrdinal):
        return _at_position(item.ordinal, plan.aggregates, item.origin)
    if item.resolved or not context.conf.flag("spark.sql.groupByAliases"):
        return without_alias(item)
    scope = context.scope(())
    return item.transform_up(lambda e: _aliased(e, plan.aggregates, scope))


def _aliased(expression: Expression, items: tuple[Expression, ...], scope: Scope) -> Expression:
    if not isinstance(expression, UnresolvedAttribute) or len(expression.parts) > 1:
        return expression
    for item in items:
        if isinstance(item, Alias | AttributeReference) and scope.same(
            item.name, expression.parts[0]
        ):
            return without_alias(item)
    return expression


def _at_position(position: int, items: tuple[Expression, ...], origin: Origin | None) -> Expression:
    if not 1 <= position <= len(items):
        raise failure("GROUP_BY_POS_OUT_OF_RANGE", origin=origin, index=position, size=len(items))
    item = items[position - 1]
    if has_aggregate(item):
        raise failure("GROUP_BY_POS_AGGREGATE", origin=origin, index=position, aggExpr=as_sql(item))
    return without_alias(item)
