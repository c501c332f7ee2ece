"""Operators of the executed plan that call a Python function without state for each group.

    FlatMapGroupsInPandas      CallPythonOnGroups
    +- Sort                    +- rows
       +- Exchange
          +- rows

Where Spark calls the function, its own API asks for the exchange and the sort itself.
"""

from __future__ import annotations

from ...physical.distribution import HashPartitioning, PartitioningCollection, clustered
from ...physical.exchange import ShuffleExchangeExec, SortExec
from ...physical.plan import SparkPlan
from ...physical.python_operators import (
    FlatMapCoGroupsInPythonExec,
    FlatMapGroupsInPythonExec,
)
from ...planner.model.expressions.core import AttributeReference
from .facts import BatchFacts
from .nodes import AsIs, CallPythonOnGroups, RuntimeNode
from .passes.exact_steps import not_exact
from .translate import translate


@translate.register(FlatMapGroupsInPythonExec)
@translate.register(FlatMapCoGroupsInPythonExec)
def _(
    node: FlatMapGroupsInPythonExec | FlatMapCoGroupsInPythonExec, facts: BatchFacts
) -> RuntimeNode:
    plan: SparkPlan = node
    sides = zip(plan.children, plan.required_child_ordering, strict=True)
    below = (
        side.child if isinstance(side, SortExec) and side.order == order else side
        for side, order in sides
    )
    inputs = tuple(translate(side, facts) for side in below)
    if facts.engine.exactness is None:
        return AsIs(inputs=inputs, operator=node)
    for keys in zip(*node.keys_by_child, strict=True):
        if len({key.data_type.simple for key in keys}) > 1:
            raise not_exact("a cogroup", "its keys have other types in the other input")
    placing, partitions = _placing(node)
    return CallPythonOnGroups(
        inputs=inputs,
        keys=node.keys_by_child,
        placing=placing,
        partitions=partitions,
        together=facts.adaptive and not _is_fixed(node.children[0]),
        given=node.given_by_child,
        function=node.function,
        results=node.attributes,
    )


def _placing(
    node: FlatMapGroupsInPythonExec | FlatMapCoGroupsInPythonExec,
) -> tuple[tuple[int, ...], int]:
    """Which keys say in which partition a row is, and how many; one stands for ranges of keys."""
    keys, partitioning = node.keys_by_child[0], node.children[0].output_partitioning
    while isinstance(partitioning, PartitioningCollection):
        partitioning = next(p for p in partitioning.options if p.satisfies(clustered(keys)))
    if not isinstance(partitioning, HashPartitioning):
        return (), 1
    ids = [key.expr_id for key in keys]
    hashed = (key for key in partitioning.keys if isinstance(key, AttributeReference))
    return tuple(ids.index(key.expr_id) for key in hashed), partitioning.num_partitions


def _is_fixed(plan: SparkPlan) -> bool:
    """Whether the user says how many partitions there are."""
    if isinstance(plan, ShuffleExchangeExec):
        return plan.origin == "REPARTITION_BY_NUM"
    return any(map(_is_fixed, plan.children))
