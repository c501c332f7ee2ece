"""Lowering of streaming aggregation.

The progression partial - exchange - merge - restore - merge - save becomes one exchange and one
kernel. Rows go to the kernel as they are, each with buffers of its own, unless the batch before
showed that keys are few: then `groupBy(keys).agg(partials)`, Spark's own partial aggregate,
exchange and merge, goes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...physical.aggregate import BaseAggregateExec
from ...physical.exchange import ShuffleExchangeExec, SortExec
from ...physical.plan import SparkPlan, StateStoreWriter
from ...physical.state import OutputMode
from ...physical.stateful import (
    SessionWindowStateStoreSaveExec,
    StateStoreRestoreExec,
    StateStoreSaveExec,
)
from ...planner.model.errors import InternalError
from ...planner.model.expressions import AttributeReference
from ...planner.model.types import LONG, DoubleType, FloatType, contains_type
from ..kernels.aggregate import ROWS, AggregateKernel
from .batch import Batch
from .columns import Column, arrow_schema, column_name, sql_of
from .exchanges import check_event_times, event_time_position, grouped, keyed, micros
from .functions import Function, RowColumns, buffers_of, functions_of, rows_of
from .operators import Frames, inputs_of, lower_operator, named
from .running import GROUPS, RECEIVED
from .scans import Reader, reader
from .windows import WindowColumn, key_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MANY = 50_000  # rows of a batch
SHRINK = 10  # rows a key


def partial_of(save: SparkPlan) -> BaseAggregateExec:
    """The first step of an aggregation, from its save.

    Merges stand between them in an aggregation, none in a session aggregation. The first step takes
    rows from anywhere, merges take those of their keys.
    """
    merges = isinstance(save, StateStoreSaveExec)
    node: SparkPlan = save
    while True:
        if len(node.children) != 1:
            raise InternalError(f"{save.node_name} stands over no partial aggregation")
        node = node.children[0]
        if isinstance(node, BaseAggregateExec) and not (merges and node.required_keys is not None):
            return node


def unsorted(plan: SparkPlan) -> SparkPlan:
    """The plan without the sort that a SortAggregate asks for: the kernel needs none."""
    return plan.child if isinstance(plan, SortExec) and not plan.is_global else plan


@inputs_of.register(StateStoreSaveExec)
def _(node: SparkPlan) -> tuple[SparkPlan, ...]:
    return (unsorted(partial_of(node).child),)


@lower_operator.register(StateStoreRestoreExec)
def _(node: SparkPlan, inputs: Frames, batch: Batch) -> DataFrame:
    raise InternalError(f"{node.node_name} is a part of its save operator and has no other place")


@lower_operator.register(StateStoreSaveExec)
def _(node: StateStoreSaveExec, inputs: Frames, batch: Batch) -> DataFrame:
    if mode_of(node) != "complete":
        check_event_times(node.child, batch)
    partial = partial_of(node)
    functions = functions_of(partial)
    names = [column_name(key) for key in partial.key_attributes]
    keys = key_columns(partial.key_attributes, partial.child)
    output = [*keys, *(c for f in functions for c in f.emitted)]
    files, by_row = _reader(partial, batch), rows_of(functions)
    if files is not None and by_row is not None and keys:
        scan = files.scan(keys, keys, list(zip(by_row.texts, by_row.columns, strict=True)))
        if scan is not None:
            return batch.run_scan(
                node,
                scan,
                _kernel(node, keys, functions, by_row),
                columns=[*keys, *by_row.columns],
                output=output,
                watermark=files.watermark,
            )
    rows = None if _groups_first(keys, batch.figures(node)) else by_row
    if rows is None:
        partials = [sql for f in functions for sql in f.partials]
        found = batch.gathered(keyed(inputs[0], partial))
        frame = grouped(found, names, [*partials, f"count(1) AS {ROWS}"])
        columns = [*(c for f in functions for c in f.buffers), Column(ROWS, LONG)]
    else:
        # The buffers are computed behind the exchange: fewer columns go through it.
        frame = _exchanged(inputs[0], partial, keys, batch).selectExpr(*names, *rows.sql)
        columns = rows.columns
    return batch.run_kernel(
        node,
        frame,
        _kernel(node, keys, functions, rows),
        keys=keys,
        columns=[*keys, *columns],
        output=output,
        single=not keys,
    )


def _reader(partial: BaseAggregateExec, batch: Batch) -> Reader | None:
    """What reads the rows of an aggregation without Spark, the keys among their columns."""
    files = reader(unsorted(partial.child), batch.context)
    return None if files is None else files.with_columns(partial.keys)


def _kernel(
    node: StateStoreSaveExec,
    keys: Sequence[Column],
    functions: Sequence[Function],
    rows: RowColumns | None,
) -> AggregateKernel:
    return AggregateKernel(
        keys=arrow_schema(keys),
        buffers=buffers_of(functions),
        mode=mode_of(node),
        time=event_time_position(node.keys),
        late=micros(node.event_time_watermark_for_late_events),
        evict=micros(node.event_time_watermark_for_eviction),
        rows=None if rows is None else rows.buffers,
    )


def _groups_first(keys: Sequence[Column], figures: Mapping[str, int]) -> bool:
    """Whether Spark groups the rows before they are exchanged.

    Always without keys, and where keys hold floats: Spark alone makes one NaN and one zero of them.
    Else if that paid in the batch before: Spark's aggregation takes as long as the exchange that
    it saves unless it leaves few rows, and a small batch is done sooner without.
    """
    if not keys or any(contains_type(key.data_type, FloatType, DoubleType) for key in keys):
        return True
    rows = figures.get(RECEIVED, 0)
    return rows >= MANY and figures.get(GROUPS, rows) * SHRINK <= rows


def _exchanged(
    frame: DataFrame, partial: BaseAggregateExec, keys: Sequence[Column], batch: Batch
) -> DataFrame:
    """The rows with the grouping keys as columns, exchanged by these."""
    ids = {key.expr_id for key in partial.key_attributes}
    others = [column_name(a) for a in partial.child.output if a.expr_id not in ids]
    made = list(map(named, partial.keys))
    if not any(isinstance(key, WindowColumn) for key in keys):
        return batch.exchanged(frame.selectExpr(*made, *others), *(key.name for key in keys))
    sent: list[str] = []
    places: list[str] = []
    for key, sql in zip(keys, made, strict=True):
        if isinstance(key, WindowColumn):
            sent += key.parted(sql.rpartition(" AS ")[0] or sql)
            places += key.ends
        else:
            sent.append(sql)
            places.append(key.name)
    windows = (key.inward if isinstance(key, WindowColumn) else key.name for key in keys)
    return batch.exchanged(frame.selectExpr(*sent, *others), *places).selectExpr(*windows, *others)


def mode_of(node: StateStoreWriter) -> OutputMode:
    """Its output mode."""
    if node.output_mode is None:
        raise InternalError(f"{node.node_name} has no output mode")
    return node.output_mode


@inputs_of.register(BaseAggregateExec)
def _(node: BaseAggregateExec) -> tuple[SparkPlan, ...]:
    below = _below(node)
    return (below,) if _is_save(below) else (_first_step(node).child,)


@lower_operator.register(BaseAggregateExec)
def _(node: BaseAggregateExec, inputs: Frames, batch: Batch) -> DataFrame:
    """The last step: the functions' results, then the select list over them."""
    functions = functions_of(node)
    frame = inputs[0]
    names = [column_name(key) for key in node.key_attributes]
    if not _is_save(_below(node)):
        first = _first_step(node)
        rows = frame.selectExpr(*_with_keys(first))
        frame = grouped(rows, names, _at_once(functions, functions_of(first)))
    results = (_column(f) if f.aggregate.distinct else f.result for f in functions)
    return frame.selectExpr(*names, *results).selectExpr(*map(named, node.results))


