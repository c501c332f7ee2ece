"""Windows' frames: the types of distances, and what Spark does not take."""

from __future__ import annotations

import re

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import Call, Expression, Origin, SortOrder
from ....planner.model.expressions.evaluation import evaluate
from ....planner.model.expressions.windows import WindowExpression, WindowFrame, frame_ends
from ....planner.model.functions.coercion import cast_unless_same
from ....planner.model.schemas.casts import can_cast
from ....planner.model.schemas.types import (
    AnsiIntervalType,
    CalendarIntervalType,
    DataType,
    DatetimeType,
    DateType,
    DayTimeIntervalType,
    IntegerType,
    NumericType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)
from ....planner.model.settings.conf import Conf
from ....planner.model.text.quoting import in_quotes, to_sql_expr, to_sql_type
from ....planner.model.text.text import frame_in_sql, plan_text, pretty
from ....planner.model.tree import replace
from ..failures import mismatch

_OVER = re.compile(r"\bOVER\s*(?=\()", re.IGNORECASE)


def with_typed_bounds(window: WindowExpression, conf: Conf) -> WindowExpression:
    """Distances of a RANGE frame take the type of the key; from times they are intervals or days.

    Spark's WindowFrameCoercion.
    """
    keys = window.order_by
    if window.frame is None or window.frame.unit == "ROWS" or len(keys) != 1:
        return window
    wanted = keys[0].data_type
    if isinstance(wanted, DatetimeType):
        return window
    mode = "ANSI" if conf.ansi else "LEGACY"
    bounds = tuple(
        cast_unless_same(bound, wanted, conf) if can_cast(bound.data_type, wanted, mode) else bound
        for bound in window.bounds
    )
    return window if bounds == window.bounds else replace(window, bounds=bounds)


def check_frame(window: WindowExpression) -> AnalysisError | None:
    """What Spark says against a window's frame, if it says anything."""
    frame = window.frame
    if frame is None:
        return None
    origin = _specification(window)
    error = _bounds(window, frame, origin)
    return error or (_order(window, frame, origin) if frame.unit == "RANGE" else None)


def _specification(window: WindowExpression) -> Origin | None:
    """Where the bracket behind OVER stands."""
    at = window.function.origin
    over = None if at is None else _OVER.search(at.source, at.start)
    if at is None or over is None:
        return at
    start = over.end()
    line = at.source.count("\n", 0, start) + 1
    position = start - (at.source.rfind("\n", 0, start) + 1)
    return Origin(line=line, position=position, start=start, stop=at.stop, source=at.source)


_UNITS = {
    "ROWS": '"INT"',
    "RANGE": '("NUMERIC" or "INTERVAL DAY TO SECOND" or "INTERVAL YEAR TO MONTH" or "INTERVAL")',
}


def _bounds(
    window: WindowExpression, frame: WindowFrame, origin: Origin | None
) -> AnalysisError | None:
    def refused(case: str, **parameters: str) -> AnalysisError:
        return mismatch(case, frame_in_sql(window, pretty), origin, **parameters)

    ends = tuple(frame_ends(frame, window.bounds))
    for location, end in zip(("lower", "upper"), ends, strict=True):
        if isinstance(end, Expression) and not _is_taken(frame, end.data_type):
            kinds = {"exprType": to_sql_type(end.data_type), "expectedType": _UNITS[frame.unit]}
            return refused("SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE", location=location, **kinds)
    if frame.lower == "UNBOUNDED FOLLOWING" or frame.upper == "UNBOUNDED PRECEDING":
        low, high = (end if isinstance(end, str) else pretty(end) for end in ends)
        return refused(
            "SPECIFIED_WINDOW_FRAME_INVALID_BOUND", upper=in_quotes(high), lower=in_quotes(low)
        )
    if len(window.bounds) < 2:
        return None
    lower, upper = window.bounds
    if lower.data_type != upper.data_type:
        return refused(
            "SPECIFIED_WINDOW_FRAME_DIFF_TYPES",
            lower=to_sql_expr(lower),
            upper=to_sql_expr(upper),
            lowerType=to_sql_type(lower.data_type),
            upperType=to_sql_type(upper.data_type),
        )
    greater = evaluate(Call(name=">", arguments=(lower, upper)))
    if greater is not None and greater.value is True:
        return refused("SPECIFIED_WINDOW_FRAME_WRONG_COMPARISON", comparison="less than or equal")
    return None


def _is_taken(frame: WindowFrame, kind: DataType) -> bool:
    if frame.unit == "ROWS":
        return isinstance(kind, IntegerType)
    return isinstance(kind, NumericType | AnsiIntervalType | CalendarIntervalType)


def _order(
    window: WindowExpression, frame: WindowFrame, origin: Origin | None
) -> AnalysisError | None:
    if (frame.lower, frame.upper) == ("UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING"):
        return None
    text = pretty(window).split(" OVER ", 1)[1]
    keys = [o for o in window.order_by if isinstance(o, SortOrder)]
    if not keys:
        return mismatch("RANGE_FRAME_WITHOUT_ORDER", text, origin)
    if not window.bounds:
        return None
    if len(keys) > 1:
        return mismatch(
            "RANGE_FRAME_MULTI_ORDER", text, origin, orderSpec=",".join(map(plan_text, keys))
        )
    key, kind = keys[0].child.data_type, window.bounds[0].data_type
    if _fits(key, kind):
        return None
    return mismatch(
        "RANGE_FRAME_INVALID_TYPE",
        text,
        origin,
        orderSpecType=to_sql_type(key),
        valueBoundaryType=to_sql_type(kind),
    )


def _fits(key: DataType, kind: DataType) -> bool:
    match key, kind:
        case DateType(), IntegerType() | YearMonthIntervalType():
            return True
        case DateType(), DayTimeIntervalType():
            return kind.sql == "INTERVAL DAY"
        case TimestampType() | TimestampNTZType(), AnsiIntervalType() | CalendarIntervalType():
            return True
    return key == kind
