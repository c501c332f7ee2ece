"""Lowering of joins with tables. Spark plans them anew: it knows the sizes of both sides."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from ...physical.exchange import BroadcastExchangeExec
from ...physical.joins import BaseJoinExec, BroadcastHashJoinExec, EquiJoinExec
from ...physical.plan import SparkPlan
from ...physical.scans import ColumnarToRowExec, FileSourceScanExec
from ...planner.model.errors import InternalError
from .batch import Batch
from .columns import column_name, sql_of
from .deferred import settled
from .operators import Frames, lower_operator

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CORRELATED = ("ExistenceJoin", "LeftSingle")
_MATCH = "match"
_HOW = {
    "Inner": "inner",
    "Cross": "cross",
    "LeftOuter": "left",
    "RightOuter": "right",
    "FullOuter": "full",
    "LeftSemi": "left_semi",
    "LeftAnti": "left_anti",
}


@lower_operator.register(FileSourceScanExec)
def _(node: FileSourceScanExec, inputs: Frames, batch: Batch) -> DataFrame:
    frame = batch.context.sources.get(node.name)
    if frame is None:
        raise InternalError(f"no rows were given for the table {node.name}")
    places = {name.lower(): i for i, name in enumerate(frame.columns)}
    renamed = frame.toDF(*(f"t{i}" for i in range(len(frame.columns))))
    read = (f"t{places[a.name.lower()]} AS {column_name(a)}" for a in node.attributes)
    return renamed.selectExpr(*read)


@lower_operator.register(BroadcastExchangeExec)
def _(node: BroadcastExchangeExec, inputs: Frames, batch: Batch) -> DataFrame:
    return inputs[0].hint("broadcast")


@lower_operator.register(ColumnarToRowExec)
def _(node: SparkPlan, inputs: Frames, batch: Batch) -> DataFrame:
    return inputs[0]


@lower_operator.register(BaseJoinExec)
def _(node: BaseJoinExec, inputs: Frames, batch: Batch) -> DataFrame:
    from pyspark.sql import functions as F

    left, right = inputs
    condition = _condition(node)
    if node.join_type in _CORRELATED:
        return _correlated(node, left, right, condition or "true")
    if condition is None:
        if node.join_type in ("Inner", "Cross"):
            return left.crossJoin(right)
        condition = "true"
    return left.join(right, F.expr(condition), _HOW[node.join_type])


def _correlated(node: BaseJoinExec, left: DataFrame, right: DataFrame, condition: str) -> DataFrame:
    """A join that DataFrames have no name for, as the subquery that it comes from.

    An `ExistenceJoin` marks the left rows that match. A `LeftSingle` join is a left outer one that
    fails where several rows match one.
    """
    matching = f"FROM {{right}} WHERE {_unformatted(condition)}"
    if node.mark is not None:
        asked = f"EXISTS(SELECT 1 {matching}) AS {column_name(node.mark)}"
        return _over(left, right, f"*, {asked}")
    names = [column_name(a) for a in node.right.output]
    fields = ", ".join(f"'{name}', {name}" for name in names)
    found = _over(left, right, f"*, (SELECT named_struct({fields}) {matching}) AS {_MATCH}")
    columns = (column_name(a) for a in node.left.output)
    return found.selectExpr(*columns, *(f"{_MATCH}.{name} AS {name}" for name in names))


def _over(left: DataFrame, right: DataFrame, columns: str) -> DataFrame:
    return left.sparkSession.sql(
        f"SELECT {columns} FROM {{left}}", left=settled(left), right=settled(right)
    )


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
    return reduce("{} AND {}".format, parts) if parts else None
