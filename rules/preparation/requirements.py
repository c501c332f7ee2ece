"""Exchanges and sorts: the one place that makes them, and the check that none is missing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from ...physical.aggregate import AggregationStep
from ...physical.distribution import (
    BroadcastDistribution,
    ClusteredDistribution,
    Distribution,
    HashPartitioning,
    PartitioningCollection,
    SinglePartition,
    StatefulOpClusteredDistribution,
    ordering_satisfies,
)
from ...physical.exchange import NOT_NUMBERED, BroadcastExchangeExec, ShuffleExchangeExec, SortExec
from ...physical.explain.tree import tree_text
from ...physical.plan import SparkPlan, StatefulOperator, StateStoreWriter
from ...planner.model.errors import InternalError
from ...planner.model.expressions.core import SortOrder
from ...planner.model.expressions.equality import all_same
from ...planner.model.tree import replace
from .execution import Execution

_ASKED_FOR = ("REPARTITION_BY_COL", "REPARTITION_BY_NUM")


def ensure_requirements(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """Put an Exchange where a child's rows lie elsewhere than required, then a Sort for order.

    `Save <- Partial` becomes `Save <- Exchange hashpartitioning <- Partial`. Requires the state
    rule; establishes every required distribution and ordering; idempotent.
    """
    numbers = itertools.count()
    return _ensured(plan, execution.conf.shuffle_partitions, numbers)


def _ensured(plan: SparkPlan, partitions: int, numbers: Iterator[int]) -> SparkPlan:
    plan = plan.map_children(lambda child: _ensured(child, partitions, numbers))
    if isinstance(plan, ShuffleExchangeExec):
        return _needed(plan, numbers)
    required = plan.required_child_distribution
    apart = _apart(plan, required, partitions)
    requirements = zip(required, plan.required_child_ordering, strict=True)

    def met(child: SparkPlan) -> SparkPlan:
        distribution, ordering = next(requirements)
        placed = _placed(child, distribution, partitions, numbers, apart)
        return _sorted(placed, ordering)

    return plan.map_children(met)


def _needed(exchange: ShuffleExchangeExec, numbers: Iterator[int]) -> SparkPlan:
    """A repartition that the query asks for, unless the rows lie so anyway."""
    wanted, given = exchange.partitioning, exchange.child.output_partitioning
    if isinstance(wanted, HashPartitioning) and exchange.origin in _ASKED_FOR:
        options = given.options if isinstance(given, PartitioningCollection) else (given,)
        if any(
            isinstance(option, HashPartitioning)
            and option.num_partitions == wanted.num_partitions
            and all_same(option.keys, wanted.keys)
            for option in options
        ):
            return exchange.child
    if exchange.plan_id != NOT_NUMBERED:
        return exchange
    return replace(exchange, plan_id=next(numbers))


def _apart(plan: SparkPlan, required: Sequence[Distribution], partitions: int) -> bool:
    """Whether equal keys of several inputs would lie apart: all of one input are in one place."""
    if len(required) < 2 or not all(isinstance(r, ClusteredDistribution) for r in required):
        return False
    numbers = {
        child.output_partitioning.num_partitions
        if child.output_partitioning.satisfies(distribution)
        else distribution.required_num_partitions or partitions
        for child, distribution in zip(plan.children, required, strict=True)
    }
    return len(numbers) > 1


def _placed(
    child: SparkPlan, required: Distribution, partitions: int, numbers: Iterator[int], apart: bool
) -> SparkPlan:
    given = child.output_partitioning
    if given.satisfies(required) and not (apart and isinstance(given, SinglePartition)):
        return child
    if isinstance(required, BroadcastDistribution):
        return BroadcastExchangeExec(mode=required.mode, plan_id=next(numbers), child=child)
    stateful = isinstance(required, StatefulOpClusteredDistribution)
    return ShuffleExchangeExec(
        partitioning=required.create_partitioning(required.required_num_partitions or partitions),
        origin="REQUIRED_BY_STATEFUL_OPERATOR" if stateful else "ENSURE_REQUIREMENTS",
        plan_id=next(numbers),
        child=child,
    )


def _sorted(child: SparkPlan, required: tuple[SortOrder, ...]) -> SparkPlan:
    if ordering_satisfies(child.output_ordering, required):
        return child
    return SortExec(order=required, is_global=False, child=child)


def validate_requirements(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """Check that rows lie and are ordered as every operator requires, and that state is placed.

    Read-only.

    Raises:
        InternalError: a requirement does not hold; the message has the plan.
    """
    for node in plan.walk():
        fault = _fault(node)
        if fault:
            raise InternalError(f"{node.node_name}: {fault}.\n{tree_text(plan)}")
    ids = [n.state_info.operator_id for n in plan.collect(StateStoreWriter) if n.state_info]
    if len(ids) != len(set(ids)):
        raise InternalError(f"two operators share an id: {ids}.\n{tree_text(plan)}")
    return plan


def _fault(node: SparkPlan) -> str | None:
    if isinstance(node, StatefulOperator) and node.state_info is None:
        return "a stateful operator without state info"
    if isinstance(node, AggregationStep) and node.is_streaming and not node.num_shuffle_partitions:
        return "a streaming aggregate without a store count"
    distributions = node.required_child_distribution
    orderings = node.required_child_ordering
    if not len(node.children) == len(distributions) == len(orderings):
        return "not one required distribution and ordering per child"
    for child, distribution, ordering in zip(node.children, distributions, orderings, strict=True):
        if not child.output_partitioning.satisfies(distribution):
            return f"requires {distribution} of {child.node_name}"
        if not ordering_satisfies(child.output_ordering, ordering):
            return f"requires the order {ordering} of {child.node_name}"
    return None
