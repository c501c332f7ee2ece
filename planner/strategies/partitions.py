"""Strategies for what says where rows shall lie, and for ranges and samples."""

from __future__ import annotations

from ...physical.distribution import (
    HashPartitioning,
    Partitioning,
    RangePartitioning,
    RoundRobinPartitioning,
    SinglePartition,
)
from ...physical.exchange import NOT_NUMBERED, ShuffleExchangeExec, ShuffleOrigin
from ...physical.partitions import CoalesceExec, RangeExec, SampleExec
from ...physical.plan import SparkPlan
from ..model.expressions.core import Expression, SortOrder
from ..model.plans.partitions import (
    RebalancePartitions,
    Repartition,
    RepartitionByExpression,
    Sample,
)
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import Range
from .base import PlanLater


def partition_operators(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """Repartition, RepartitionByExpression, RebalancePartitions, Sample and Range."""
    match logical:
        case Repartition(num_partitions=number, shuffle=False, child=child):
            return CoalesceExec(num_partitions=number, child=plan_later(child))
        case Repartition(num_partitions=number, child=child):
            return _exchange(_placed((), number), "REPARTITION_BY_NUM", plan_later(child))
        case RepartitionByExpression(by=by, num_partitions=given, child=child):
            number = given or plan_later.conf.shuffle_partitions
            origin: ShuffleOrigin = "REPARTITION_BY_NUM" if given else "REPARTITION_BY_COL"
            if not by and given is None:
                origin = "REBALANCE_PARTITIONS_BY_NONE"
            return _exchange(_placed(by, number), origin, plan_later(child))
        case RebalancePartitions(by=by, num_partitions=given, child=child):
            number = given or plan_later.conf.shuffle_partitions
            return _exchange(
                _placed(by, number),
                "REBALANCE_PARTITIONS_BY_COL" if by else "REBALANCE_PARTITIONS_BY_NONE",
                plan_later(child),
            )
        case Sample(child=child):
            return SampleExec(
                lower=logical.lower,
                upper=logical.upper,
                with_replacement=logical.with_replacement,
                seed=logical.seed,
                child=plan_later(child),
            )
        case Range():
            return RangeExec(
                start=logical.start,
                end=logical.end,
                step=logical.step,
                slices=logical.slices,
                attributes=logical.attributes,
            )
        case _:
            return None


def _placed(by: tuple[Expression, ...], number: int) -> Partitioning:
    if number == 1:
        return SinglePartition()
    if not by:
        return RoundRobinPartitioning(number)
    order = tuple(e for e in by if isinstance(e, SortOrder))
    if len(order) == len(by):
        return RangePartitioning(number, order)
    return HashPartitioning(number, by)


def _exchange(partitioning: Partitioning, origin: ShuffleOrigin, child: SparkPlan) -> SparkPlan:
    return ShuffleExchangeExec(
        partitioning=partitioning, origin=origin, plan_id=NOT_NUMBERED, child=child
    )
