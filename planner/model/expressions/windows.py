"""Time and session windows, and OVER: expressions that analysis or the checks take apart."""

from __future__ import annotations

from ..frozen import dataclass
from ..schemas.types import TIMESTAMP, WINDOW, DataType
from .base import LikePart
from .core import Expression
from .unresolved import Unresolved


@dataclass(frozen=True, kw_only=True)
class WindowExpression(LikePart):
    """`function OVER (PARTITION BY ... ORDER BY ...)`.

    `frame` is as SQL says it in full (`ROWS BETWEEN 3 PRECEDING AND CURRENT ROW`), or empty for
    the function's own; `bounds` are the values in it, as distances from the row (-3).
    """

    child_fields = ("function", "partition_by", "order_by", "bounds")
    like = "function"

    function: Expression
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[Expression, ...] = ()
    frame: str = ""
    bounds: tuple[Expression, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TimeWindow(Unresolved):
    """`window(time, size, slide, start)`, all durations in microseconds; analysis expands it."""

    child_fields = ("time",)
    data_type = WINDOW

    time: Expression
    size: int
    slide: int
    start: int = 0


@dataclass(frozen=True, kw_only=True)
class SessionWindow(Unresolved):
    """`session_window(time, gap)`; the gap is an interval or a string read as one."""

    child_fields = ("time", "gap")
    data_type = WINDOW

    time: Expression
    gap: Expression


@dataclass(frozen=True, kw_only=True)
class WindowTime(Unresolved):
    """`window_time(window)`: the event time of an aggregated window; analysis expands it."""

    child_fields = ("window",)
    data_type = TIMESTAMP

    window: Expression


@dataclass(frozen=True, kw_only=True)
class PreciseTimestampConversion(Expression):
    """A timestamp as its microseconds or back, as time windows compute them."""

    child_fields = ("child",)

    child: Expression
    from_type: DataType
    to_type: DataType

    @property
    def data_type(self) -> DataType:
        return self.to_type

    @property
    def nullable(self) -> bool:
        return self.child.nullable
