"""Grouping keys: complex ones get a column of their own, useless ones go."""

from __future__ import annotations

from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Expression,
    lit,
)
from ....planner.model.expressions.equality import Canonical, ExpressionSet, canonical
from ....planner.model.plans.logical import Aggregate, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import bottom_up


@bottom_up(Aggregate)
def pull_out_grouping_expressions(node: Aggregate, conf: Conf) -> LogicalPlan:
    """Grouping expressions that are no columns are computed in a Project below.

    `Aggregate [upper(a)], [upper(a) AS u]` -> `Aggregate [_groupingexpression], [...]` over
    `Project [.., upper(a) AS _groupingexpression]`. Establishes: keys are columns or constants, so
    that no later rule can make a key and its mention in the select list differ. Idempotent.
    """
    columns: dict[Canonical, Alias] = {}
    keys: list[Expression] = []
    for key in node.grouping:
        if isinstance(key, AttributeReference) or key.foldable:
            keys.append(key)
            continue
        alias = columns.setdefault(canonical(key), Alias(child=key, name="_groupingexpression"))
        keys.append(alias.to_attribute())
    if not columns:
        return node

    def mention(expression: Expression) -> Expression:
        if isinstance(expression, AggregateExpression) or expression.foldable:
            return expression
        if not isinstance(expression, Alias):
            known = columns.get(canonical(expression))
            if known is not None:
                return known.to_attribute()
        return expression.map_children(mention)

    child = Project(child=node.child, project_list=(*node.child.output, *columns.values()))
    aggregates = tuple(mention(e) for e in node.aggregates)
    return replace(
        node, child=child, grouping=tuple(keys), aggregates=aggregates, keys_pulled_out=True
    )


@bottom_up(Aggregate)
def remove_constants_from_grouping(node: Aggregate, conf: Conf) -> LogicalPlan:
    """Constant keys go; if there are no others, one 0 stays, for a keyless aggregate differs.

    `Aggregate [a, 'x']` -> `Aggregate [a]`; `Aggregate ['x']` -> `Aggregate [0]`. Idempotent.
    """
    if not any(key.foldable for key in node.grouping):
        return node
    kept = tuple(key for key in node.grouping if not key.foldable) or (lit(0),)
    return node if kept == node.grouping else replace(node, grouping=kept)


@bottom_up(Aggregate)
def remove_repetition_from_grouping(node: Aggregate, conf: Conf) -> LogicalPlan:
    """A key counts once: `Aggregate [a, a]` -> `Aggregate [a]`. Idempotent."""
    if len(node.grouping) < 2:
        return node
    distinct = tuple(ExpressionSet(node.grouping))
    if len(distinct) == len(node.grouping):
        return node
    return replace(node, grouping=distinct, keys_pulled_out=False)
