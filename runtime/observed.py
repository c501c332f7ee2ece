"""Counting the rows that flow through a DataFrame while an action runs it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..physical.basic import EventTimeWatermarkExec, ProjectExec, StreamingRelationExec
from ..physical.plan import SparkPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PATIENCE = 2.0  # seconds: figures come through Spark's listener bus, shortly after the action


class RowCounter:
    """Counts a DataFrame's rows during the first action over `frame`.

    Spark may never report: its optimizer can prove that a branch gives no rows and drop it.
    """

    def __init__(self, frame: DataFrame) -> None:
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        self._observation = Observation()
        self.frame = frame.observe(self._observation, F.count(F.lit(1)).alias("rows"))

    def count(self, patience: float = PATIENCE) -> int | None:
        """The number of rows, after the action; None if Spark does not tell in so many seconds."""
        found: list[int] = []

        def ask() -> None:
            found.append(int(self._observation.get["rows"]))

        # The call blocks for ever where nothing was observed: leave it behind then.
        thread = threading.Thread(target=_quietly, args=(ask,), daemon=True)
        thread.start()
        thread.join(patience)
        return found[0] if found else None


def counted_by_watermarks(plan: SparkPlan) -> dict[str, str]:
    """The sources whose rows an EventTimeWatermark counts: per name that operator's `node_id`.

    Those that are read once, with nothing between them and it that drops or makes rows.
    """
    names = [relation.name for relation in plan.collect(StreamingRelationExec)]
    found = {}
    for watermark in plan.collect(EventTimeWatermarkExec):
        node = watermark.child
        while isinstance(node, ProjectExec):
            node = node.child
        if isinstance(node, StreamingRelationExec) and names.count(node.name) == 1:
            found[node.name] = watermark.node_id
    return found


def _quietly(function: Callable[[], None]) -> None:
    with contextlib.suppress(Exception):  # a session that ends while we wait
        function()
