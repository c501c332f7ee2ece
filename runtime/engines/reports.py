"""How a batch's driver learns what the tasks of an operator did.

A task's report comes with its rows, as one more row that Spark observes on their way. Where a JVM
is at hand and the rows have columns, an accumulator takes less: no column, filter and aggregates
over every row that comes out, and it is there when the action ends.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary, finalize

from ..kernels.reports import META, Collected, ReportSender
from .engine import Reports
from .probes import Probe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkReports(Reports, Protocol):
    """The reports of an operator's tasks in one batch, and how they get to the driver."""

    @property
    def send(self) -> Callable[[str], None] | None:
        """What a task gives its report to; None: the last row that it gives has it."""

    def over(self, frame: DataFrame) -> DataFrame:
        """The tasks' rows, without reports."""

    def close(self) -> None:
        """Take no more: the one action has ended whose tasks count."""


class ObservedReports:
    """Texts `task:report` in the column META, which is null in most rows.

    Args:
        tasks: how many there are.
    """

    send = None

    def __init__(self, tasks: int) -> None:
        self._probe = Probe(**_aggregates(META, tasks))

    def over(self, frame: DataFrame) -> DataFrame:
        return self._probe.over(frame).where(f"{META} IS NULL")

    def close(self) -> None:
        """Spark observes no more than the first action."""

    def texts(self, deadline: float) -> tuple[list[str], int] | None:
        values = self._probe.values(deadline)
        if values is None:
            return None
        if "texts" in values:
            texts = values["texts"]
        else:
            texts = [text for name, text in values.items() if name != "count" and text is not None]
        return [text.partition(":")[2] for text in texts], values.get("count", len(texts))


FEW = 16
"""Tasks up to which each has an aggregate of its own: `collect_list` looks at every output row, and
takes longer over it than all the rest of the way through the observation."""


def _aggregates(column: str, tasks: int) -> dict[str, str]:
    if tasks > FEW:
        return {"texts": f"collect_list({column})"}
    if tasks <= 2:  # the least and the greatest text
        texts = {"text0": f"min({column})", "text1": f"max({column})"}
        return {"count": f"count({column})", **texts}
    each = {
        f"text{i}": f"max(if(startswith({column}, '{i}:'), {column}, NULL))" for i in range(tasks)
    }
    return {"count": f"count({column})", **each}


_collected: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""The one accumulator of each SparkContext: PySpark never lets go of one."""


class AccumulatedReports:
    """Texts that an accumulator brings: those of all tasks that ran, whatever ran them.

    Args:
        context: a SparkContext.
    """

    def __init__(self, context: Any) -> None:
        if context not in _collected:
            _collected[context] = context.accumulator({}, Collected())
        self._accumulator = _collected[context]
        self._key = str(uuid.uuid4())
        self.send = ReportSender(self._accumulator, self._key)
        self._texts: list[str] | None = None
        # Tasks that ran again, for rows that were kept and lost, report when nobody waits any more.
        finalize(self, self._accumulator.value.pop, self._key, None)

    def over(self, frame: DataFrame) -> DataFrame:
        return frame

    def close(self) -> None:
        self._texts = self._accumulator.value.pop(self._key, [])

    def texts(self, deadline: float) -> tuple[list[str], int] | None:
        if self._texts is None:
            self.close()
        texts = self._texts or []
        return texts, len(texts)


def task_reports(spark: SparkSession, tasks: int, *, has_columns: bool) -> SparkReports:
    """The way that so many tasks' reports take.

    Args:
        spark: the session that runs them.
        tasks: how many there are.
        has_columns: whether their rows have columns: without, these get lost on their way.
    """
    # Spark Connect has no context; what it raises when asked for one is an AttributeError.
    context = getattr(spark, "sparkContext", None) if has_columns else None
    return ObservedReports(tasks) if context is None else AccumulatedReports(context)
