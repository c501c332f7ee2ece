"""Operators that an engine runs as Spark does, one by one: `run_as_is` is open for new ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce, singledispatch
from typing import TYPE_CHECKING

from ...physical.basic import (
    CollectLimitExec,
    GenerateExec,
    GlobalLimitExec,
    LocalLimitExec,
    LocalTableScanExec,
    RDDScanExec,
    UnionExec,
)
from ...physical.distribution import HashPartitioning, RangePartitioning
from ...physical.exchange import (
    BroadcastExchangeExec,
    CoalesceExec,
    RangeExec,
    SampleExec,
    ShuffleExchangeExec,
    SortExec,
    TakeOrderedAndProjectExec,
)
from ...physical.joins import (
    BaseJoinExec,
    BroadcastHashJoinExec,
    BroadcastNestedLoopJoinExec,
    EquiJoinExec,
)
from ...physical.plan import SparkPlan
from ...planner.model.expressions.core import Call, SortOrder
from ...planner.model.plans.join_types import INNER_JOINS, SEMI_JOINS
from ...planner.model.schemas.types import StructField, StructType
from ...planner.model.text.spark_sql import type_sql
from ..arrow_types import column_name
from ..failures import cannot_run
from ..frames import rows_frame
from ..plan.nodes import AsIs
from .embedded_session import is_embedded
from .render import all_named, render, sql_of

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

    from .batch import Batch

Frames = Sequence["DataFrame"]
_OF_PARTS = (LocalLimitExec, GlobalLimitExec, CollectLimitExec, CoalesceExec)


@singledispatch
def run_as_is(node: SparkPlan, inputs: Frames, batch: Batch) -> DataFrame:
    """The DataFrame of an operator over those of its inputs; columns named by id.

    Raises:
        RuntimeFailure: the operator cannot be run.
    """
    raise cannot_run(node.node_name)


@render.register(AsIs)
def _(node: AsIs, batch: Batch) -> DataFrame:
    inputs = [render(below, batch) for below in node.inputs]
    if not (node.output and isinstance(node.operator, _OF_PARTS)):  # rows of this process have them
        inputs = [batch.engine.dataframe(rows) for rows in inputs]
        # A column may stand for none: the operator's own columns would stand behind it.
        inputs = [
            rows if below.output else rows.select()
            for rows, below in zip(inputs, node.inputs, strict=True)
        ]
    if node.in_order:
        return _in_order(node.operator, inputs, batch)
    frame = run_as_is(node.operator, inputs, batch)
    return frame if node.output else batch.engine.without_columns(frame)


# ------------------------------------------------------------------------------------------ leaves


@run_as_is.register(LocalTableScanExec)
def _(node: LocalTableScanExec, inputs: Frames, batch: Batch) -> DataFrame:
    # A column may stand there twice: what reads it knows it by its id.
    places = list({a.expr_id: i for i, a in enumerate(node.attributes)}.values())
    attributes = [node.attributes[i] for i in places]
    names = [column_name(a) for a in attributes]
    if not names:
        return batch.engine.spark.range(len(node.rows)).select()
    if not node.rows:
        fields = (StructField(n, a.data_type) for n, a in zip(names, attributes, strict=True))
        return rows_frame(batch.engine.spark, StructType(tuple(fields)), [])
    types = [type_sql(a.data_type) for a in attributes]
    values = ([row[i] for i in places] for row in node.rows)
    rows = ", ".join(
        "(" + ", ".join(f"CAST({sql_of(v)} AS {t})" for v, t in zip(row, types, strict=True)) + ")"
        for row in values
    )
    return batch.engine.spark.sql(f"SELECT * FROM VALUES {rows} AS t({', '.join(names)})")


@run_as_is.register(RDDScanExec)
def _(node: RDDScanExec, inputs: Frames, batch: Batch) -> DataFrame:
    return batch.engine.spark.range(1).select()


@run_as_is.register(RangeExec)
def _(node: RangeExec, inputs: Frames, batch: Batch) -> DataFrame:
    numbers = batch.engine.spark.range(node.start, node.end, node.step, node.slices)
    return numbers.selectExpr(*(f"id AS {column_name(a)}" for a in node.attributes))


# ------------------------------------------------------------------------------------- row by row


@run_as_is.register(GenerateExec)
def _(node: GenerateExec, inputs: Frames, batch: Batch) -> DataFrame:
    generator = node.generator
    sql = sql_of(generator)
    if node.outer and isinstance(generator, Call):
        name, rest = sql.split("(", 1)
        sql = f"{name}_outer({rest}"
    made = ", ".join(column_name(a) for a in node.generated)
    return inputs[0].selectExpr(*(column_name(a) for a in node.required), f"{sql} AS ({made})")


# --------------------------------------------------------------------------------- several, orders


@run_as_is.register(UnionExec)
def _(node: UnionExec, inputs: Frames, batch: Batch) -> DataFrame:
    names = [column_name(a) for a in node.attributes]
    frames = [
        frame.selectExpr(
            *(f"{column_name(a)} AS {n}" for a, n in zip(plan.output, names, strict=True))
        )
        for frame, plan in zip(inputs, node.inputs, strict=True)
    ]
    return reduce(lambda one, other: one.union(other), frames)


@run_as_is.register(SortExec)
def _(node: SortExec, inputs: Frames, batch: Batch) -> DataFrame:
    order = [sort_column(o) for o in node.order]
    if node.is_global:
        return batch.engine.ordered(inputs[0], order, node.output)
    return inputs[0].sortWithinPartitions(*order)


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


@run_as_is.register(LocalLimitExec)
@run_as_is.register(GlobalLimitExec)
@run_as_is.register(CollectLimitExec)
def _(
    node: LocalLimitExec | GlobalLimitExec | CollectLimitExec, inputs: Frames, batch: Batch
) -> DataFrame:
    # A global limit of at most as many rows stands above every local one.
    return inputs[0].limit(node.limit)


@run_as_is.register(TakeOrderedAndProjectExec)
def _(node: TakeOrderedAndProjectExec, inputs: Frames, batch: Batch) -> DataFrame:
    ordered = inputs[0].orderBy(*(sort_column(o) for o in node.order)).limit(node.limit)
    return ordered.selectExpr(*all_named(node.project_list))


# ------------------------------------------------------------------------------------- partitions


@run_as_is.register(ShuffleExchangeExec)
def _(node: ShuffleExchangeExec, inputs: Frames, batch: Batch) -> DataFrame:
    from pyspark.sql import functions as F

    number = node.partitioning.num_partitions
    match node.partitioning:
        case HashPartitioning(keys=keys):
            return inputs[0].repartition(number, *(F.expr(sql_of(key)) for key in keys))
        case RangePartitioning(order=order):
            return inputs[0].repartitionByRange(number, *map(sort_column, order))
        case _:
            return inputs[0].repartition(number)


@run_as_is.register(CoalesceExec)
def _(node: CoalesceExec, inputs: Frames, batch: Batch) -> DataFrame:
    return inputs[0].coalesce(node.num_partitions)


@run_as_is.register(SampleExec)
def _(node: SampleExec, inputs: Frames, batch: Batch) -> DataFrame:
    return inputs[0].sample(node.with_replacement, node.upper - node.lower, node.seed)


# ------------------------------------------------------------------- joins: planned by the engine


_CORRELATED = ("ExistenceJoin", "LeftSingle")
_MATCH = "match"


@run_as_is.register(BroadcastExchangeExec)
def _(node: BroadcastExchangeExec, inputs: Frames, batch: Batch) -> DataFrame:
    return inputs[0].hint("broadcast")


@run_as_is.register(BaseJoinExec)
def _(node: BaseJoinExec, inputs: Frames, batch: Batch) -> DataFrame:
    from pyspark.sql import functions as F

    left, right = inputs
    condition = _condition(node)
    if node.join_type in _CORRELATED:
        return _correlated(node, left, right, condition or "true")
    if condition is None:
        if node.join_type in INNER_JOINS:
            return left.crossJoin(right)
        condition = "true"
    return left.join(right, F.expr(condition), node.join_type)


def _in_order(node: SparkPlan, inputs: Frames, batch: Batch) -> DataFrame:
    """A broadcast join's rows as Spark gives them: in the order of the side that it reads.

    Of the rows that match one, the last is the first: so Spark's hash tables chain them.
    """
    assert isinstance(node, BroadcastHashJoinExec | BroadcastNestedLoopJoinExec)
    numbers = ("left_number", "right_number")
    numbered = [
        frame.selectExpr("*", f"monotonically_increasing_id() AS {number}")
        for frame, number in zip(inputs, numbers, strict=True)
    ]
    rows = run_as_is(node, numbered, batch)
    read, built = numbers if node.streamed is node.left else numbers[::-1]
    order = [rows[read].asc()]
    if node.join_type not in SEMI_JOINS:
        hashed = isinstance(node, BroadcastHashJoinExec)
        order.append(rows[built].desc() if hashed else rows[built].asc())
    return batch.engine.ordered(rows, order, node.output)


def _correlated(node: BaseJoinExec, left: DataFrame, right: DataFrame, condition: str) -> DataFrame:
    """A join that DataFrames have no name for, as the subquery that it comes from.

    An `ExistenceJoin` marks the left rows that match. A `LeftSingle` join is a left outer one that
    fails where several rows match one.
    """
    names = [column_name(a) for a in node.right.output]
    fields = ", ".join(f"'{name}', {name}" for name in names)
    whole = f"named_struct({fields})"
    if _loses_observations(left):
        # SQL over DataFrames: the figures that these observe never come back to the client.
        matching = right.where(condition)
        if node.mark is not None:
            return left.select("*", matching.exists().alias(column_name(node.mark)))
        found = left.select("*", matching.selectExpr(whole).scalar().alias(_MATCH))
    else:
        rows = f"FROM {{right}} WHERE {_unformatted(condition)}"
        if node.mark is not None:
            return _over(left, right, f"*, EXISTS(SELECT 1 {rows}) AS {column_name(node.mark)}")
        found = _over(left, right, f"*, (SELECT {whole} {rows}) AS {_MATCH}")
    columns = (column_name(a) for a in node.left.output)
    return found.selectExpr(*columns, *(f"{_MATCH}.{name} AS {name}" for name in names))


def _loses_observations(frame: DataFrame) -> bool:
    """Whether a session is Spark Connect's own: the embedded engine observes nothing."""
    module = type(frame).__module__
    return module.startswith("pyspark.sql.connect") and not is_embedded(frame.sparkSession)


def _over(left: DataFrame, right: DataFrame, columns: str) -> DataFrame:
    return left.sparkSession.sql(f"SELECT {columns} FROM {{left}}", left=left, right=right)


def _unformatted(sql: str) -> str:
    """SQL in which braces stand for themselves, where DataFrames stand in braces."""
    return sql.replace("{", "{{").replace("}", "}}")


def _condition(node: BaseJoinExec) -> str | None:
    """What rows that match fulfil, in SQL; None: nothing."""
    parts = []
    if isinstance(node, EquiJoinExec):
        for one, other in zip(node.left_keys, node.right_keys, strict=True):
            equal = f"({sql_of(one)} = {sql_of(other)})"
            if isinstance(node, BroadcastHashJoinExec) and node.null_aware:
                equal = f"({equal} OR {equal} IS NULL)"
            parts.append(equal)
    if node.condition is not None:
        parts.append(f"({sql_of(node.condition)})")
    return " AND ".join(parts) if parts else None
