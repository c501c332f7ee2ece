"""What the kernels share that call a function of the user's for each key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..kernel import Input, Mask, at_or_below, event_times
from .frames import PandasSettings
from .functions import UserFunction


@dataclass(frozen=True, kw_only=True)
class UserStateKernel:
    """Calls the function with the rows of each key.

    Attributes:
        rows: the Arrow schema of the rows.
        keys: the columns that make the key.
        emits: the Arrow schema of what the function returns.
        function: the function.
        settings: how rows become pandas.
        now_ms: the time of the batch.
        watermark_ms: the watermark, None without one.
        time: the event-time column.
        late: up to which event time rows are dropped, in microseconds.
    """

    rows: Any
    keys: tuple[int, ...]
    emits: Any
    function: UserFunction
    settings: PandasSettings
    now_ms: int
    watermark_ms: int | None = None
    time: int | None = None
    late: int | None = None

    @property
    def in_event_time(self) -> bool:
        """Whether state goes by event time: rows can be late only then."""
        raise NotImplementedError(type(self).__name__)

    @property
    def key_schema(self) -> Any:
        """The Arrow schema of the keys."""
        return pa.schema([self.rows.field(i) for i in self.keys])

    @property
    def input(self) -> Any:
        return self.rows

    @property
    def users_function(self) -> UserFunction:
        return self.function

    @property
    def output(self) -> Any:
        return self.emits

    def without_late(self, rows: Input) -> tuple[Input, int]:
        """The rows that are not late, and the number of those that are."""
        if self.time is None or not self.in_event_time:
            return rows, 0
        late: Mask = at_or_below(event_times(rows.rows.column(self.time)), self.late)
        return (rows.take(np.flatnonzero(~late)), int(late.sum())) if late.any() else (rows, 0)
