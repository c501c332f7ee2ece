"""Projections, sorts, limits and aggregation steps that need not be there."""

from __future__ import annotations

from dataclasses import fields

from ...physical.aggregate import (
    BaseAggregateExec,
    HashAggregateExec,
    ObjectHashAggregateExec,
    SortAggregateExec,
    WindowExec,
    WindowGroupLimitExec,
)
from ...physical.basic import ExpandExec, FilterExec, GenerateExec, ProjectExec
from ...physical.distribution import ordering_satisfies
from ...physical.exchange import SortExec, TakeOrderedAndProjectExec
from ...physical.joins import BaseJoinExec
from ...physical.plan import SparkPlan
from ...physical.scans import FileSourceScanExec
from ...planner.model.expressions.core import ascending, to_attribute
from ...planner.model.tree import replace
from .execution import Execution

_REMOVE = "spark.sql.execution.removeRedundantProjects"


def remove_redundant_projects(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """Drop a Project that gives its child's columns, reordered where the parent does not care.

    The root's order is kept, and that below merge and final aggregates, which read buffers by
    position, and below all steps of a streaming aggregation. Idempotent.
    """
    if execution.conf.settings.get(_REMOVE, "true").lower() == "false":
        return plan
    return _removed(plan, keep_order=True)


def _removed(plan: SparkPlan, keep_order: bool) -> SparkPlan:
    match plan:
        case ProjectExec(child=child):
            if _belong_together(child) and _redundant(plan, child, keep_order):
                return _removed(child, keep_order)
            below = False
        case TakeOrderedAndProjectExec() | GenerateExec():
            below = False
        case BaseAggregateExec(is_streaming=True):
            below = True
        case BaseAggregateExec(aggregates=aggregates):
            below = any(a.mode in ("Final", "PartialMerge") for a in aggregates)
        case FilterExec() | BaseJoinExec() | WindowExec() | ExpandExec():
            below = keep_order
        case _:
            below = True
    return plan.map_children(lambda child: _removed(child, below))


def _belong_together(child: SparkPlan) -> bool:
    """Whether a Project over it was planned in one with it, as filters and projections of scans
    are: any other is kept for the sake of adaptive execution."""
    while isinstance(child, FilterExec):
        child = child.child
    return isinstance(child, FileSourceScanExec)


def _redundant(project: ProjectExec, child: SparkPlan, keep_order: bool) -> bool:
    mine = [(a.expr_id, a.nullable) for a in project.output]
    given = [(a.expr_id, a.nullable) for a in child.output]
    if not keep_order:
        mine, given = sorted(mine), sorted(given)
    return [i for i, _ in mine] == [i for i, _ in given] and all(
        wanted or not got for (_, wanted), (_, got) in zip(mine, given, strict=True)
    )


def remove_redundant_sorts(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """Drop a Sort whose child is already in its order and placed as it requires. Idempotent."""
    return plan.transform_up(_without) if plan.holds(SortExec) else plan


def _without(plan: SparkPlan) -> SparkPlan:
    match plan:
        case SortExec(order=order, child=child) if ordering_satisfies(
            child.output_ordering, order
        ) and child.output_partitioning.satisfies(plan.required_child_distribution[0]):
            return child
        case _:
            return plan


def remove_redundant_window_limits(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """The limit before a shuffle goes where nothing is shuffled behind it. Idempotent."""

    def merged(node: SparkPlan) -> SparkPlan:
        match node:
            case WindowGroupLimitExec(mode="Final", child=WindowGroupLimitExec() as inner) if (
                inner.mode == "Partial"
            ):
                return replace(node, child=inner.child)
        return node

    return plan.transform_up(merged) if plan.holds(WindowGroupLimitExec) else plan


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
        and final.required_keys is not None
        and partial.required_keys is None
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
