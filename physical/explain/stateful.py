"""Our own short view: what each stateful operator keeps, and for how long; what joins keep."""

from __future__ import annotations

from collections.abc import Iterable

from ...planner.model.expressions.core import AttributeReference, Expression, Origin
from ...planner.model.expressions.intervals import interval_text
from ...planner.model.text.text import pretty
from ..basic import EventTimeWatermarkExec
from ..join_state import event_time
from ..plan import SparkPlan, StateStoreWriter
from ..streaming_join import StreamingSymmetricHashJoinExec
from .state_facts import (
    NEVER,
    Fact,
    dropped_when_late,
    eviction,
    kept,
    keyed_on,
    late_rows,
    moment,
    schema_text,
    stores,
    what_it_does,
)

Join = StreamingSymmetricHashJoinExec
Columns = tuple[AttributeReference, ...]


def _sides(left: str, right: str) -> str:
    return left if left == right else f"left: {left}; right: {right}"


def _listed(expressions: Iterable[Expression]) -> str:
    return ", ".join(map(pretty, expressions))


@what_it_does.register
def _(writer: StreamingSymmetricHashJoinExec) -> str:
    return (
        f"joins each side's new rows with the rows kept of the other side ({writer.join_type});"
        " keeps the new rows"
    )


@keyed_on.register
def _(writer: StreamingSymmetricHashJoinExec) -> str:
    return _sides(_listed(writer.left_keys), _listed(writer.right_keys))


@kept.register
def _(writer: StreamingSymmetricHashJoinExec) -> list[Fact]:
    parts = writer.parts
    tests = (("left", parts.left_only), ("right", parts.right_only), ("match", parts.both))
    facts = [(f"{name} if", pretty(test)) for name, test in tests if test is not None]
    for store in writer.state_stores:
        texts = schema_text(store.key), schema_text(store.value)
        facts.append(("state", f"{store.name}: {texts[0]} -> {texts[1]}"))
    return facts


@late_rows.register
def _(writer: StreamingSymmetricHashJoinExec) -> str:
    sides = writer.left, writer.right
    return _sides(*(dropped_when_late(side.output) for side in sides))


@eviction.register
def _(writer: StreamingSymmetricHashJoinExec) -> str:
    return _sides(*side_evictions(writer))


def side_evictions(writer: Join) -> tuple[str, str]:
    """What evicts the left side's rows, and the right side's."""
    left, right = writer.state_watermarks(0)
    return (
        _evicted(writer, writer.left.output, writer.left_keys, left),
        _evicted(writer, writer.right.output, writer.right_keys, right),
    )


def _evicted(
    writer: Join, columns: Columns, keys: tuple[Expression, ...], offset_ms: int | None
) -> str:
    """`offset_ms`: how far beyond the watermark a row's event time may be when it goes."""
    if offset_ms is None:
        if event_time(columns) is None:
            return NEVER + "the side has no event time"
        return NEVER + "ON does not bound its event time from below by the other side's"
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


@stores.register
def _(writer: StreamingSymmetricHashJoinExec) -> str:
    names = writer.state_stores
    keys = _sides(_listed(writer.left_keys), _listed(writer.right_keys))
    parts = "column families" if writer.state_format_version > 2 else "stores"
    return f"{writer.num_stores} partitions of {len(names)} {parts}, a row's by the hash of {keys}"


_WIDTH = 13
_EXCERPT = 80


def stateful_text(plan: SparkPlan, *, places: bool = True) -> str:
    """One block per stateful operator of an executed plan, the one nearest the sink first.

    A block says what state is keyed on, what a row of it holds, which rows are late, what evicts
    state and when or why nothing ever does, how many stores there are and which part of the query
    it comes from (not without `places`).
    """
    writers = plan.collect(StateStoreWriter)
    if not writers:
        return "== Stateful Operators ==\nNone: the query keeps no state."
    return "== Stateful Operators ==\n" + "\n\n".join(_block(writer, places) for writer in writers)


def _block(writer: StateStoreWriter, places: bool) -> str:
    number = "?" if writer.state_info is None else writer.state_info.operator_id
    mode = "" if writer.output_mode is None else f", {writer.output_mode} mode"
    lines = [f"({number}) {writer.node_name} ({writer.operator_name}){mode}"]
    facts = facts_of(writer)
    if places and writer.origin is not None:
        facts.append(("from", place_text(writer.origin)))
    lines.extend(f"    {label + ':':<{_WIDTH}}{text}" for label, text in facts)
    return "\n".join(lines)


def facts_of(writer: StateStoreWriter) -> list[Fact]:
    """What there is to say of a stateful operator: labels and texts."""
    return [
        ("does", what_it_does(writer)),
        ("keyed on", keyed_on(writer)),
        *kept(writer),
        ("watermark", _watermarks(writer)),
        ("late rows", late_rows(writer)),
        ("evicted", eviction(writer)),
        ("stores", stores(writer)),
    ]


def place_text(origin: Origin) -> str:
    """The line that an operator comes from, and what stands there."""
    place = f"line {origin.line}, position {origin.position}"
    if origin.file:
        place = f"{origin.file}:{origin.line}"
    excerpt = " ".join(origin.source[origin.start : origin.stop + 1].split())  # stop is the last
    if len(excerpt) > _EXCERPT:
        excerpt = excerpt[: _EXCERPT - 3] + "..."
    return f"{place}: {excerpt}" if excerpt else place


def _watermarks(writer: StateStoreWriter) -> str:
    nodes = writer.collect(EventTimeWatermarkExec)
    if not nodes:
        return "none"
    texts = (f"the latest {n.event_time.name} less {n.delay_text}" for n in nodes)
    return "; ".join(dict.fromkeys(texts))
