"""Counts the rows of the sources that nothing else counts.

    ReadSource        CountRows
                      +- ReadSource

A source may know the number of its rows, and the rows that an EventTimeWatermark observes are
counted there if nothing between it and the source drops or makes any. Idempotent.
"""

from __future__ import annotations

from ..facts import BatchFacts
from ..nodes import ReadSource, RuntimeNode, Select
from ..observing_nodes import CountRows, ObserveEventTime
from ..reading_nodes import ReadFiles


def count_rows(plan: RuntimeNode, facts: BatchFacts) -> RuntimeNode:
    """The plan whose every source is counted."""
    counted = {*facts.source_rows, *counted_by_watermarks(plan)}

    def counting(node: RuntimeNode) -> RuntimeNode:
        if isinstance(node, CountRows):
            return node
        if isinstance(node, ReadSource) and node.name not in counted:
            return CountRows(child=node, source=node.name)
        return node.map_children(counting)

    return counting(plan)


def counted_by_watermarks(plan: RuntimeNode) -> dict[str, str]:
    """The sources whose rows an observation counts: per name its `node_id`.

    Those that are read once, with nothing between them and it that drops or makes rows.
    """
    names = [source.name for source in plan.collect(ReadSource)]
    found = {
        files.name: files.node_id
        for files in plan.collect(ReadFiles)
        if files.node_id is not None and not files.before
    }
    for observed in plan.collect(ObserveEventTime):
        node = observed.child
        while isinstance(node, Select) and not node.conditions:
            node = node.child
        if isinstance(node, ReadSource) and names.count(node.name) == 1:
            found[node.name] = observed.node_id
    return found
