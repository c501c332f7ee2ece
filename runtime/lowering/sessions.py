"""Lowering of session windows.

The progression partial - exchange - restore - merge - save becomes one exchange and one kernel.
Where every function has a form over one row, the rows go straight to the kernel, each a session of
its own: few of them would become one in a partial aggregation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...physical.aggregate import BaseAggregateExec, MergingSessionsExec
from ...physical.plan import SparkPlan
from ...physical.stateful import (
    SessionWindowStateStoreRestoreExec,
    SessionWindowStateStoreSaveExec,
)
from ...planner.model.errors import InternalError
from ...planner.model.registry import ONE
from ...planner.model.types import DoubleType, FloatType, contains_type
from ..kernels.buffers import RowBuffers
from ..kernels.session import SessionKernel
from ..kernels.task import ORIGIN
from .aggregates import mode_of, partial_of, unsorted
from .batch import Batch
from .columns import Column, arrow_schema, column_name, sql_of
from .exchanges import check_event_times, grouped, keyed, micros
from .functions import Function, buffers_of, functions_of
from .operators import Frames, inputs_of, lower_operator, named
from .scans import reader
from .windows import WindowColumn, key_column, window_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@inputs_of.register(SessionWindowStateStoreSaveExec)
def _(node: SparkPlan) -> tuple[SparkPlan, ...]:
    return (unsorted(partial_of(node).child),)


@lower_operator.register(SessionWindowStateStoreRestoreExec)
@lower_operator.register(MergingSessionsExec)
def _(node: SparkPlan, inputs: Frames, batch: Batch) -> DataFrame:
    raise InternalError(f"{node.node_name} is a part of its save operator and has no other place")


@lower_operator.register(SessionWindowStateStoreSaveExec)
def _(node: SessionWindowStateStoreSaveExec, inputs: Frames, batch: Batch) -> DataFrame:
    if mode_of(node) != "complete":
        check_event_times(node.child, batch)
    partial = partial_of(node)
    functions = functions_of(partial)
    keys = [Column.of(key) for key in node.keys]
    session = _session(partial, node)
    bounds = session.parts
    names = [column_name(key) for key in partial.key_attributes]
    own = [key.name for key in keys]
    # Spark takes floats as keys in another form than the column's: it must group them itself.
    floats = any(contains_type(key.data_type, FloatType, DoubleType) for key in keys)
    rows = None if floats else _own_rows(functions)
    given = [c for f in functions for c in f.buffers] if rows is None else list(rows.given)
    columns = [*keys, *bounds, *given]
    kernel = SessionKernel(
        keys=arrow_schema(keys),
        session=session.field,
        gap=session.size,
        position=names.index(column_name(node.session)),
        buffers=buffers_of(functions),
        mode=mode_of(node),
        made=None if rows is None else rows.buffers,
        merge_first=_merges_first(node, partial),
        late=_watermark(node, node.event_time_watermark_for_late_events),
        evict=_watermark(node, node.event_time_watermark_for_eviction),
    )
    emitted = [key_column(key) for key in partial.key_attributes]
    output = [*emitted, *(c for f in functions for c in f.emitted)]
    if rows is None:
        frame = _grouped(inputs[0], partial, node, functions, batch, floats=floats)
    else:
        # What merges first is late or not by the partition that Spark reads it in.
        files = None if kernel.merge_first else reader(unsorted(partial.child), batch.context)
        files = None if files is None else files.with_columns(partial.keys)
        buffers = [(sql, column) for column, sql in rows.given.items()]
        scan = None if files is None else files.scan(keys, [*keys, session], buffers, origins=True)
        if files is not None and scan is not None:
            return batch.run_scan(
                node, scan, kernel, columns=columns, output=output, watermark=files.watermark
            )
        frame = batch.exchanged(_rows(inputs[0], partial, node), *own)
        computed = (f"{sql} AS {c.name}" for c, sql in rows.given.items())
        frame = frame.selectExpr(*own, *(c.name for c in bounds), ORIGIN, *computed)
    return batch.run_kernel(
        node, frame, kernel, keys=keys, columns=columns, output=output, origin=ORIGIN
    )


class _OwnRows(NamedTuple):
    """Rows that go to the kernel one by one: the SQL of the columns that make their buffers."""

    given: dict[Column, str]
    buffers: RowBuffers


def _own_rows(functions: Sequence[Function]) -> _OwnRows | None:
    """None if a function has no form over one row."""
    if not all(f.forms.row for f in functions):
        return None
    buffers = [c for f in functions for c in f.buffers]
    texts = [sql for f in functions for sql in _row_sql(f)]
    given = {c: sql for sql, c in zip(texts, buffers, strict=True) if sql != ONE}
    sources = tuple(list(given).index(c) if c in given else None for c in buffers)
    return _OwnRows(given, RowBuffers(arrow_schema(list(given)), sources))


def _row_sql(function: Function) -> list[str]:
    """The SQL of a function's buffers over one row."""
    call, condition = function.aggregate.function, function.aggregate.filter
    return function.forms.row_sql(
        [sql_of(argument) for argument in call.arguments],
        None if condition is None else sql_of(condition),
        never_null=not any(argument.nullable for argument in call.arguments),
    )


def _session(partial: BaseAggregateExec, node: SessionWindowStateStoreSaveExec) -> WindowColumn:
    """The column of the sessions that rows make."""
    return window_column(node.session, partial.child)


def _rows(
    frame: DataFrame, partial: BaseAggregateExec, node: SessionWindowStateStoreSaveExec
) -> DataFrame:
    """The rows with their keys, start and end of their sessions, and the partition they are in."""
    name = column_name(node.session)
    keys = [named(key) for key in partial.keys]
    session = next(sql for sql in keys if sql.rpartition(" AS ")[2] == name)
    keys.remove(session)
    value = session.rpartition(" AS ")[0] or name
    made = _session(partial, node).parted(value)
    ids = {key.expr_id for key in partial.key_attributes}
    others = [column_name(a) for a in partial.child.output if a.expr_id not in ids]
    return frame.selectExpr(*keys, *made, *others, f"spark_partition_id() AS {ORIGIN}")


def _grouped(
    frame: DataFrame,
    partial: BaseAggregateExec,
    node: SessionWindowStateStoreSaveExec,
    functions: Sequence[Function],
    batch: Batch,
    *,
    floats: bool,
) -> DataFrame:
    """One row per key, session and origin, as Spark's partial aggregation makes them."""
    own = [column_name(key) for key in node.keys]
    keys = [*own, *(c.name for c in _session(partial, node).parts), ORIGIN]
    partials = [sql for f in functions for sql in f.partials]
    rows = _rows(keyed(frame, partial), partial, node)
    if floats:  # Spark would exchange them anew
        return batch.exchanged(grouped(batch.gathered(rows), keys, partials), *own)
    return grouped(batch.exchanged(rows, *own), keys, partials)


def _merges_first(save: SparkPlan, partial: SparkPlan) -> bool:
    """Whether sessions merge within the partition before they meet their state."""
    node, merging = save, 0
    while node is not partial:
        node = node.children[0]
        merging += isinstance(node, MergingSessionsExec)
    return merging > 1


def _watermark(node: SessionWindowStateStoreSaveExec, watermark: int | None) -> int | None:
    return micros(watermark) if node.session.delay_ms is not None else None
