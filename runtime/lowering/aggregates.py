"""Lowering of streaming aggregation and session windows.

The progression partial - exchange - merge - restore - merge - save becomes one exchange and one
kernel: `groupBy(keys).agg(partials)` is Spark's own partial aggregate, exchange and merge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...physical.aggregate import BaseAggregateExec, MergingSessionsExec
from ...physical.exchange import SortExec
from ...physical.plan import SparkPlan, StateStoreWriter
from ...physical.state import OutputMode
from ...physical.stateful import (
    SessionWindowStateStoreRestoreExec,
    SessionWindowStateStoreSaveExec,
    StateStoreRestoreExec,
    StateStoreSaveExec,
)
from ...planner.model.errors import InternalError
from ...planner.model.expressions import AttributeReference
from ...planner.model.types import DoubleType, FloatType, contains_type
from ..kernels.aggregate import AggregateKernel
from ..kernels.session import SessionKernel
from .batch import Batch
from .columns import Column, arrow_schema, column_name
from .exchanges import event_time_position, grouped, keyed, micros
from .functions import buffers_of, functions_of
from .operators import Frames, inputs_of, lower_operator, named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def partial_of(save: SparkPlan) -> BaseAggregateExec:
    """The first step of an aggregation, from its save.

    Two merges stand between them in an aggregation, none in a session aggregation.
    """
    number = 3 if isinstance(save, StateStoreSaveExec) else 1
    node: SparkPlan = save
    while number:
        if len(node.children) != 1:
            raise InternalError(f"{save.node_name} stands over no partial aggregation")
        node = node.children[0]
        number -= isinstance(node, BaseAggregateExec)
    assert isinstance(node, BaseAggregateExec)
    return node


@inputs_of.register(StateStoreSaveExec)
@inputs_of.register(SessionWindowStateStoreSaveExec)
def _(node: SparkPlan) -> tuple[SparkPlan, ...]:
    return (partial_of(node).child,)


@lower_operator.register(StateStoreRestoreExec)
@lower_operator.register(SessionWindowStateStoreRestoreExec)
@lower_operator.register(MergingSessionsExec)
def _(node: SparkPlan, inputs: Frames, batch: Batch) -> DataFrame:
    raise InternalError(f"{node.node_name} is a part of its save operator and has no other place")


@lower_operator.register(StateStoreSaveExec)
def _(node: StateStoreSaveExec, inputs: Frames, batch: Batch) -> DataFrame:
    partial = partial_of(node)
    functions = functions_of(partial)
    names = [column_name(key) for key in partial.key_attributes]
    frame = grouped(
        keyed(inputs[0], partial), names, [sql for f in functions for sql in f.partials]
    )
    keys = [Column.of(key) for key in partial.key_attributes]
    kernel = AggregateKernel(
        keys=arrow_schema(keys),
        buffers=buffers_of(functions),
        mode=_mode(node),
        time=event_time_position(node.keys),
        late=micros(node.event_time_watermark_for_late_events),
        evict=micros(node.event_time_watermark_for_eviction),
    )
    return batch.run_kernel(
        node,
        frame,
        kernel,
        keys=names,
        columns=[*keys, *(c for f in functions for c in f.buffers)],
        output=[*keys, *(c for f in functions for c in f.emitted)],
        single=not keys,
    )


def _mode(node: StateStoreWriter) -> OutputMode:
    if node.output_mode is None:
        raise InternalError(f"{node.node_name} has no output mode")
    return node.output_mode


@lower_operator.register(SessionWindowStateStoreSaveExec)
def _(node: SessionWindowStateStoreSaveExec, inputs: Frames, batch: Batch) -> DataFrame:
    partial = partial_of(node)
    functions = functions_of(partial)
    partials = [sql for f in functions for sql in f.partials]
    names = [column_name(key) for key in partial.key_attributes]
    keys = [Column.of(key) for key in node.keys]
    own = [key.name for key in keys]
    frame = keyed(inputs[0], partial)
    if any(contains_type(key.data_type, FloatType, DoubleType) for key in keys):
        # Spark groups floats by another expression than the column, and would exchange them anew.
        frame = grouped(frame, names, partials).repartition(batch.context.tasks, *own)
    else:
        frame = grouped(frame.repartition(batch.context.tasks, *own), names, partials)
    session = Column.of(node.session)
    kernel = SessionKernel(
        keys=arrow_schema(keys),
        session=session.field,
        position=names.index(session.name),
        buffers=buffers_of(functions),
        mode=_mode(node),
        merge_first=_merges_first(node, partial),
        late=_session_watermark(node, node.event_time_watermark_for_late_events),
        evict=_session_watermark(node, node.event_time_watermark_for_eviction),
    )
    buffers = [c for f in functions for c in f.buffers]
    output = [Column.of(key) for key in partial.key_attributes]
    return batch.run_kernel(
        node,
        frame,
        kernel,
        keys=own,
        columns=[*keys, session, *buffers],
        output=[*output, *(c for f in functions for c in f.emitted)],
    )


def _merges_first(save: SparkPlan, partial: SparkPlan) -> bool:
    """Whether sessions merge within the partition before they meet their state."""
    node, merging = save, 0
    while node is not partial:
        node = node.children[0]
        merging += isinstance(node, MergingSessionsExec)
    return merging > 1


def _session_watermark(node: SessionWindowStateStoreSaveExec, watermark: int | None) -> int | None:
    return micros(watermark) if node.session.delay_ms is not None else None


@inputs_of.register(BaseAggregateExec)
def _(node: BaseAggregateExec) -> tuple[SparkPlan, ...]:
    below = _below(node)
    return (below,) if _is_save(below) else (_batch_partial(node).child,)


@lower_operator.register(BaseAggregateExec)
def _(node: BaseAggregateExec, inputs: Frames, batch: Batch) -> DataFrame:
    """The last step: the functions' results, then the select list over them."""
    functions = functions_of(node)
    frame = inputs[0]
    names = [column_name(key) for key in node.key_attributes]
    if not _is_save(_below(node)):
        partial = _batch_partial(node)
        partials = [sql for f in functions_of(partial) for sql in f.at_once]
        frame = grouped(frame.selectExpr("*", *_computed(partial)), names, partials)
    return frame.selectExpr(*names, *(f.result for f in functions)).selectExpr(
        *map(named, node.results)
    )


def _below(node: BaseAggregateExec) -> SparkPlan:
    """What the last step reads, past the sort that a SortAggregate asks for."""
    return node.child.child if isinstance(node.child, SortExec) else node.child


def _is_save(node: SparkPlan) -> bool:
    return isinstance(node, StateStoreSaveExec | SessionWindowStateStoreSaveExec)


def _batch_partial(final: BaseAggregateExec) -> BaseAggregateExec:
    """The first step of an aggregation without state."""
    node = final.child
    while not isinstance(node, BaseAggregateExec):
        node = node.children[0]
    return node


def _computed(partial: BaseAggregateExec) -> list[str]:
    return [named(key) for key in partial.keys if not isinstance(key, AttributeReference)]
