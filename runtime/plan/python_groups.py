"""Operators of the executed plan that call a Python function without state for each group.

    FlatMapGroupsInPandas      CallPythonOnGroups
    +- Sort                    +- rows
       +- Exchange
          +- rows

Where Spark calls the function, its own API asks for the exchange and the sort itself.
"""

from __future__ import annotations

from collections.abc import Iterator

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

OverGroups = FlatMapGroupsInPythonExec | FlatMapCoGroupsInPythonExec


@translate.register(FlatMapGroupsInPythonExec)
@translate.register(FlatMapCoGroupsInPythonExec)
def _(node: OverGroups, facts: BatchFacts) -> RuntimeNode:
    inputs = tuple(translate(rows, facts) for rows in _unsorted(node))
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


def _unsorted(node: SparkPlan) -> Iterator[SparkPlan]:
    """An operator's inputs, without the sorts that it asks for."""
    for child, order in zip(node.children, node.required_child_ordering, strict=True):
        yield child.child if isinstance(child, SortExec) and child.order == order else child


def _placing(node: OverGroups) -> tuple[tuple[int, ...], int]:
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
