"""Joins give their rows in Spark's order to a kernel that goes by it.

    Kernel StateStoreSave: first(..)     Kernel StateStoreSave: first(..)
    +- BroadcastHashJoin                 +- BroadcastHashJoin, in Spark's order

Spark's broadcast join reads one side row by row, in its order. The embedded engine puts the rows of
both sides into hash tables, and they come out in an order of these: which one is a key's first
would be another. Spark's own joins stay as they are. Idempotent.
"""

from __future__ import annotations

from ....physical.joins import BroadcastHashJoinExec, BroadcastNestedLoopJoinExec
from ....planner.model.tree import replace
from ..facts import BatchFacts
from ..nodes import AsIs, Kernel, RuntimeNode
from ..specs import AggregateSpec, JoinSpec, SessionSpec

_ONE_BY_ONE = ("Inner", "Cross", "LeftOuter", "RightOuter", "LeftSemi", "LeftAnti")


def keep_order(plan: RuntimeNode, facts: BatchFacts) -> RuntimeNode:
    """The plan with the joins marked whose order of rows decides what a kernel emits."""
    if facts.engine.exactness is None:
        return plan
    return plan.transform_up(lambda node: node.map_children(_kept) if goes_by_order(node) else node)


def goes_by_order(node: RuntimeNode) -> bool:
    """Whether a node is a kernel that emits other values if its rows come in another order."""
    if not isinstance(node, Kernel):
        return False
    if isinstance(node.spec, AggregateSpec | SessionSpec):
        functions = (one.aggregate.function for one in node.spec.functions)
        return any(function.spec.order_sensitive for function in functions)
    return not isinstance(node.spec, JoinSpec)  # a first row, the first rows, a user's function


def _kept(node: RuntimeNode) -> RuntimeNode:
    """What comes to a kernel, up to the kernels below."""
    if isinstance(node, Kernel):
        return node
    if isinstance(node, AsIs) and isinstance(
        join := node.operator, BroadcastHashJoinExec | BroadcastNestedLoopJoinExec
    ):
        node = replace(node, in_order=join.join_type in _ONE_BY_ONE)
    return node.map_children(_kept)
