"""Time and session windows, and OVER: expressions that analysis or the checks take apart."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Literal as Lit

from ..frozen import dataclass
from ..schemas.types import TIMESTAMP, WINDOW, DataType
from ..tree import replace
from .base import LikePart
from .core import Call, Expression, Literal
from .unresolved import Unresolved

Unit = Lit["ROWS", "RANGE"]
Bound = Lit["UNBOUNDED PRECEDING", "CURRENT ROW", "UNBOUNDED FOLLOWING", "DISTANCE"]


@dataclass(frozen=True, kw_only=True)
class WindowFrame:
    """`ROWS BETWEEN lower AND upper`; the window has the distances."""

    unit: Unit
    lower: Bound = "UNBOUNDED PRECEDING"
    upper: Bound = "CURRENT ROW"


@dataclass(frozen=True, kw_only=True)
class WindowExpression(LikePart):
    """`function OVER (PARTITION BY ... ORDER BY ...)`.

    `frame` is None for the function's own; `bounds` are the distances in it from the row, lower
    first: -3 for `3 PRECEDING`.
    """

    child_fields = ("function", "partition_by", "order_by", "bounds")
    like = "function"

    function: Expression
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[Expression, ...] = ()
    frame: WindowFrame | None = None
    bounds: tuple[Expression, ...] = ()


def frame_ends(
    frame: WindowFrame, distances: tuple[Expression, ...]
) -> Iterator[Bound | Expression]:
    """Lower and upper bound of a frame, a distance as its value."""
    values = iter(distances)
    for bound in (frame.lower, frame.upper):
        yield next(values) if bound == "DISTANCE" else bound


def opposite(distance: Expression) -> Expression:
    """As far from the row, on its other side."""
    if isinstance(distance, Literal) and isinstance(distance.value, int | float | Decimal):
        return replace(distance, value=-distance.value)
    return Call(name="negative", arguments=(distance,), options=("-",))


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
