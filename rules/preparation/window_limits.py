"""Limits of window partitions that a second one makes redundant."""

from __future__ import annotations

from ...physical.plan import SparkPlan
from ...physical.windows import WindowGroupLimitExec
from ...planner.model.tree import replace
from .execution import Execution


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
