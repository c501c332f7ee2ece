"""Our own short view: what each stateful operator keeps, and for how long."""

from __future__ import annotations

from functools import singledispatch

from ...planner.model.expressions import AttributeReference, Origin
from ...planner.model.types import StructType
from ..basic import EventTimeWatermarkExec
from ..plan import SparkPlan, StateStoreWriter
from ..stateful import (
    SessionWindowStateStoreSaveExec,
    StateStoreSaveExec,
    StreamingDeduplicateExec,
    StreamingDeduplicateWithinWatermarkExec,
    StreamingGlobalLimitExec,
)

_WIDTH = 13
_EXCERPT = 80
_NEVER = "never: "


def stateful_text(plan: SparkPlan) -> str:
    """One block per stateful operator of an executed plan, the one nearest the sink first.

    A block says what state is keyed on, what a row of it holds, which rows are late, what evicts
    state and when or why nothing ever does, how many stores there are and which part of the query
    it comes from.
    """
    writers = plan.collect(StateStoreWriter)
    if not writers:
        return "== Stateful Operators ==\nNone: the query keeps no state."
    return "== Stateful Operators ==\n" + "\n\n".join(_block(writer) for writer in writers)


def _block(writer: StateStoreWriter) -> str:
    number = "?" if writer.state_info is None else writer.state_info.operator_id
    mode = "" if writer.output_mode is None else f", {writer.output_mode} mode"
    lines = [f"({number}) {writer.node_name} ({writer.operator_name}){mode}"]
    facts = [
        ("does", what_it_does(writer)),
        ("keyed on", _names(key_columns(writer)) or "nothing: there is one group"),
        ("state key", _schema(writer.state_key_schema)),
        ("state value", _schema(writer.state_value_schema)),
        ("watermark", _watermarks(writer)),
        ("late rows", late_rows(writer)),
        ("evicted", eviction(writer)),
        ("stores", _stores(writer)),
    ]
    if writer.origin is not None:
        facts.append(("from", _place(writer.origin)))
    lines.extend(f"    {label + ':':<{_WIDTH}}{text}" for label, text in facts)
    return "\n".join(lines)


def _names(columns: tuple[AttributeReference, ...]) -> str:
    return ", ".join(column.name for column in columns)


def _schema(schema: StructType) -> str:
    return ", ".join(f"{f.name} {f.data_type.simple}" for f in schema.fields) or "nothing"


def _place(origin: Origin) -> str:
    place = f"line {origin.line}, position {origin.position}"
    if origin.file:
        place = f"{origin.file}:{origin.line}"
    excerpt = " ".join(origin.source[origin.start : origin.stop + 1].split())  # stop is the last
    if len(excerpt) > _EXCERPT:
        excerpt = excerpt[: _EXCERPT - 3] + "..."
    return f"{place}: {excerpt}" if excerpt else place


def _stores(writer: StateStoreWriter) -> str:
    total = writer.num_stores
    if not key_columns(writer):
        return f"{total}, of which only store 0 is used"
    return f"{total}, a row's by the hash of {_names(key_columns(writer))}"


def _watermarks(writer: StateStoreWriter) -> str:
    nodes = writer.collect(EventTimeWatermarkExec)
    if not nodes:
        return "none"
    return "; ".join(f"the latest {n.event_time.name} less {n.delay_text}" for n in nodes)


def event_time(columns: tuple[AttributeReference, ...]) -> AttributeReference | None:
    """The event-time column among some columns."""
    return next((c for c in columns if c.delay_ms is not None), None)


def _moment(column: AttributeReference) -> str:
    """What of an event-time column is compared: of a window, its end."""
    return f"{column.name}.end" if isinstance(column.data_type, StructType) else column.name


# ----------------------------------------------------------------------------- per operator


@singledispatch
def key_columns(writer: StateStoreWriter) -> tuple[AttributeReference, ...]:
    """The columns that say which state a row belongs to."""
    return ()


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
    return _NEVER + "the operator has no rule for it"


@key_columns.register
def _(writer: StateStoreSaveExec) -> tuple[AttributeReference, ...]:
    return writer.keys


