"""Rows on their way to their stores, and the watermarks that wait for them there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...physical.aggregate import BaseAggregateExec
from ...physical.basic import StreamingRelationExec
from ...physical.distribution import AllTuples, SinglePartition
from ...physical.exchange import ShuffleExchangeExec
from ...physical.partitions import CoalesceExec
from ...physical.plan import SparkPlan, StateStoreWriter
from ...physical.state import NO_WATERMARK
from ...planner.model.expressions import AttributeReference
from ...planner.model.types import (
    StructField,
    StructType,
)
from ...rules.preparation.state import refuse_several_event_times
from ..frames import rows_frame
from .batch import Batch
from .columns import column_name
from .operators import inputs_of, named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_ONE_EVENT_TIME = "spark.sql.streaming.statefulOperator.allowMultiple"


def micros(watermark_ms: int | None) -> int | None:
    """A watermark in microseconds; None before a query starts."""
    return None if watermark_ms is None or watermark_ms == NO_WATERMARK else watermark_ms * 1000


def event_time_position(keys: Sequence[AttributeReference]) -> int | None:
    """Which of some columns has a watermark: the first."""
    return next((i for i, key in enumerate(keys) if key.delay_ms is not None), None)


def check_event_times(below: SparkPlan, batch: Batch) -> None:
    """Check that one event time at most comes to a stateful operator, which goes by it.

    Spark, too, finds out where a batch runs.

    Raises:
        PlanningError: there are several (MULTIPLE_EVENT_TIME_COLUMNS).
    """
    if batch.context.conf.flag(_ONE_EVENT_TIME):
        refuse_several_event_times(below)


def keyed(frame: DataFrame, partial: BaseAggregateExec) -> DataFrame:
    """The rows with the grouping keys as columns that Spark knows nothing about.

    Where Spark knows that its rows are clustered by the keys already (a range, an earlier
    aggregate) it leaves out the exchange, and they lie elsewhere than their stores: so a key is
    hidden behind an expression, and a single partition behind a union with no rows.
    """
    keys = {key.expr_id: named(key) for key in partial.key_attributes}
    made = []
    for key in partial.keys:
        sql, _, name = named(key).rpartition(" AS ")
        made.append(f"if(spark_partition_id() >= 0, {sql or name}, NULL) AS {name}")
    others = [column_name(a) for a in partial.child.output if a.expr_id not in keys]
    if may_lie_in_one_partition(partial.child):
        columns = (StructField(column_name(a), a.data_type) for a in partial.child.output)
        frame = frame.union(rows_frame(frame.sparkSession, StructType(tuple(columns)), []))
    return frame.selectExpr(*made, *others)


def may_lie_in_one_partition(node: SparkPlan) -> bool:
    """Whether Spark may know that an operator's rows lie in one partition: a limit, a small range.

    It then leaves out every exchange. Files are read into partitions that it knows nothing about.
    """
    match node:
        case StreamingRelationExec(format=format):
            return not format.startswith("FileSource")
        case ShuffleExchangeExec(partitioning=SinglePartition()) | CoalesceExec(num_partitions=1):
            return True
        case StateStoreWriter():
            return any(isinstance(d, AllTuples) for d in node.required_child_distribution)
    below = inputs_of(node)
    return not below or any(map(may_lie_in_one_partition, below))


def grouped(frame: DataFrame, keys: Sequence[str], partials: Sequence[str]) -> DataFrame:
    """One row per key with the buffers over its rows; one row in all if there are no keys."""
    from pyspark.sql import functions as F

    if not partials:
        return frame.select(*keys).distinct()
    return frame.groupBy(*keys).agg(*map(F.expr, partials))
