"""What there is to say of each stateful operator's state; one function per fact."""

from __future__ import annotations

from typing import TypeVar

from ...planner.model.expressions.core import AttributeReference, Expression
from ...planner.model.expressions.intervals import interval_text
from ...planner.model.frozen import dataclass
from ...planner.model.schemas.types import StructType
from ...planner.model.text.text import pretty
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
from ..streaming_join import StreamingSymmetricHashJoinExec

Text = TypeVar("Text")
Fact = tuple[str, str]
Columns = tuple[AttributeReference, ...]


@dataclass(frozen=True, kw_only=True)
class NoneLate:
    """No row is ever late; the reason, where there is more to say."""

    reason: str = ""

    def __str__(self) -> str:
        return f"none: {self.reason}" if self.reason else "none"


@dataclass(frozen=True, kw_only=True)
class Never:
    """Nothing ever evicts a row of state; the reason."""

    reason: str

    def __str__(self) -> str:
        return f"never: {self.reason}"


def moment(column: AttributeReference) -> str:
    """What of an event-time column is compared: of a window, its end."""
    return f"{column.name}.end" if isinstance(column.data_type, StructType) else column.name


def key_columns(writer: StateStoreWriter) -> Columns:
    """The columns that say which state a row belongs to."""
    return writer.keys if isinstance(writer, KeyedStatefulExec | PythonStatefulExec) else ()


def schema_text(schema: StructType) -> str:
    """Columns with their types."""
    return ", ".join(f"{f.name} {f.data_type.simple}" for f in schema.fields) or "nothing"


def _names(columns: Columns) -> str:
    return ", ".join(column.name for column in columns)


def _sides(left: Text, right: Text) -> Text | str:
    return left if left == right else f"left: {left}; right: {right}"


def _join_keys(join: StreamingSymmetricHashJoinExec) -> str:
    return _sides(*(", ".join(map(pretty, keys)) for keys in (join.left_keys, join.right_keys)))


def what_it_does(writer: StateStoreWriter) -> str:
    """The operator's task in a few words."""
    match writer:
        case StateStoreSaveExec():
            return "keeps the aggregates of each group"
        case SessionWindowStateStoreSaveExec():
            return "keeps the open sessions of each key with their aggregates"
        case StreamingDeduplicateExec():
            return "lets the first row of each key through"
        case StreamingDeduplicateWithinWatermarkExec():
            return "lets the first row of each key through until the key expires"
        case StreamingGlobalLimitExec(limit=limit):
            return f"counts the rows let through so far, {limit} at most"
        case StreamingSymmetricHashJoinExec(join_type=join_type):
            return (
                f"joins each side's new rows with the rows kept of the other side ({join_type});"
                " keeps the new rows"
            )
        case FlatMapGroupsInPandasWithStateExec(function=function, timeout=timeout):
            timed = "" if timeout == "NoTimeout" else ", or whose timeout has passed"
            return f"calls {function.function_name} for each group with new rows{timed}"
        case TransformWithStateInPySparkExec(time_mode=mode, has_initial_state=has_initial):
            first = "; the first batch starts from the initial state" if has_initial else ""
            timers = "" if mode == "NoTime" else ", or a timer that has passed"
            return f"calls the processor for each group with new rows{timers}{first}"
        case _:
            return (type(writer).__doc__ or "").strip()


def keyed_on(writer: StateStoreWriter) -> str:
    """The key in words."""
    if isinstance(writer, StreamingSymmetricHashJoinExec):
        return _join_keys(writer)
    return _names(key_columns(writer)) or "nothing: there is one group"


def kept(writer: StateStoreWriter) -> list[Fact]:
    """What a row of state holds."""
    if isinstance(writer, StreamingSymmetricHashJoinExec):
        parts = writer.parts
        tests = (("left", parts.left_only), ("right", parts.right_only), ("match", parts.both))
        facts = [(f"{name} if", pretty(test)) for name, test in tests if test is not None]
        for store in writer.state_stores:
            texts = schema_text(store.key), schema_text(store.value)
            facts.append(("state", f"{store.name}: {texts[0]} -> {texts[1]}"))
        return facts
    value = "what the processor declares when it starts"
    if not isinstance(writer, TransformWithStateInPySparkExec):
        value = schema_text(writer.state_value_schema)
    return [("state key", schema_text(writer.state_key_schema)), ("state value", value)]


def stores(writer: StateStoreWriter) -> str:
    """How many stores there are, and which one a row's state is in."""
    total, keys = writer.num_stores, key_columns(writer)
    if isinstance(writer, StreamingSymmetricHashJoinExec):
        parts = "column families" if writer.state_format_version > 2 else "stores"
        each = f"{len(writer.state_stores)} {parts}"
        return f"{total} partitions of {each}, a row's by the hash of {_join_keys(writer)}"
    if not keys:
        return f"{total}, of which only store 0 is used"
    return f"{total}, a row's by the hash of {_names(keys)}"


# ------------------------------------------------------------------------------------- late rows


def late_rows(writer: StateStoreWriter) -> str | NoneLate:
    """Which rows come too late, and what happens to them."""
    match writer:
        case StateStoreSaveExec(output_mode="complete"):
            return NoneLate(reason="complete mode takes every row")
        case StateStoreSaveExec(keys=keys) if event_time(keys) is None:
            return NoneLate(reason="no key is an event time")
        case StateStoreSaveExec(keys=keys):
            return _dropped(keys)
        case SessionWindowStateStoreSaveExec(session=session):
            if session.delay_ms is None:
                return NoneLate(reason="the session's time has no watermark")
            return f"dropped where their own {moment(session)} {_BEFORE}"
        case StreamingDeduplicateExec() | StreamingDeduplicateWithinWatermarkExec():
            return _dropped(writer.output)
        case StreamingSymmetricHashJoinExec(left=left, right=right):
            return _sides(_dropped(left.output), _dropped(right.output))
        case FlatMapGroupsInPandasWithStateExec(timeout=timeout, child=child):
            if timeout != "EventTimeTimeout":
                return NoneLate(reason="the function gets every row")
            return _dropped(child.output)
        case TransformWithStateInPySparkExec(time_mode=mode, child=child):
            if mode != "EventTime":
                return NoneLate(reason="the processor gets every row")
            return _dropped(child.output)
        case _:
            return NoneLate()


