"""Which operators native Spark runs twice in a batch, and counts twice in its progress."""

from __future__ import annotations

from ...physical.distribution import RangePartitioning
from ...physical.exchange import ShuffleExchangeExec
from ...physical.plan import SparkPlan, StateStoreWriter


def sampled_operators(plan: SparkPlan) -> set[int]:
    """The ids of the stateful operators that Spark runs twice in a batch.

    Before it deals rows out by their order it samples them, which runs everything below up to the
    exchange before; in a batch's figures such operators count twice. Ours run once.
    """
    found: set[int] = set()
    for node in plan.walk():
        match node:
            case ShuffleExchangeExec(partitioning=RangePartitioning(num_partitions=number)):
                if number > 1:
                    found |= _ids_before_exchange(node.child)
    return found


def _ids_before_exchange(node: SparkPlan) -> set[int]:
    if isinstance(node, ShuffleExchangeExec):
        return set()
    found = set[int]().union(*map(_ids_before_exchange, node.children))
    if isinstance(node, StateStoreWriter) and node.state_info is not None:
        found.add(node.state_info.operator_id)
    return found
