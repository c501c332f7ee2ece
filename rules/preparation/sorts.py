"""Sorts of rows that are in that order anyway."""

from __future__ import annotations

from ...physical.distribution import ordering_satisfies
from ...physical.exchange import SortExec
from ...physical.plan import SparkPlan
from .execution import Execution


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
