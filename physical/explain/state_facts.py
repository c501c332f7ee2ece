"""What there is to say of each stateful operator's state; one handler per operator and fact."""

from __future__ import annotations

from functools import singledispatch

from ...planner.model.expressions.core import AttributeReference
from ...planner.model.schemas.types import StructType
from ..basic import EventTimeWatermarkExec
from ..join_state import event_time
from ..plan import StateStoreWriter
from ..python_state import (
    FlatMapGroupsInPandasWithStateExec,
    PythonStatefulExec,
    TransformWithStateInPySparkExec,
)
from ..stateful import (
    KeyedStatefulExec,
    SessionWindowStateStoreSaveExec,
    StateStoreSaveExec,
    StreamingDeduplicateExec,
    StreamingDeduplicateWithinWatermarkExec,
    StreamingGlobalLimitExec,
)

NEVER = "never: "
Fact = tuple[str, str]


def moment(column: AttributeReference) -> str:
    """What of an event-time column is compared: of a window, its end."""
    return f"{column.name}.end" if isinstance(column.data_type, StructType) else column.name


def dropped_when_late(columns: tuple[AttributeReference, ...]) -> str:
    """What happens to late rows, by the event time among these columns."""
    time = event_time(columns)
    if time is None:
        return "none: there is no event time"
    return f"dropped where {moment(time)} is at or below the watermark of the batch before"


def key_columns(writer: StateStoreWriter) -> tuple[AttributeReference, ...]:
    """The columns that say which state a row belongs to."""
    return writer.keys if isinstance(writer, KeyedStatefulExec | PythonStatefulExec) else ()


@singledispatch
def what_it_does(writer: StateStoreWriter) -> str:
    """The operator's task in a few words."""
    return (type(writer).__doc__ or "").strip()


@singledispatch
def late_rows(writer: StateStoreWriter) -> str:
    """Which rows come too late, and what happens to them."""
    return "none"


@singledispatch
def eviction(writer: StateStoreWriter) -> str:
    """What evicts a row of state and when, or why nothing ever does."""
    return NEVER + "the operator has no rule for it"


@singledispatch
def keyed_on(writer: StateStoreWriter) -> str:
    """The key in words."""
    return names(key_columns(writer)) or "nothing: there is one group"


@singledispatch
def kept(writer: StateStoreWriter) -> list[Fact]:
    """What a row of state holds."""
    return [
        ("state key", schema_text(writer.state_key_schema)),
        ("state value", schema_text(writer.state_value_schema)),
    ]


@singledispatch
def stores(writer: StateStoreWriter) -> str:
    """How many stores there are, and which one a row's state is in."""
    total = writer.num_stores
    if not key_columns(writer):
        return f"{total}, of which only store 0 is used"
    return f"{total}, a row's by the hash of {names(key_columns(writer))}"


def names(columns: tuple[AttributeReference, ...]) -> str:
    """Columns by name."""
    return ", ".join(column.name for column in columns)


def schema_text(schema: StructType) -> str:
    """Columns with their types."""
    return ", ".join(f"{f.name} {f.data_type.simple}" for f in schema.fields) or "nothing"


@what_it_does.register
def _(writer: StateStoreSaveExec) -> str:
    return "keeps the aggregates of each group"


@late_rows.register
def _(writer: StateStoreSaveExec) -> str:
    if writer.output_mode == "complete":
        return "none: complete mode takes every row"
    if event_time(writer.keys) is None:
        return "none: no key is an event time"
    return dropped_when_late(writer.keys)


@eviction.register
def _(writer: StateStoreSaveExec) -> str:
    time = event_time(writer.keys)
    if writer.output_mode == "complete":
        return NEVER + "complete mode shows every group again in each batch"
    if not writer.keys:
        return NEVER + "the one group is always needed"
    if time is None:
        return NEVER + _no_event_time(writer, "group by it, or by a window of it")
    then = "; the group is emitted then" if writer.output_mode == "append" else ""
    return f"once {moment(time)} is at or below the watermark{then}; null times stay"


def _no_event_time(writer: StateStoreWriter, remedy: str) -> str:
    nodes = writer.collect(EventTimeWatermarkExec)
    if not nodes:
        return "the query has no watermark"
    name = nodes[0].event_time.name
    return f"the event time {name} is not among the keys: {remedy}"


@what_it_does.register
def _(writer: SessionWindowStateStoreSaveExec) -> str:
    return "keeps the open sessions of each key with their aggregates"


@late_rows.register
def _(writer: SessionWindowStateStoreSaveExec) -> str:
    if writer.session.delay_ms is None:
        return "none: the session's time has no watermark"
    return (
        f"dropped where their own {moment(writer.session)} is at or below the watermark of the "
        "batch before"
    )


@eviction.register
def _(writer: SessionWindowStateStoreSaveExec) -> str:
    if writer.output_mode == "complete":
        return NEVER + "complete mode shows every session again in each batch"
    if writer.session.delay_ms is None:
        return NEVER + "the session's time has no watermark"
    return f"once {moment(writer.session)} is at or below the watermark; emitted then"


@what_it_does.register
def _(writer: StreamingDeduplicateExec) -> str:
    return "lets the first row of each key through"


@late_rows.register(StreamingDeduplicateExec)
@late_rows.register(StreamingDeduplicateWithinWatermarkExec)
def _(writer: StateStoreWriter) -> str:
    return dropped_when_late(writer.output)


@eviction.register
def _(writer: StreamingDeduplicateExec) -> str:
    time = event_time(writer.keys)
    if time is None:
        remedy = "deduplicate by it too, or within the watermark"
        return NEVER + _no_event_time(writer, remedy)
    return f"once {moment(time)} is at or below the watermark; null times stay"


@what_it_does.register
def _(writer: StreamingDeduplicateWithinWatermarkExec) -> str:
    return "lets the first row of each key through until the key expires"


@eviction.register
def _(writer: StreamingDeduplicateWithinWatermarkExec) -> str:
    time = event_time(writer.output)
    if time is None:
        return NEVER + "there is no event time"
    delay = next((n.delay_text for n in writer.collect(EventTimeWatermarkExec)), "the delay")
    return (
        f"once the first row's {moment(time)} plus {delay} is at or below the watermark; rows "
        "seen later do not extend it"
    )


@what_it_does.register
def _(writer: StreamingGlobalLimitExec) -> str:
    return f"counts the rows let through so far, {writer.limit} at most"


@eviction.register
def _(writer: StreamingGlobalLimitExec) -> str:
    return NEVER + "the one count holds for the life of the query"


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
