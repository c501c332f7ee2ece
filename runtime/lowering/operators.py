"""Lowering, operator by operator: `lower_operator` is open for new ones.

Columns are named by expression id. An exchange of the plan is not lowered for itself: each stateful
operator asks for its own, into as many partitions as there are tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import TYPE_CHECKING

from ...physical.basic import (
    AdaptiveSparkPlanExec,
    CollectLimitExec,
    EventTimeWatermarkExec,
    ExpandExec,
    FilterExec,
    GenerateExec,
    GlobalLimitExec,
    LocalLimitExec,
    LocalTableScanExec,
    ProjectExec,
    RDDScanExec,
    StreamingRelationExec,
    UnionExec,
)
from ...physical.exchange import SortExec, TakeOrderedAndProjectExec
from ...physical.plan import SparkPlan, StateStoreWriter
from ...physical.stateful import StreamingLocalLimitExec
from ...planner.model.errors import InternalError, RuntimeFailure
from ...planner.model.expressions import Call, Expression, SortOrder, to_attribute
from ...planner.model.spark_sql import type_sql
from ...planner.model.types import StructField, StructType
from ..frames import rows_frame
from .batch import Batch
from .columns import column_name, sql_of

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

Frames = Sequence["DataFrame"]


@singledispatch
def lower_operator(node: SparkPlan, inputs: Frames, batch: Batch) -> DataFrame:
    """The DataFrame of an operator over those of `inputs_of` it; columns named by id.

    Raises:
        RuntimeFailure: the operator cannot be run.
    """
    raise cannot_run(node)


def cannot_run(node: SparkPlan) -> RuntimeFailure:
    """The error for an operator that has no lowering."""
    return RuntimeFailure(
        "STATEPLAN_CANNOT_RUN",
        f"The operator {node.node_name} can be planned, but not run.",
        hint="Leave it out of the query.",
    )


@singledispatch
def inputs_of(node: SparkPlan) -> tuple[SparkPlan, ...]:
    """The operators whose DataFrames the lowering of a node takes: as a rule its children."""
    return node.children


def named(expression: Expression) -> str:
    """A named expression in SQL, under its column's name."""
    column = to_attribute(expression)
    if expression is column:
        return column_name(column)
    return f"{sql_of(expression.children[0])} AS {column_name(column)}"


# ------------------------------------------------------------------------------------------ leaves


@lower_operator.register(StreamingRelationExec)
def _(node: StreamingRelationExec, inputs: Frames, batch: Batch) -> DataFrame:
    frame = batch.context.sources.get(node.name)
    if frame is None:
        raise InternalError(f"no rows were given for the source {node.name}")
    return frame.toDF(*(column_name(a) for a in node.attributes))


@lower_operator.register(LocalTableScanExec)
def _(node: LocalTableScanExec, inputs: Frames, batch: Batch) -> DataFrame:
    names = [column_name(a) for a in node.attributes]
    if not node.rows:
        fields = (StructField(n, a.data_type) for n, a in zip(names, node.attributes, strict=True))
        return rows_frame(batch.context.spark, StructType(tuple(fields)), [])
    types = [type_sql(a.data_type) for a in node.attributes]
    rows = ", ".join(
        "(" + ", ".join(f"CAST({sql_of(v)} AS {t})" for v, t in zip(row, types, strict=True)) + ")"
        for row in node.rows
    )
    return batch.context.spark.sql(f"SELECT * FROM VALUES {rows} AS t({', '.join(names)})")


@lower_operator.register(RDDScanExec)
def _(node: RDDScanExec, inputs: Frames, batch: Batch) -> DataFrame:
    return batch.context.spark.range(1).select()


# ------------------------------------------------------------------------------------- row by row


@lower_operator.register(ProjectExec)
def _(node: ProjectExec, inputs: Frames, batch: Batch) -> DataFrame:
    return inputs[0].selectExpr(*map(named, node.project_list))


@lower_operator.register(FilterExec)
def _(node: FilterExec, inputs: Frames, batch: Batch) -> DataFrame:
    return inputs[0].where(sql_of(node.condition))


