"""Aggregation steps that need not be apart: nothing is moved between them."""

from __future__ import annotations

from dataclasses import fields

from ...physical.aggregate import (
    BaseAggregateExec,
    HashAggregateExec,
    ObjectHashAggregateExec,
    SortAggregateExec,
)
from ...physical.distribution import ordering_satisfies
from ...physical.plan import SparkPlan
from ...planner.model.expressions.core import ascending, to_attribute
from ...planner.model.tree import replace
from .execution import Execution


def combine_adjacent_aggregates(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """`Final <- Partial` of one aggregation become one step that does both.

    Only for tables: a stream's steps have state between them. Its first two are one where there
    are no functions (DISTINCT), for then they do the same. Requires exchanges; idempotent.
    """

    def combined(node: SparkPlan) -> SparkPlan:
        match node:
            case BaseAggregateExec(is_streaming=False, child=BaseAggregateExec() as below) if (
                _is_pair(node, below)
            ):
                aggregates = tuple(replace(a, mode="Complete") for a in below.aggregates)
                required = tuple(map(to_attribute, below.keys))
                return replace(
                    below,
                    aggregates=aggregates,
                    results=node.results,
                    required_keys=required if below.required_keys is not None else None,
                )
            case BaseAggregateExec(is_streaming=True, child=BaseAggregateExec() as below) if (
                _do_the_same(node, below)
            ):
                return below
        return node

    return plan.transform_up(combined) if plan.holds(BaseAggregateExec) else plan


def _is_pair(final: BaseAggregateExec, partial: BaseAggregateExec) -> bool:
    return (
        type(final) is type(partial)
        and bool(final.aggregates)
        and all(a.mode == "Final" for a in final.aggregates)
        and all(a.mode == "Partial" for a in partial.aggregates)
        and [a.result_id for a in final.aggregates] == [a.result_id for a in partial.aggregates]
    )


def _do_the_same(merge: BaseAggregateExec, partial: BaseAggregateExec) -> bool:
    """Whether they group by the same keys and compute nothing."""
    return (
        type(merge) is type(partial)
        and not (merge.aggregates or partial.aggregates)
        and merge.required_keys is not None
        and partial.required_keys is None
        and merge.output == partial.output
    )


def sort_sorted_aggregates(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """A hash aggregation of rows that are sorted by its keys anyway reads them in order.

    Idempotent.
    """

    def replaced(node: SparkPlan) -> SparkPlan:
        if not isinstance(node, HashAggregateExec | ObjectHashAggregateExec) or not node.keys:
            return node
        wanted = ascending(node.keys)
        if not ordering_satisfies(node.child.output_ordering, wanted):
            return node
        same = {field.name: getattr(node, field.name) for field in fields(node)}
        return SortAggregateExec(**same)

    return plan.transform_up(replaced) if plan.holds(BaseAggregateExec) else plan
