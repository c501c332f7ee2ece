"""What there is to say of the state that Python functions keep."""

from __future__ import annotations

from ..python_state import (
    FlatMapGroupsInPandasWithStateExec,
    TransformWithStateInPySparkExec,
)
from .state_facts import (
    NEVER,
    Fact,
    dropped_when_late,
    eviction,
    kept,
    late_rows,
    schema_text,
    what_it_does,
)


@what_it_does.register
def _(writer: FlatMapGroupsInPandasWithStateExec) -> str:
    name = writer.function.function_name
    if writer.timeout == "NoTimeout":
        return f"calls {name} for each group with new rows"
    return f"calls {name} for each group with new rows, or whose timeout has passed"


@what_it_does.register
def _(writer: TransformWithStateInPySparkExec) -> str:
    first = "; the first batch starts from the initial state" if writer.has_initial_state else ""
    timers = "" if writer.time_mode == "NoTime" else ", or a timer that has passed"
    return f"calls the processor for each group with new rows{timers}{first}"


@kept.register
def _(writer: TransformWithStateInPySparkExec) -> list[Fact]:
    return [
        ("state key", schema_text(writer.state_key_schema)),
        ("state value", "what the processor declares when it starts"),
    ]


@late_rows.register
def _(writer: FlatMapGroupsInPandasWithStateExec) -> str:
    if writer.timeout != "EventTimeTimeout":
        return "none: the function gets every row"
    return dropped_when_late(writer.child.output)


@late_rows.register
def _(writer: TransformWithStateInPySparkExec) -> str:
    if writer.time_mode != "EventTime":
        return "none: the processor gets every row"
    return dropped_when_late(writer.child.output)


@eviction.register
def _(writer: FlatMapGroupsInPandasWithStateExec) -> str:
    by_itself = "when the function removes it"
    match writer.timeout:
        case "NoTimeout":
            return f"{by_itself}; it has no timeout"
        case "ProcessingTimeTimeout":
            return f"{by_itself}; it is called once the duration that it set has passed"
        case _:
            return f"{by_itself}; it is called once the watermark has passed the time that it set"


@eviction.register
def _(writer: TransformWithStateInPySparkExec) -> str:
    if writer.time_mode == "NoTime":
        return NEVER + "only the processor removes state; it has no timers and no time to live"
    return "when the processor removes it, or by the time to live that it declares"
