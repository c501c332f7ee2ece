"""Time windows: what `window`, `session_window` and `window_time` put below their operator.

- tumbling: `Project [named_struct(start, end) AS window, *]` over `Filter isnotnull(time)`
- sliding: `Filter` over `Expand`, one projection per window that a time can lie in
- session: `Filter` over `Project [named_struct(start, end) AS session_window, *]`
- window_time: `Project [end - 1 microsecond AS window_time(w), *]`

The operator then reads the new column. The column carries the event time's delay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Call,
    CaseWhen,
    Cast,
    Expression,
    GetStructField,
    Literal,
    Metadata,
    lit,
)
from ....planner.model.expressions.intervals import in_micros, parse_interval
from ....planner.model.expressions.windows import (
    PreciseTimestampConversion,
    SessionWindow,
    TimeWindow,
    WindowTime,
)
from ....planner.model.functions.build import call, long, struct
from ....planner.model.plans.logical import Expand, Filter, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import LONG, DataType, StringType, StructType
from ....planner.model.text.text import pretty
from ....planner.model.tree import replace
from ...optimization.expressions.simplify import simplify
from ..context import Context
from ..failures import Invalid, failure
from .window_functions import check_session_window, is_window

Window = TypeVar("Window", TimeWindow, SessionWindow, WindowTime)

WINDOW_NAME = "window"
SESSION_NAME = "session_window"


def expand_windows(
    plan: LogicalPlan, child: LogicalPlan, context: Context
) -> tuple[LogicalPlan, LogicalPlan]:
    """The operator with its windows replaced by columns, and the child that makes these.

    Raises:
        AnalysisError: the operator has several different windows (_LEGACY_ERROR_TEMP_1039).
    """
    if not any(_is_windowed(e) for e in plan.expressions):
        return plan, child
    plan, child = _expand_window_times(plan, child, context)
    found: list[TimeWindow | SessionWindow] = [
        *_distinct(plan.expressions, TimeWindow),
        *_distinct(plan.expressions, SessionWindow),
    ]
    if len(found) > 1 and all(w.time.resolved for w in found):  # be their types right or wrong
        raise failure("_LEGACY_ERROR_TEMP_1039", origin=plan.origin)
    if len(found) != 1 or not found[0].time.resolved or hasattr(found[0], "error"):
        return plan, child
    window = found[0]
    if isinstance(window, TimeWindow):
        column, child = _time_window(window, child, context)
    else:
        column, child = _session_window(window, child, context)
    return _replaced(plan, window, column), child


def _is_windowed(expression: Expression) -> bool:
    if expression.resolved:
        return False
    return expression.exists(lambda e: isinstance(e, TimeWindow | SessionWindow | WindowTime))


def _distinct(expressions: Sequence[Expression], kind: type[Window]) -> list[Window]:
    found: list[Window] = []
    for expression in expressions:
        for node in expression.walk() if not expression.resolved else ():
            if isinstance(node, kind) and not any(_same(node, other) for other in found):
                found.append(node)
    return found


def _same(one: Expression, other: Expression) -> bool:
    """Equal; Spark takes a value that is used twice, as in BETWEEN, for another one each time.

    A window with such a value inside is the same only as itself, named by position or alias.
    """
    if one != other:
        return False
    return one.origin == other.origin or not one.exists(
        lambda e: isinstance(e, Call) and e.name in ("between", "nullif")
    )


def _replaced(plan: LogicalPlan, old: Expression, column: AttributeReference) -> LogicalPlan:
    return plan.transform_expressions(lambda e: column if e == old else e)


# ------------------------------------------------------------------------------- window_time


def _expand_window_times(
    plan: LogicalPlan, child: LogicalPlan, context: Context
) -> tuple[LogicalPlan, LogicalPlan]:
    """Put `window_time` columns below; a window over a window is one over its time."""

    def over_time(expression: Expression) -> Expression:
        match expression:
            case TimeWindow(time=time) | SessionWindow(time=time) if (
                not isinstance(expression, Invalid) and time.resolved and is_window(time.data_type)
            ):
                return replace(expression, time=WindowTime(window=time))
            case _:
                return expression

    plan = plan.transform_expressions(over_time)
    times = [w for w in _distinct(plan.expressions, WindowTime) if w.window.resolved]
    columns: list[Expression] = []
    for time in times:
        if not is_window(time.window.data_type):
            continue
        alias = _window_time(time)
        columns.append(alias)
        plan = _replaced(plan, time, alias.to_attribute())
    if columns:

        def checked(expression: Expression) -> Expression:
            match expression:
                case SessionWindow(time=time, gap=gap) if time.resolved and gap.resolved:
                    return check_session_window(expression, context)
            return expression

        plan = plan.transform_expressions(checked)  # their times have a type only now
        child = Project(project_list=(*columns, *child.output), child=child)
    return plan, child


def _window_time(time: WindowTime) -> Alias:
    window = time.window
    kind = window.data_type
    assert isinstance(kind, StructType)
    end_type = kind.fields[1].data_type
    end = _convert(GetStructField(child=window, ordinal=1, name="end"), end_type, LONG)
    last = call("-", end, long(1))
    return Alias(
        child=_convert(last, LONG, end_type),
        name=pretty(time),
        explicit_metadata=Metadata(delay_ms=_delay(window)),
    )


def _delay(time: Expression) -> int | None:
    return time.delay_ms if isinstance(time, AttributeReference) else None


# ------------------------------------------------------------------------------ window bounds


def _convert(child: Expression, from_type: DataType, to_type: DataType) -> Expression:
    return PreciseTimestampConversion(child=child, from_type=from_type, to_type=to_type)


def _bounds(window: TimeWindow, index: int, context: Context) -> Expression:
    """The struct of the `index`-th last window that the time lies in.

    Without ANSI mode: windows near the ends of time wrap around instead of failing.
    """
    kind = window.time.data_type
    time = _convert(window.time, kind, LONG)
    slide = long(window.slide)
    beyond = call("%", call("-", time, long(window.start)), slide)
    is_negative = call("<", beyond, context.cast(lit(0), LONG))
    since = CaseWhen(
        conditions=(is_negative,), values=(call("+", beyond, slide),), otherwise=beyond
    )
    start = call("-", call("-", time, since), long(index * window.slide))
    end = call("+", start, long(window.size))
    return struct(
        start=known_nullable(_convert(start, LONG, kind)),
        end=known_nullable(_convert(end, LONG, kind)),
    )


def known_nullable(child: Expression) -> Call:
    """The child, taken as one that may be null."""
    return call("knownnullable", child)


# --------------------------------------------------------------------------------- time windows


def _time_window(
    window: TimeWindow, child: LogicalPlan, context: Context
) -> tuple[AttributeReference, LogicalPlan]:
    metadata = Metadata(delay_ms=_delay(window.time), window="time")
    if window.size == window.slide:
        alias = Alias(
            child=_bounds(window, 0, context), name=WINDOW_NAME, explicit_metadata=metadata
        )
        filtered = Filter(condition=call("isnotnull", window.time), child=child)
        column = alias.to_attribute()
        return column, Project(project_list=(alias, *child.output), child=filtered)
    overlapping = -(-window.size // window.slide)
    structs = [_bounds(window, i, context) for i in range(overlapping)]
    column = AttributeReference(name=WINDOW_NAME, type_=structs[0].data_type, metadata=metadata)
    expanded = Expand(
        projections=tuple((struct, *child.output) for struct in structs),
        attributes=(column, *child.output),
        child=child,
    )
    return column, Filter(condition=_in_window(window, column), child=expanded)


def _in_window(window: TimeWindow, column: AttributeReference) -> Expression:
    # With a slide that divides the size every window of the Expand holds the time.
    if window.size % window.slide == 0:
        return call("isnotnull", window.time)
    start = GetStructField(child=column, ordinal=0, name="start")
    end = GetStructField(child=column, ordinal=1, name="end")
    return call("and", call(">=", window.time, start), call("<", window.time, end))


# ------------------------------------------------------------------------------------- sessions


def _session_window(
    window: SessionWindow, child: LogicalPlan, context: Context
) -> tuple[AttributeReference, LogicalPlan]:
    time = window.time
    kind = time.data_type
    start = _convert(_convert(time, kind, LONG), LONG, kind)
    ended = context.call("+", time, window.gap)
    end = _convert(_convert(ended, kind, LONG), LONG, kind)
    alias = Alias(
        child=struct(start=start, end=known_nullable(end)),
        name=SESSION_NAME,
        explicit_metadata=Metadata(delay_ms=_delay(time), window="session"),
    )
    column = alias.to_attribute()
    condition: Expression = call("isnotnull", time)
    if not _is_positive_constant(window.gap):
        ends = GetStructField(child=column, ordinal=1, name="end")
        starts = GetStructField(child=column, ordinal=0, name="start")
        condition = call("and", condition, call(">", ends, starts))
    projected = Project(project_list=(alias, *child.output), child=child)
    return column, Filter(condition=condition, child=projected)


def _is_positive_constant(gap: Expression) -> bool:
    """Whether the gap is a constant above zero; others are judged row by row."""
    if isinstance(gap, Cast) and isinstance(gap.child.data_type, StringType):
        gap = gap.child
    if gap.foldable:
        gap = simplify(gap)
    if not isinstance(gap, Literal) or gap.value is None:
        return False
    try:
        value = parse_interval(gap.value) if isinstance(gap.value, str) else gap.value
    except AnalysisError:  # raised when the query runs, as Spark does
        return False
    assert isinstance(value, tuple)
    return in_micros(value) > 0
