"""The queries around an expression: over each row, over groups, over no rows, over a window.

Used in both interpreters; imports neither engine.
"""

from __future__ import annotations

from typing import Any

GROUPS = 16


def frame_of(shape: str, rows: Any, named: list[str]) -> Any:
    """A DataFrame of `id` and the named expressions.

    Args:
        shape: `rows`; `groups` for aggregates; `group 3` for one of the groups; `nothing` for
            aggregates over no rows.
        rows: the DataFrame of the values.
        named: SQL expressions with a name each.
    """
    if shape == "rows":
        return rows.selectExpr("id", *named)
    if shape == "nothing":
        return _aggregated(rows.filter("id < 0").groupBy(), named).selectExpr("0L AS id", "*")
    number = shape.removeprefix("group").strip("s ")
    kept = rows.filter(f"id % {GROUPS} = {number}") if number else rows
    grouped = kept.withColumn("g", kept["id"] % GROUPS).groupBy("g")
    return _aggregated(grouped, named).withColumnRenamed("g", "id")


def _aggregated(grouped: Any, named: list[str]) -> Any:
    from pyspark.sql.functions import expr

    return grouped.agg(*map(expr, named))
