"""Reads no more columns than are needed, and says which conditions are put to what is read.

    Select [a] where b > 0        Select [a] where b > 0
    +- ReadSource [a, b, c]       +- ReadSource [a, b], given [b > 0]

What a file's reader takes for malformed depends on both, and so does the number of rows that it
gives. They are those of Spark's scan: what the projections and filters right above it refer to, in
the executed plan. Spark itself, too, must be given them: what counts and observes rows hides what
stands above from its optimizer. Runs first, as later passes move selects. Idempotent.

The select that makes the struct `_metadata` of its fields is put together with the one above it, so
that no more fields are read than are used.
"""

from __future__ import annotations

from ....planner.model.tree import replace
from ..facts import BatchFacts
from ..nodes import ReadSource, RuntimeNode, Select
from ..reading import given_to_reader
from .merge_selects import combined, merged


def read_needed(plan: RuntimeNode, facts: BatchFacts) -> RuntimeNode:
    """The plan whose sources give what is needed of them."""

    def pruned(node: RuntimeNode) -> RuntimeNode:
        selects: list[Select] = []
        below = node
        while isinstance(below, Select):
            selects.append(below)
            below = below.child
        if not selects or not isinstance(below, ReadSource):
            return node.map_children(pruned)
        if below.metadata:
            selects = _without_struct(selects)
        whole = selects[-1]
        for upper in reversed(selects[:-1]):
            one = combined(upper, whole)
            if one is None:
                break
            whole = one
        used = {id_ for e in (*whole.conditions, *whole.columns) for id_ in e.references}
        if below.metadata:
            # A select may pass on all fields of which the next one needs some.
            last = selects[-1]
            used |= {id_ for e in (*last.conditions, *last.columns) for id_ in e.references}
        read = tuple(a for a in below.attributes if a.expr_id in used)
        given = given_to_reader(below.name, whole.conditions, facts)
        if (below.read, below.given) == (read, given):
            return node
        source: RuntimeNode = replace(below, read=read, given=given)
        for select in reversed(selects):
            source = replace(select, child=source)
        return source

    return pruned(plan)


def _without_struct(selects: list[Select]) -> list[Select]:
    """Selects, the upper first, put together as far as filters pass on the struct of the last."""
    put_together = combined
    while len(selects) > 1:
        together = put_together(selects[-2], selects[-1])
        if together is None:
            break
        selects = [*selects[:-2], together]
        put_together = merged
    return selects
