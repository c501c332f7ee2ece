"""Counts the rows of the sources that nothing else counts, or whose limit asks for it.

    ReadSource        CountRows
                      +- ReadSource

A source may know the number of its rows, and the rows that an EventTimeWatermark observes are
counted there if nothing between it and the source drops or makes any. A limit that counts what it
lets through must know that its sources have been read to their end. Idempotent.
"""

from __future__ import annotations

from ..facts import BatchFacts
from ..nodes import PassingLimit, ReadSource, RuntimeNode, Select
from ..observing_nodes import CountRows, ObserveEventTime
from ..reading_nodes import ReadFiles


def count_rows(plan: RuntimeNode, facts: BatchFacts) -> RuntimeNode:
    """The plan whose every source is counted."""
    known = frozenset({*facts.source_rows, *_observed_sources(plan)})

    def counting(node: RuntimeNode, known: frozenset[str]) -> RuntimeNode:
        if isinstance(node, CountRows):
            return node
        if isinstance(node, ReadSource) and node.name not in known:
            return CountRows(child=node, source=node.name)
        if isinstance(node, PassingLimit) and node.rows is None:
            known = frozenset()
        return node.map_children(lambda child: counting(child, known))

    return counting(plan, known)


def counted_by_watermarks(plan: RuntimeNode) -> list[tuple[str, str]]:
    """What observations count: a source's name and the observation's `node_id` for each read of it.

    Those with nothing between them and the source that drops or makes rows.
    """
    by_tasks = [
        (files.name, files.node_id)
        for files in plan.collect(ReadFiles)
        if files.node_id is not None and not files.before and not files.counted
    ]
    return by_tasks + list(_observed_sources(plan).items())


def _observed_sources(plan: RuntimeNode) -> dict[str, str]:
    """The sources that an engine reads once, below an observation that counts their rows."""
    names = [source.name for source in plan.collect(ReadSource)]
    found = {}
    for observed in plan.collect(ObserveEventTime):
        node = observed.child
        while isinstance(node, Select) and not node.conditions:
            node = node.child
        if isinstance(node, ReadSource) and names.count(node.name) == 1:
            found[node.name] = observed.node_id
    return found
