"""Lowering of streaming aggregation and session windows.

The progression partial - exchange - merge - restore - merge - save becomes one exchange and one
kernel: `groupBy(keys).agg(partials)` is Spark's own partial aggregate, exchange and merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...physical.aggregate import BaseAggregateExec, MergingSessionsExec
from ...physical.plan import SparkPlan, StateStoreWriter
from ...physical.state import NO_WATERMARK, OutputMode
from ...physical.stateful import (
    SessionWindowStateStoreRestoreExec,
    SessionWindowStateStoreSaveExec,
    StateStoreRestoreExec,
    StateStoreSaveExec,
)
from ...planner.model.errors import InternalError, RuntimeFailure
from ...planner.model.expressions import AggregateExpression, AttributeReference
from ...planner.model.registry import AggregateForms
from ...planner.model.types import ArrayType, DataType, DoubleType, FloatType, StructType
from ..kernels.aggregate import AggregateKernel
from ..kernels.buffers import Buffers, MergeStep, OutputColumn
from ..kernels.session import SessionKernel
from .batch import Batch
from .columns import Column, arrow_schema, column_name, sql_of
from .operators import Frames, inputs_of, lower_operator, named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Function:
    """One aggregate function of an aggregation, at a position among its functions."""

    position: int
    aggregate: AggregateExpression
    forms: AggregateForms

    @property
    def buffers(self) -> list[Column]:
        """The columns of its buffers."""
        return [
            Column(f"b{self.position}_{i}", buffer.data_type)
            for i, buffer in enumerate(self.forms.buffers)
        ]

    @property
    def emitted(self) -> list[Column]:
        """The columns that the kernel gives for it."""
        if self.forms.finish is None:
            return self.buffers
        return [Column(f"b{self.position}_0", self.aggregate.function.data_type)]

    @property
    def partials(self) -> list[str]:
        """The SQL of its buffers over rows."""
        call, condition = self.aggregate.function, self.aggregate.filter
        arguments = [sql_of(argument) for argument in call.arguments]
        where = None if condition is None else sql_of(condition)
        texts = self.forms.partial_sql(arguments, where)
        return [f"{sql} AS {c.name}" for sql, c in zip(texts, self.buffers, strict=True)]

    @property
    def result(self) -> str:
        """The SQL of its result over what the kernel gives, named as the plan names it."""
        sql = self.forms.final_sql([column.name for column in self.emitted])
        return f"{sql} AS c{self.aggregate.result_id}"


def functions_of(step: BaseAggregateExec) -> list[Function]:
    """The functions of an aggregation.

    Raises:
        RuntimeFailure: one cannot be computed in steps here.
    """
    found = []
    for i, aggregate in enumerate(step.aggregates):
        call = aggregate.function
        forms = call.spec.forms(call) if call.spec.forms is not None else None
        if forms is None or not forms.mergeable:
            raise RuntimeFailure(
                "STATEPLAN_UNMERGEABLE_AGGREGATE",
                f"The aggregate function `{call.name}` can be planned, but not run: it cannot be "
                "merged batch by batch here.",
                hint="Leave it out, or use another function, such as approx_count_distinct, min, "
                "max or collect_list.",
            )
        found.append(Function(i, aggregate, forms))
    return found


def buffers_of(functions: Sequence[Function]) -> Buffers:
    """How the buffer columns of all functions merge."""
    merges: list[MergeStep] = []
    outputs: list[OutputColumn] = []
    start = 0
    for function in functions:
        forms = function.forms
        for merge in forms.merges:
            columns = tuple(start + position for position in merge.buffers)
            merges.append(MergeStep(merge.operation, columns))
        own = tuple(range(start, start + len(forms.buffers)))
        if forms.finish is None:
            outputs.extend(OutputColumn((i,)) for i in own)
        else:
            outputs.append(OutputColumn(own, forms.finish))
        start += len(own)
    return Buffers(
        arrow_schema([c for f in functions for c in f.buffers]),
        tuple(merges),
        tuple(outputs),
        arrow_schema([c for f in functions for c in f.emitted]),
    )


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


def micros(watermark_ms: int | None) -> int | None:
    """A watermark in microseconds; None before a query starts."""
    return None if watermark_ms is None or watermark_ms == NO_WATERMARK else watermark_ms * 1000


def event_time_position(keys: Sequence[AttributeReference]) -> int | None:
    """Which of some columns has a watermark: the first."""
    return next((i for i, key in enumerate(keys) if key.delay_ms is not None), None)


def keyed(frame: DataFrame, partial: BaseAggregateExec) -> DataFrame:
    """The rows with the grouping keys as columns that Spark knows nothing about.

    Where Spark knows that its rows are clustered by the keys already (a range, an earlier
    aggregate) it leaves out the exchange, and they lie elsewhere than their stores.
    """
    keys = {key.expr_id: named(key) for key in partial.key_attributes}
    made = []
    for key in partial.keys:
        sql, _, name = named(key).rpartition(" AS ")
        made.append(f"if(spark_partition_id() >= 0, {sql or name}, NULL) AS {name}")
    others = [column_name(a) for a in partial.child.output if a.expr_id not in keys]
    return frame.selectExpr(*made, *others)


def grouped(frame: DataFrame, keys: Sequence[str], partials: Sequence[str]) -> DataFrame:
    """One row per key with the buffers over its rows; one row in all if there are no keys."""
    from pyspark.sql import functions as F

    if not partials:
        return frame.select(*keys).distinct()
    return frame.groupBy(*keys).agg(*map(F.expr, partials))


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
    if any(has_floats(key.data_type) for key in keys):
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


def has_floats(data_type: DataType) -> bool:
    """Whether a type is or contains a float or double."""
    match data_type:
        case FloatType() | DoubleType():
            return True
        case StructType(fields=fields):
            return any(has_floats(f.data_type) for f in fields)
        case ArrayType(element_type=element):
            return has_floats(element)
        case _:
            return False


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
        partials = [sql for f in functions_of(partial) for sql in f.partials]
        frame = grouped(frame.selectExpr("*", *_computed(partial)), names, partials)
    return frame.selectExpr(*names, *(f.result for f in functions)).selectExpr(
        *map(named, node.results)
    )


def _below(node: BaseAggregateExec) -> SparkPlan:
    """What the last step reads, past the sort that a SortAggregate asks for."""
    from ...physical.exchange import SortExec

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