_BEFORE = "is at or below the watermark of the batch before"


def _dropped(columns: Columns) -> str | NoneLate:
    """What happens to late rows, by the event time among these columns."""
    time = event_time(columns)
    if time is None:
        return NoneLate(reason="there is no event time")
    return f"dropped where {moment(time)} {_BEFORE}"


# -------------------------------------------------------------------------------------- eviction


def eviction(writer: StateStoreWriter) -> str | Never:
    """What evicts a row of state and when, or why nothing ever does."""
    match writer:
        case StateStoreSaveExec():
            return _of_groups(writer)
        case SessionWindowStateStoreSaveExec(output_mode="complete"):
            return Never(reason="complete mode shows every session again in each batch")
        case SessionWindowStateStoreSaveExec(session=session):
            if session.delay_ms is None:
                return Never(reason="the session's time has no watermark")
            return f"once {moment(session)} is at or below the watermark; emitted then"
        case StreamingDeduplicateExec(keys=keys):
            time = event_time(keys)
            if time is None:
                remedy = "deduplicate by it too, or within the watermark"
                return Never(reason=_no_event_time(writer, remedy))
            return f"once {moment(time)} is at or below the watermark; null times stay"
        case StreamingDeduplicateWithinWatermarkExec():
            return _within_watermark(writer)
        case StreamingGlobalLimitExec():
            return Never(reason="the one count holds for the life of the query")
        case StreamingSymmetricHashJoinExec():
            return _sides(*side_evictions(writer))
        case FlatMapGroupsInPandasWithStateExec(timeout=timeout):
            return f"when the function removes it; {_TIMEOUTS.get(timeout, _BY_WATERMARK)}"
        case TransformWithStateInPySparkExec(time_mode="NoTime"):
            return Never(
                reason="only the processor removes state; it has no timers and no time to live"
            )
        case TransformWithStateInPySparkExec():
            return "when the processor removes it, or by the time to live that it declares"
        case _:
            return Never(reason="the operator has no rule for it")


_TIMEOUTS = {
    "NoTimeout": "it has no timeout",
    "ProcessingTimeTimeout": "it is called once the duration that it set has passed",
}
_BY_WATERMARK = "it is called once the watermark has passed the time that it set"


def _of_groups(writer: StateStoreSaveExec) -> str | Never:
    time = event_time(writer.keys)
    if writer.output_mode == "complete":
        return Never(reason="complete mode shows every group again in each batch")
    if not writer.keys:
        return Never(reason="the one group is always needed")
    if time is None:
        return Never(reason=_no_event_time(writer, "group by it, or by a window of it"))
    then = "; the group is emitted then" if writer.output_mode == "append" else ""
    return f"once {moment(time)} is at or below the watermark{then}; null times stay"


def _within_watermark(writer: StreamingDeduplicateWithinWatermarkExec) -> str | Never:
    time = event_time(writer.output)
    if time is None:
        return Never(reason="there is no event time")
    delay = next((n.delay_text for n in writer.collect(EventTimeWatermarkExec)), "the delay")
    return (
        f"once the first row's {moment(time)} plus {delay} is at or below the watermark; rows "
        "seen later do not extend it"
    )


def _no_event_time(writer: StateStoreWriter, remedy: str) -> str:
    nodes = writer.collect(EventTimeWatermarkExec)
    if not nodes:
        return "the query has no watermark"
    name = nodes[0].event_time.name
    return f"the event time {name} is not among the keys: {remedy}"


def side_evictions(writer: StreamingSymmetricHashJoinExec) -> tuple[str | Never, str | Never]:
    """What evicts the left side's rows, and the right side's."""
    left, right = writer.state_watermarks(0)
    return (
        _evicted(writer, writer.left.output, writer.left_keys, left),
        _evicted(writer, writer.right.output, writer.right_keys, right),
    )


def _evicted(
    writer: StreamingSymmetricHashJoinExec,
    columns: Columns,
    keys: tuple[Expression, ...],
    offset_ms: int | None,
) -> str | Never:
    """`offset_ms`: how far beyond the watermark a row's event time may be when it goes."""
    if offset_ms is None:
        if event_time(columns) is None:
            return Never(reason="the side has no event time")
        return Never(reason="ON does not bound its event time from below by the other side's")
    place = writer.event_time_key
    if place is not None:
        key = keys[place]
        name = moment(key) if isinstance(key, AttributeReference) else pretty(key)
        return f"once the key {name} is at or below the watermark; null times stay"
    time = event_time(columns)
    assert time is not None
    return f"once {moment(time)} is {_bound(offset_ms)}; null times stay"


def _bound(offset_ms: int) -> str:
    """A closed bound of ON lets rows go a millisecond later."""
    open_ms = offset_ms + 1
    strict = open_ms % 1000 == 0 and offset_ms % 1000 != 0
    shift = open_ms if strict else offset_ms
    word = "below" if strict else "at or below"
    if shift == 0:
        return f"{word} the watermark"
    sign = "less" if shift < 0 else "plus"
    return f"{word} the watermark {sign} {interval_text(0, 0, abs(shift) * 1000)}"
