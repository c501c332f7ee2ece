"""DISTINCT as an aggregate."""

from __future__ import annotations

from ....planner.model.expressions.core import AggregateExpression, Alias, Call, Expression, lit
from ....planner.model.plans.logical import Aggregate, Deduplicate, Distinct
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import bottom_up, replace_attributes


@bottom_up(Distinct)
def replace_distinct(node: Distinct, conf: Conf) -> LogicalPlan:
    """`Distinct, child` -> `Aggregate [all columns], [all columns]`. Idempotent."""
    columns = node.child.output
    return Aggregate(child=node.child, grouping=columns, aggregates=columns)


def replace_static_deduplication(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """dropDuplicates of a table that is no stream: group by the keys, first of everything else.

    `Deduplicate [a], child(a, b)` -> `Aggregate [a], [a, first(b) AS b]`. Streams keep the
    operator, which has state. Idempotent.
    """

    return _without_deduplication(plan)[0]


def _without_deduplication(plan: LogicalPlan) -> tuple[LogicalPlan, dict[int, Expression]]:
    """The plan, and the columns that took the place of others: first values have new ids."""
    if Deduplicate not in plan.classes:
        return plan, {}
    renamed: dict[int, Expression] = {}

    def visit(child: LogicalPlan) -> LogicalPlan:
        new, more = _without_deduplication(child)
        renamed.update(more)
        return new

    node = plan.map_children(visit)
    if renamed:
        node = node.map_expressions(lambda e: replace_attributes(e, renamed))
    if not isinstance(node, Deduplicate) or node.is_streaming:
        return node, renamed
    keys = frozenset().union(*(key.references for key in node.keys))
    items: list[Expression] = []
    made: dict[int, Expression] = {}
    for column in node.child.output:
        if column.expr_id in keys:
            items.append(column)
            continue
        first = Call(name="first", arguments=(column,), options=(False,))
        item = Alias(child=AggregateExpression(function=first), name=column.name)
        made[column.expr_id] = item.to_attribute()
        items.append(item)
    aggregate = Aggregate(
        child=node.child, grouping=node.keys or (lit(1),), aggregates=tuple(items)
    )
    # What a deduplication below gave may be this one's first value in turn.
    return aggregate, {i: replace_attributes(e, made) for i, e in renamed.items()} | made


@bottom_up(Aggregate)
def eliminate_distinct_in_aggregates(node: Aggregate, conf: Conf) -> LogicalPlan:
    """DISTINCT goes where duplicates make no difference: `max(DISTINCT a)` -> `max(a)`."""

    def drop(expression: Expression) -> Expression:
        if (
            isinstance(expression, AggregateExpression)
            and expression.distinct
            and expression.function.spec.duplicate_agnostic
        ):
            return replace(expression, distinct=False)
        return expression

    return node.transform_expressions(drop)