@lower_operator.register(ExpandExec)
def _(node: ExpandExec, inputs: Frames, batch: Batch) -> DataFrame:
    names = [column_name(a) for a in node.attributes]
    rows = ", ".join(
        "named_struct("
        + ", ".join(f"'{n}', {sql_of(e)}" for n, e in zip(names, projection, strict=True))
        + ")"
        for projection in node.projections
    )
    return inputs[0].selectExpr(f"inline(array({rows}))")


@lower_operator.register(GenerateExec)
def _(node: GenerateExec, inputs: Frames, batch: Batch) -> DataFrame:
    generator = node.generator
    sql = sql_of(generator)
    if node.outer and isinstance(generator, Call):
        name, rest = sql.split("(", 1)
        sql = f"{name}_outer({rest}"
    made = ", ".join(column_name(a) for a in node.generated)
    return inputs[0].selectExpr(*(column_name(a) for a in node.required), f"{sql} AS ({made})")


@lower_operator.register(EventTimeWatermarkExec)
def _(node: EventTimeWatermarkExec, inputs: Frames, batch: Batch) -> DataFrame:
    column = column_name(node.event_time)
    if isinstance(node.event_time.data_type, StructType):
        column = f"{column}.`end`"
    return batch.observe_event_time(inputs[0], column, node.node_id)


# --------------------------------------------------------------------------------- several, orders


@lower_operator.register(UnionExec)
def _(node: UnionExec, inputs: Frames, batch: Batch) -> DataFrame:
    names = [column_name(a) for a in node.attributes]
    frames = [
        frame.select(*(column_name(a) for a in plan.output)).toDF(*names)
        for frame, plan in zip(inputs, node.inputs, strict=True)
    ]
    result = frames[0]
    for frame, plan in zip(frames[1:], node.inputs[1:], strict=True):
        # In one stage with other inputs a stateful task could not tell which of them it is.
        apart = plan.collect(StateStoreWriter)
        result = result.union(frame.repartition(batch.context.tasks) if apart else frame)
    return result


@lower_operator.register(AdaptiveSparkPlanExec)
@lower_operator.register(StreamingLocalLimitExec)
def _(node: SparkPlan, inputs: Frames, batch: Batch) -> DataFrame:
    # A StreamingLocalLimit reads its input to the end, since state lies below; Spark's own limit
    # would stop early. The exchange that always follows it reads everything.
    return inputs[0]


@lower_operator.register(SortExec)
def _(node: SortExec, inputs: Frames, batch: Batch) -> DataFrame:
    order = [sort_column(o) for o in node.order]
    return inputs[0].orderBy(*order) if node.is_global else inputs[0].sortWithinPartitions(*order)


def sort_column(order: SortOrder) -> SparkColumn:
    """An order as PySpark's column."""
    from pyspark.sql import functions as F

    column = F.expr(sql_of(order.child))
    match order.ascending, order.nulls_first:
        case True, True:
            return column.asc_nulls_first()
        case True, False:
            return column.asc_nulls_last()
        case False, True:
            return column.desc_nulls_first()
        case _:
            return column.desc_nulls_last()


@lower_operator.register(LocalLimitExec)
@lower_operator.register(GlobalLimitExec)
def _(node: LocalLimitExec | GlobalLimitExec, inputs: Frames, batch: Batch) -> DataFrame:
    # A global limit of at most as many rows stands above every local one.
    return inputs[0].limit(node.limit)


@lower_operator.register(CollectLimitExec)
def _(node: CollectLimitExec, inputs: Frames, batch: Batch) -> DataFrame:
    # Through an exchange, so that state below is read and written to the end.
    return inputs[0].repartition(1).limit(node.limit)


@lower_operator.register(TakeOrderedAndProjectExec)
def _(node: TakeOrderedAndProjectExec, inputs: Frames, batch: Batch) -> DataFrame:
    ordered = inputs[0].orderBy(*(sort_column(o) for o in node.order)).limit(node.limit)
    return ordered.selectExpr(*map(named, node.project_list))
