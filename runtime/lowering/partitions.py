"""Lowering of what says where rows shall lie, of ranges and of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...physical.distribution import HashPartitioning, RangePartitioning
from ...physical.exchange import ShuffleExchangeExec
from ...physical.partitions import CoalesceExec, RangeExec, SampleExec
from ...physical.plan import SparkPlan, StateStoreWriter
from .batch import Batch
from .columns import column_name, sql_of
from .operators import Frames, lower_operator, sort_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ASKED_FOR = ("REPARTITION_BY_NUM", "REPARTITION_BY_COL")


@lower_operator.register(ShuffleExchangeExec)
def _(node: ShuffleExchangeExec, inputs: Frames, batch: Batch) -> DataFrame:
    """One that the user asked for; any other operator makes its own, for as many tasks as run."""
    from pyspark.sql import functions as F

    if node.origin not in _ASKED_FOR:
        return inputs[0]
    number = node.partitioning.num_partitions
    match node.partitioning:
        case HashPartitioning(keys=keys):
            return inputs[0].repartition(number, *(F.expr(sql_of(key)) for key in keys))
        case RangePartitioning(order=order):
            return inputs[0].repartitionByRange(number, *map(sort_column, order))
        case _:
            return inputs[0].repartition(number)


@lower_operator.register(CoalesceExec)
def _(node: CoalesceExec, inputs: Frames, batch: Batch) -> DataFrame:
    return inputs[0].coalesce(node.num_partitions)


@lower_operator.register(SampleExec)
def _(node: SampleExec, inputs: Frames, batch: Batch) -> DataFrame:
    return inputs[0].sample(node.with_replacement, node.upper - node.lower, node.seed)


@lower_operator.register(RangeExec)
def _(node: RangeExec, inputs: Frames, batch: Batch) -> DataFrame:
    numbers = batch.context.spark.range(node.start, node.end, node.step, node.slices)
    return numbers.selectExpr(*(f"id AS {column_name(a)}" for a in node.attributes))


def sampled_operators(plan: SparkPlan) -> set[int]:
    """The ids of the stateful operators that Spark runs twice in a batch.

    Before it deals rows out by their order it samples them, which runs everything below up to the
    exchange before; in a batch's figures such operators count twice. Ours run once.
    """
    found: set[int] = set()
    for node in plan.walk():
        match node:
            case ShuffleExchangeExec(partitioning=RangePartitioning(num_partitions=number)):
                if number > 1:
                    found |= _ids_before_exchange(node.child)
    return found


def _ids_before_exchange(node: SparkPlan) -> set[int]:
    if isinstance(node, ShuffleExchangeExec):
        return set()
    found = set[int]().union(*map(_ids_before_exchange, node.children))
    if isinstance(node, StateStoreWriter) and node.state_info is not None:
        found.add(node.state_info.operator_id)
    return found
