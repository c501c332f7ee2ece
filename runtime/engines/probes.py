"""What travels to the driver with a job's own result: Spark's observed metrics."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ...planner.model.text.spark_sql import quote
from .context import EventTimeStats

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

PATIENCE = 5.0
"""Seconds: figures come over Spark's listener bus, shortly after the action has ended."""


class Probe:
    """Observes aggregates over the rows that flow through a DataFrame in its first action."""

    def __init__(self, **aggregates: str) -> None:
        from pyspark.sql import Observation

        self._aggregates = aggregates
        self._observation: Observation = Observation()

    def over(self, frame: DataFrame) -> DataFrame:
        """The DataFrame, observed."""
        from pyspark.sql import functions as F

        columns = [F.expr(f"{sql} AS {quote(name)}") for name, sql in self._aggregates.items()]
        return frame.observe(self._observation, *columns)

    def values(self, deadline: float) -> dict[str, Any] | None:
        """The aggregates' values; None if there is none by the deadline (`time.monotonic`).

        Spark reports nothing if no action ran, or if its optimizer dropped the branch.
        """
        handle: Any = getattr(self._observation, "_jo", None)
        if handle is not None:
            # A classic session's `get` would wait for ever.
            future = handle.future()
            while not future.isCompleted():
                if time.monotonic() > deadline:
                    return None
                time.sleep(0.002)
        try:
            return dict(self._observation.get)
        except AssertionError:  # Spark Connect's: nothing was observed
            return None


class EventTimeProbe:
    """Observes event times in milliseconds. Spark reads a null one as the beginning of 1970.

    Args:
        column: the column in SQL.
    """

    def __init__(self, column: str) -> None:
        time_ms = f"coalesce(unix_millis({column}), 0L)"
        self._probe = Probe(
            max_ms=f"max({time_ms})",
            min_ms=f"min({time_ms})",
            avg_ms=f"avg({time_ms})",
            count="count(1)",
        )

    def over(self, frame: DataFrame) -> DataFrame:
        """The DataFrame, observed."""
        return self._probe.over(frame)

    def stats(self, deadline: float) -> EventTimeStats | None:
        """The figures; None if there are none by the deadline, or there were no rows."""
        values = self._probe.values(deadline)
        return EventTimeStats(**values) if values and values["count"] else None
