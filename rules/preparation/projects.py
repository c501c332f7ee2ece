"""Projections that only choose or reorder what the parent takes in any order."""

from __future__ import annotations

from ...physical.aggregate import BaseAggregateExec
from ...physical.basic import ExpandExec, FilterExec, GenerateExec, ProjectExec
from ...physical.exchange import TakeOrderedAndProjectExec
from ...physical.joins import BaseJoinExec
from ...physical.plan import SparkPlan
from ...physical.scans import FileSourceScanExec
from ...physical.windows import WindowExec
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
