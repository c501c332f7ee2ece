"""Queries in PySpark: functions of the streams, by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def totals(events: DataFrame) -> DataFrame:
    """The rows and the sum of each key so far, kept by a function of the user's."""

    def added(key: tuple[Any, ...], frames: Iterator[Any], state: Any) -> Iterator[Any]:
        import pandas as pd

        count, total = state.get if state.exists else (0, 0)
        for frame in frames:
            count += len(frame)
            total += int(frame["value"].sum())
        state.update((count, total))
        yield pd.DataFrame({"key": [key[0]], "n": [count], "total": [total]})

    columns = "n LONG, total LONG"
    return events.groupBy("key").applyInPandasWithState(
        added, f"key LONG, {columns}", columns, "update", "NoTimeout"
    )
