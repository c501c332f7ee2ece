"""Statistics of columns that Sail computes otherwise, or not.

`crosstab` has other columns, `approxQuantile` is not there, and `describe` and `summary` lose their
rows where a query uses none of the columns that they describe.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.connect import proto

from ...planner.connect.places import Message
from ..protocol import parts
from .messages import relation_of, replace_relation
from .reading import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MOST_ACCURATE = 2**31 - 1


def put_statistics(spark: SparkSession, message: Any) -> None:
    """Put queries in the places of the statistics in a message, as Spark defines them.

    Args:
        spark: the client's session on the engine.
        message: a relation, or a part of one.
    """
    for part in parts(message):
        put_statistics(spark, part)
    kind = message.WhichOneof("rel_type") if isinstance(message, proto.Relation) else None
    if kind in _DESCRIBING:
        replace_relation(message, relation_of(_in_all_columns(frame_of(spark, message))))
    elif kind in _QUERIES:
        asked = getattr(message, kind)
        below = proto.Relation()
        below.CopyFrom(asked.input)
        asked.input.CopyFrom(proto.Relation(range=proto.Range(end=0, step=1)))
        query = relation_of(_QUERIES[kind](spark, asked))
        lowest = query
        while not lowest.HasField("range"):
            lowest = getattr(lowest, lowest.WhichOneof("rel_type")).input
        lowest.CopyFrom(below)  # whose ids expressions of the client's name
        replace_relation(message, query)


def _crosstab(spark: SparkSession, asked: Message) -> Any:
    """How often two values stand in one row: a row for each of one column, a column for the other.

    As in StatFunctions.crossTabulate.
    """
    from pyspark.sql import functions as f

    def shown(name: str) -> Any:
        return f.when(f.col(name).isNull(), "null").otherwise(f.col(name).cast("string"))

    row = f"{asked.col1}_{asked.col2}"
    pairs = frame_of(spark, asked.input).select(
        shown(asked.col1).alias(row), f.replace(shown(asked.col2), f.lit("`"), f.lit("")).alias("v")
    )
    return pairs.groupBy(row).pivot("v").count().na.fill(0)


def _approx_quantile(spark: SparkSession, asked: Message) -> Any:
    """One row with a list of the columns' quantiles; nulls and NaN do not count."""
    from pyspark.sql import functions as f

    error = asked.relative_error
    accuracy = _MOST_ACCURATE if error == 0 else min(_MOST_ACCURATE, max(1, round(1 / error)))
    shares = f.array(*map(f.lit, asked.probabilities))

    def quantiles(name: str) -> Any:
        number = f.col(name).cast("double")
        return f.percentile_approx(f.when(~f.isnan(number), number), shares, f.lit(accuracy))

    return frame_of(spark, asked.input).select(f.array(*map(quantiles, asked.cols)))


def _in_all_columns(frame: DataFrame) -> DataFrame:
    """The same rows, of which all columns are computed whatever is used of them."""

    def as_they_are(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches

    return frame.mapInArrow(as_they_are, frame.schema)


_DESCRIBING = ("describe", "summary")
_QUERIES = {"crosstab": _crosstab, "approx_quantile": _approx_quantile}
