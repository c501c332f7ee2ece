"""Reads no more columns than are needed, and says which conditions are put to what is read.

    Select [a] where b > 0        Select [a] where b > 0
    +- ReadSource [a, b, c]       +- ReadSource [a, b], given [b > 0]

What a file's reader takes for malformed depends on both. They are those of Spark's scan: what the
projections and filters right above it refer to, in the executed plan. An engine that plans its
scans as Spark does needs no such help, and the pass does nothing. Runs first, as later passes move
selects. Idempotent.
"""

from __future__ import annotations

from ....planner.model.tree import replace
from ..facts import BatchFacts
from ..nodes import ReadSource, RuntimeNode, Select
from .merge_selects import combined


def read_needed(plan: RuntimeNode, facts: BatchFacts) -> RuntimeNode:
    """The plan whose sources give what is needed of them."""
    return plan if facts.engine.prunes else _pruned(plan)


def _pruned(node: RuntimeNode) -> RuntimeNode:
    selects: list[Select] = []
    below = node
    while isinstance(below, Select):
        selects.append(below)
        below = below.child
    if not selects or not isinstance(below, ReadSource):
        return node.map_children(_pruned)
    top = selects[0]
    whole = selects.pop()
    lowest = whole
    while selects and (one := combined(selects[-1], whole)) is not None:
        whole = one
        selects.pop()
    used = {id_ for e in (*whole.conditions, *whole.columns) for id_ in e.references}
    read = tuple(a for a in below.attributes if a.expr_id in used)
    if (below.read, below.given) == (read, whole.conditions):
        return node
    return _over(top, lowest, replace(below, read=read, given=whole.conditions))


def _over(node: Select, lowest: Select, source: ReadSource) -> Select:
    """A chain of selects over another source."""
    if node is lowest:
        return replace(node, child=source)
    assert isinstance(node.child, Select)
    return replace(node, child=_over(node.child, lowest, source))
