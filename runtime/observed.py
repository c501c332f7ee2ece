"""Counting the rows that flow through a DataFrame while an action runs it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

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


def _quietly(function: Callable[[], None]) -> None:
    with contextlib.suppress(Exception):  # a session that ends while we wait
        function()