@what_it_does.register
def _(writer: StateStoreSaveExec) -> str:
    return "keeps the aggregates of each group"


@late_rows.register
def _(writer: StateStoreSaveExec) -> str:
    time = event_time(writer.keys)
    if writer.output_mode == "complete":
        return "none: complete mode takes every row"
    if time is None:
        return "none: no key is an event time"
    return f"dropped where {_moment(time)} is at or below the watermark of the batch before"


@eviction.register
def _(writer: StateStoreSaveExec) -> str:
    time = event_time(writer.keys)
    if writer.output_mode == "complete":
        return _NEVER + "complete mode shows every group again in each batch"
    if not writer.keys:
        return _NEVER + "the one group is always needed"
    if time is None:
        return _NEVER + _no_event_time(writer, "group by it, or by a window of it")
    then = "; the group is emitted then" if writer.output_mode == "append" else ""
    return f"once {_moment(time)} is at or below the watermark{then}; null times stay"


def _no_event_time(writer: StateStoreWriter, remedy: str) -> str:
    nodes = writer.collect(EventTimeWatermarkExec)
    if not nodes:
        return "the query has no watermark"
    name = nodes[0].event_time.name
    return f"the event time {name} is not among the keys: {remedy}"


@key_columns.register
def _(writer: SessionWindowStateStoreSaveExec) -> tuple[AttributeReference, ...]:
    return writer.keys


@what_it_does.register
def _(writer: SessionWindowStateStoreSaveExec) -> str:
    return "keeps the open sessions of each key with their aggregates"


@late_rows.register
def _(writer: SessionWindowStateStoreSaveExec) -> str:
    if writer.session.delay_ms is None:
        return "none: the session's time has no watermark"
    return (
        f"dropped where their own {_moment(writer.session)} is at or below the watermark of the "
        "batch before"
    )


@eviction.register
def _(writer: SessionWindowStateStoreSaveExec) -> str:
    if writer.output_mode == "complete":
        return _NEVER + "complete mode shows every session again in each batch"
    if writer.session.delay_ms is None:
        return _NEVER + "the session's time has no watermark"
    return f"once {_moment(writer.session)} is at or below the watermark; emitted then"


@key_columns.register
def _(writer: StreamingDeduplicateExec) -> tuple[AttributeReference, ...]:
    return writer.keys


@what_it_does.register
def _(writer: StreamingDeduplicateExec) -> str:
    return "lets the first row of each key through"


@late_rows.register(StreamingDeduplicateExec)
@late_rows.register(StreamingDeduplicateWithinWatermarkExec)
def _(writer: StateStoreWriter) -> str:
    time = event_time(writer.output)
    if time is None:
        return "none: there is no event time"
    return f"dropped where {_moment(time)} is at or below the watermark of the batch before"


@eviction.register
def _(writer: StreamingDeduplicateExec) -> str:
    time = event_time(writer.keys)
    if time is None:
        remedy = "deduplicate by it too, or within the watermark"
        return _NEVER + _no_event_time(writer, remedy)
    return f"once {_moment(time)} is at or below the watermark; null times stay"


@key_columns.register
def _(writer: StreamingDeduplicateWithinWatermarkExec) -> tuple[AttributeReference, ...]:
    return writer.keys


@what_it_does.register
def _(writer: StreamingDeduplicateWithinWatermarkExec) -> str:
    return "lets the first row of each key through until the key expires"


@eviction.register
def _(writer: StreamingDeduplicateWithinWatermarkExec) -> str:
    time = event_time(writer.output)
    if time is None:
        return _NEVER + "there is no event time"
    delay = next((n.delay_text for n in writer.collect(EventTimeWatermarkExec)), "the delay")
    return (
        f"once the first row's {_moment(time)} plus {delay} is at or below the watermark; rows "
        "seen later do not extend it"
    )


@what_it_does.register
def _(writer: StreamingGlobalLimitExec) -> str:
    return f"counts the rows let through so far, {writer.limit} at most"


@eviction.register
def _(writer: StreamingGlobalLimitExec) -> str:
    return _NEVER + "the one count holds for the life of the query"
