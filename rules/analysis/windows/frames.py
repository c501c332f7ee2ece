"""Frames of windows that Spark does not take: `RANGE BETWEEN 1 PRECEDING ...` over times."""

from __future__ import annotations

import re

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import Expression, Origin, SortOrder
from ....planner.model.expressions.windows import WindowExpression
from ....planner.model.functions.coercion import cast_unless_same
from ....planner.model.schemas.casts import can_cast
from ....planner.model.schemas.types import (
    DatetimeType,
    DateType,
    NumericType,
    TimestampNTZType,
    TimestampType,
)
from ....planner.model.settings.conf import Conf
from ....planner.model.text.quoting import in_quotes, to_sql_type
from ....planner.model.text.text import plan_text, pretty
from ....planner.model.tree import replace
from ..failures import mismatch

_FRAME = re.compile(r"(ROWS|RANGE) BETWEEN (.+?) AND (.+)")
_VALUE = re.compile(r"(.+) (PRECEDING|FOLLOWING)")
_NUMBER = re.compile(r"-?\d+(?:\.(\d+))?")
_INTERVAL = re.compile(r"INTERVAL '[^']*' (\w+(?: TO \w+)?)")
_OVER = re.compile(r"\bOVER\s*(?=\()", re.IGNORECASE)


def with_typed_bounds(window: WindowExpression, conf: Conf) -> WindowExpression:
    """Distances of a RANGE frame take the type of the key; from times they are intervals or days.

    Spark's WindowFrameCoercion.
    """
    keys = window.order_by
    if not window.bounds or not window.frame.startswith("RANGE") or len(keys) != 1:
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
    found = _FRAME.fullmatch(window.frame)
    if found is None:
        return None
    kind, lower, upper = found.groups()
    origin = _specification(window)
    return _bounds(kind, lower, upper, window.frame, origin) or (
        _order(window, lower, upper, origin) if kind == "RANGE" else None
    )


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


def _type(bound: str) -> str | None:
    """The SQL type of a bound's value; None for UNBOUNDED and CURRENT ROW, or one not known."""
    value = _VALUE.fullmatch(bound)
    if value is None or value[1] == "UNBOUNDED":
        return None
    if interval := _INTERVAL.fullmatch(value[1]):
        return f"INTERVAL {interval[1]}"
    number = _NUMBER.fullmatch(value[1])
    if number is None:
        return None
    if number[1] is None:
        return "INT"
    return f"DECIMAL({len(value[1].replace('.', '').lstrip('-'))},{len(number[1])})"


def _bounds(
    kind: str, lower: str, upper: str, frame: str, origin: Origin | None
) -> AnalysisError | None:
    def refused(case: str, **parameters: str) -> AnalysisError:
        return mismatch(case, frame, origin, **parameters)

    if lower == "UNBOUNDED FOLLOWING" or upper == "UNBOUNDED PRECEDING":
        return refused(
            "SPECIFIED_WINDOW_FRAME_INVALID_BOUND", upper=in_quotes(upper), lower=in_quotes(lower)
        )
    types = _type(lower), _type(upper)
    if kind == "ROWS":
        for name, found in zip(("lower", "upper"), types, strict=True):
            if found is not None and found != "INT":
                kinds = {"exprType": in_quotes(found), "expectedType": '"INT"'}
                return refused("SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE", location=name, **kinds)
    if None not in types and types[0] != types[1]:
        return refused(
            "SPECIFIED_WINDOW_FRAME_DIFF_TYPES",
            lower=in_quotes(_value_text(lower)),
            upper=in_quotes(_value_text(upper)),
            lowerType=in_quotes(str(types[0])),
            upperType=in_quotes(str(types[1])),
        )
    places = _place(lower), _place(upper)
    if places[0] is not None and places[1] is not None and places[0] > places[1]:
        return refused("SPECIFIED_WINDOW_FRAME_WRONG_COMPARISON", comparison="less than or equal")
    return None


def _value_text(bound: str) -> str:
    """A bound's value as a distance from the row."""
    value, side = bound.rsplit(" ", 1)
    return f"(- {value})" if side == "PRECEDING" else value


def _place(bound: str) -> float | None:
    """A bound of numbers counted from the row."""
    value = _VALUE.fullmatch(bound)
    if value is None or not _NUMBER.fullmatch(value[1]):
        return None
    return float(value[1]) * (-1 if value[2] == "PRECEDING" else 1)


def _order(
    window: WindowExpression, lower: str, upper: str, origin: Origin | None
) -> AnalysisError | None:
    types = [kind for kind in map(_type, (lower, upper)) if kind is not None]
    if not types:
        return None
    text = pretty(window).split(" OVER ", 1)[1]
    keys = [o for o in window.order_by if isinstance(o, SortOrder)]
    if not keys:
        return mismatch("RANGE_FRAME_WITHOUT_ORDER", text, origin)
    if len(keys) > 1:
        return mismatch(
            "RANGE_FRAME_MULTI_ORDER", text, origin, orderSpec=",".join(map(plan_text, keys))
        )
    for kind in types:
        if not _fits(keys[0].child, kind):
            return mismatch(
                "RANGE_FRAME_INVALID_TYPE",
                text,
                origin,
                orderSpecType=to_sql_type(keys[0].child.data_type),
                valueBoundaryType=in_quotes(kind),
            )
    return None


def _fits(key: Expression, kind: str) -> bool:
    match key.data_type:
        case TimestampType() | TimestampNTZType():
            return kind.startswith("INTERVAL")
        case DateType():
            return kind in ("INT", "INTERVAL DAY") or kind.startswith(
                ("INTERVAL YEAR", "INTERVAL MONTH")
            )
        case NumericType():
            return not kind.startswith("INTERVAL")
        case _:
            return True  # another check refuses what cannot be ordered so
