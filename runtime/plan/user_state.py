"""Operators of the executed plan whose state a Python function keeps.

    FlatMapGroupsInPandasWithState      Select (columns)
    +- Sort                             +- Kernel
       +- Exchange                         +- Exchange
          +- rows                             +- Select [keys, columns]
                                                 +- rows

The kernel brings the rows of a key together: no sort is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...physical.plan import SparkPlan
from ...physical.python_state import FlatMapGroupsInPandasWithStateExec, PythonStatefulExec
from ...physical.state import NO_WATERMARK
from ...planner.model.expressions import AttributeReference
from .aggregation import check_event_times, hashed, unsorted
from .carried import Carried, plain
from .facts import BatchFacts
from .nodes import Exchange, Kernel, RuntimeNode, Select
from .specs import GroupStateSpec, event_time_position, micros
from .translate import translate


@translate.register(FlatMapGroupsInPandasWithStateExec)
def _(node: FlatMapGroupsInPandasWithStateExec, facts: BatchFacts) -> RuntimeNode:
    check_event_times(node.child, facts)
    columns = tuple(map(plain, node.child.output))
    eviction = node.event_time_watermark_for_eviction
    spec = GroupStateSpec(
        rows=tuple(c.seen for c in columns),
        keys=_places(node.keys, columns),
        function=node.function,
        given=_places(node.function.arguments, columns),
        emitted=node.attributes,
        state=node.state_type,
        timeout=node.timeout,
        now_ms=node.batch_timestamp_ms,
        watermark_ms=None if eviction == NO_WATERMARK else eviction,
        time=event_time_position(node.child.output),
        late=micros(node.event_time_watermark_for_late_events),
    )
    return _with_kernel(node, node.child, columns, spec, facts)


def _with_kernel(
    node: PythonStatefulExec,
    child: SparkPlan,
    columns: Sequence[Carried],
    spec: GroupStateSpec,
    facts: BatchFacts,
) -> RuntimeNode:
    placing = hashed([columns[i] for i in spec.keys])
    parts = tuple(part for column in columns for part in column.split(column.column))
    sent = Select(child=translate(unsorted(child), facts), columns=parts)
    emitted = tuple(map(plain, node.attributes))
    kernel = Kernel(
        inputs=(Exchange(child=sent, to="keys", keys=placing),),
        operator=node,
        spec=spec,
        taken=tuple(columns),
        emitted=emitted,
        hashed=placing,
    )
    return Select(child=kernel, columns=tuple(column.restored for column in emitted))


def _places(wanted: Sequence[object], columns: Sequence[Carried]) -> tuple[int, ...]:
    """Where some columns stand among all."""
    known = {column.column.expr_id: i for i, column in enumerate(columns)}
    return tuple(known[c.expr_id] for c in wanted if isinstance(c, AttributeReference))