def _column(function: Function) -> str:
    return f"c{function.aggregate.result_id}"


def _at_once(functions: Sequence[Function], first: Sequence[Function]) -> list[str]:
    """The SQL of what results are made of, over all rows; of distinct values the results."""
    found = []
    plain = iter([function for function in first if not function.aggregate.distinct])
    for function in functions:
        if function.aggregate.distinct:
            found.append(f"{sql_of(function.aggregate)} AS {_column(function)}")
        else:  # a FILTER stands at the first step alone
            found += replace(next(plain), position=function.position).at_once
    return found


def _below(node: BaseAggregateExec) -> SparkPlan:
    """What the last step reads, past the sort that a SortAggregate asks for."""
    return node.child.child if isinstance(node.child, SortExec) else node.child


def _is_save(node: SparkPlan) -> bool:
    return isinstance(node, StateStoreSaveExec | SessionWindowStateStoreSaveExec)


def _first_step(final: BaseAggregateExec) -> BaseAggregateExec:
    """The step of an aggregation without state that reads its rows.

    Keys alone are grouped once more at every step, and where rows lie in one place all steps are
    one. Over distinct values two steps come first that leave one row of each.
    """
    if all(aggregate.mode == "Complete" for aggregate in final.aggregates):
        return final
    step = _next_step(final)
    if step is None:
        raise InternalError(f"{final.node_name} stands over no partial aggregation")
    if not any(aggregate.distinct for aggregate in final.aggregates):
        return step
    if any(aggregate.distinct for aggregate in step.aggregates):
        step = _next_step(step) or step
    below = _next_step(step)
    same = below is not None and _ids(below) == _ids(step)
    return below if below is not None and same else step


def _next_step(node: BaseAggregateExec) -> BaseAggregateExec | None:
    below = node.child
    while isinstance(below, ShuffleExchangeExec | SortExec):
        below = below.child
    return below if isinstance(below, BaseAggregateExec) else None


def _ids(node: BaseAggregateExec) -> list[int]:
    return [key.expr_id for key in node.key_attributes]


def _with_keys(step: BaseAggregateExec) -> list[str]:
    """A step's input with its computed keys; one may take the name of the column it is made of."""
    made = [key for key in step.keys if not isinstance(key, AttributeReference)]
    ids = {key.expr_id for key in step.key_attributes} if made else set()
    kept = [a for a in step.child.output if a.expr_id not in ids]
    given = [key for key in step.keys if isinstance(key, AttributeReference)] if made else []
    return [*map(column_name, (*kept, *given)), *map(named, made)]
