"""Where columns become rows."""

from __future__ import annotations

from ...physical.basic import AdaptiveSparkPlanExec
from ...physical.plan import SparkPlan
from ...physical.scans import ColumnarToRowExec, FileSourceScanExec
from .execution import Execution


def insert_transitions(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """`FileScan` in batches of columns -> `ColumnarToRow, FileScan`.

    A plan that Spark re-plans at run time gets its transitions only then. Idempotent.
    """
    if isinstance(plan, AdaptiveSparkPlanExec) or not plan.holds(FileSourceScanExec):
        return plan
    return _inserted(plan)


def _inserted(plan: SparkPlan) -> SparkPlan:
    if isinstance(plan, ColumnarToRowExec):
        return plan
    if isinstance(plan, FileSourceScanExec):
        return ColumnarToRowExec(child=plan) if plan.batched else plan
    return plan.map_children(_inserted)
