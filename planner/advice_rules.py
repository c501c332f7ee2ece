"""The rules of advice: one fault of a stateful operator each.

A rule looks at one operator and gives what the plan or the facts at hand prove. `RULES` has them in
the order in which they are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cached_property

from ..physical.basic import EventTimeWatermarkExec, ProjectExec, StreamingRelationExec
from ..physical.explain.state_facts import (
    Never,
    NoneLate,
    eviction,
    key_columns,
    late_rows,
    moment,
    side_evictions,
)
from ..physical.join_state import event_time
from ..physical.plan import SparkPlan, StateStoreWriter
from ..physical.stateful import (
    BaseStreamingDeduplicateExec,
    SessionWindowStateStoreSaveExec,
    StateStoreSaveExec,
)
from ..physical.streaming_join import StreamingSymmetricHashJoinExec
from ..rules.preparation.state import propagate_watermarks
from .model.expressions.core import Alias, AttributeReference
from .model.expressions.intervals import interval_text
from .model.frozen import dataclass
from .model.schemas.types import (
    BOOLEAN,
    DataType,
    DoubleType,
    FloatType,
    StructType,
    TimestampNTZType,
    TimestampType,
    contains_type,
    is_collated,
)
from .model.settings.conf import NO_DATA_BATCHES, SEVERAL_STATEFUL, Conf
from .model.settings.pinned import SHUFFLE_PARTITIONS, WATERMARK_POLICY
from .model.text.text import pretty

_BYTES_WORTH_A_STORE = 64 * 1024
_GROUPED, _GROUPING_ID = "_groupingexpression", "spark_grouping_id"  # names of ours and Spark's
_FEW_STORES = 8  # as many as a laptop has cores: no batch waits for them


@dataclass(frozen=True)
class Facts:
    """What rules look at besides an operator.

    Attributes:
        plan: the executed plan.
        conf: its settings.
        stream_bytes: how large the files are that each stream has now, for those that are known.
    """

    plan: SparkPlan
    conf: Conf
    stream_bytes: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def watermarks(self) -> list[EventTimeWatermarkExec]:
        """The query's watermarks."""
        return self.plan.collect(EventTimeWatermarkExec)

    @cached_property
    def reached(self) -> frozenset[int]:
        """The ids of the operators that a watermark reaches."""
        found = propagate_watermarks(self.plan, 1, redefine=True)
        return frozenset(number for number, time in found.items() if time is not None)

    @property
    def delay_ms(self) -> int:
        """By how much the query's watermark stays behind the newest event."""
        policy = min if self.conf[WATERMARK_POLICY] == "max" else max
        return policy((node.delay_ms for node in self.watermarks), default=0)


Fault = tuple[str, str, str]
"""What is so, what it costs, and what to change."""
Rule = Callable[[StateStoreWriter, Facts], Iterator[Fault]]


# -------------------------------------------------------------------------------------- rules


def never_evicted(writer: StateStoreWriter, facts: Facts) -> Iterator[Fault]:
    """State that grows with every new key, as no column of the operator has a watermark."""
    keys = key_columns(writer)
    evicted = eviction(writer)
    if not isinstance(writer, _BY_KEYS) or not isinstance(evicted, Never) or _bounded(writer):
        return
    if writer.output_mode == "complete" and not isinstance(writer, BaseStreamingDeduplicateExec):
        return  # all_state_each_batch says more
    if writer.collect(EventTimeWatermarkExec):
        return  # watermark_not_in_keys says more
    time = next(iter(_times(writer)), "a time column")
    change = f"give {time} a watermark and group by window({time}, ...)"
    if isinstance(writer, BaseStreamingDeduplicateExec):
        change = f"give {time} a watermark and use dropDuplicatesWithinWatermark"
    elif any(isinstance(key.data_type, StructType) for key in keys):
        change = f"give {time} a watermark: windows that it has passed go then"
    yield f"nothing ever evicts state: {evicted.reason}", _grows(writer), change


def watermark_not_in_keys(writer: StateStoreWriter, facts: Facts) -> Iterator[Fault]:
    """State that stays although there is a watermark: the keys do not have its column."""
    if not isinstance(writer, _BY_KEYS) or not isinstance(eviction(writer), Never):
        return
    nodes = writer.collect(EventTimeWatermarkExec)
    complete = writer.output_mode == "complete"
    deduplicates = isinstance(writer, BaseStreamingDeduplicateExec)
    if not nodes or _bounded(writer) or (complete and not deduplicates):
        return
    name = nodes[0].event_time.name
    change = f"group by {name}, or by window({name}, ...), too"
    if deduplicates:
        change = f"use dropDuplicatesWithinWatermark, or deduplicate by {name} too"
    computed = _computed_of_event_time(writer)
    if computed:
        change = f"use window({name}, ...) for {computed}: what a function makes of an event time"
        change += " has no watermark"
    fault = f"nothing ever evicts state: the watermark's column {name} is not among the keys"
    yield fault, _grows(writer), change


def unbounded_join_side(writer: StateStoreWriter, facts: Facts) -> Iterator[Fault]:
    """A side of a join of two streams whose rows are kept for ever."""
    if not isinstance(writer, StreamingSymmetricHashJoinExec):
        return
    for side, evicted in zip(("left", "right"), side_evictions(writer), strict=True):
        if isinstance(evicted, Never):
            yield (
                f"nothing ever evicts the {side} side's rows: {evicted.reason}",
                f"each row of the {side} stream is kept, and met by each later row of its key",
                "give both streams a watermark, and bound the time between their rows in ON, such"
                " as left.ts BETWEEN right.ts - INTERVAL 1 HOUR AND right.ts",
            )


def no_watermark_reaches(writer: StateStoreWriter, facts: Facts) -> Iterator[Fault]:
    """An operator that waits for a watermark which an operator below it does not hand on."""
    assert writer.state_info is not None
    waits = isinstance(writer, _BY_KEYS) and not isinstance(eviction(writer), Never)
    if not waits or writer.state_info.operator_id in facts.reached:
        return
    cost = "state grows for ever"
    if writer.output_mode == "append" and isinstance(writer, _AGGREGATES):
        cost += ", and no row is ever emitted"
    change = "bound the join below it in time, so that its state has an end"
    yield "no watermark reaches it: the operator below never lets go of its state", cost, change


def late_between_operators(writer: StateStoreWriter, facts: Facts) -> Iterator[Fault]:
    """Rows that an operator emits, and the one above it takes for late.

    With one watermark for all operators, what leaves state below is at or below that; complete mode
    emits groups again that the watermark has passed.
    """
    if isinstance(late_rows(writer), NoneLate):
        return
    for below in writer.collect(StateStoreWriter):
        padded = isinstance(below, StreamingSymmetricHashJoinExec) and bool(below.padded_sides)
        mode = below.output_mode if isinstance(below, _AGGREGATES) else None
        single = not facts.conf.flag(SEVERAL_STATEFUL) and (mode == "append" or padded)
        again = mode == "complete"
        if below is not writer and (single or again):
            change = f"set {SEVERAL_STATEFUL} to true" if not again else "use append mode"
            yield (
                f"rows that the watermark has passed come out of {below.node_name} below it, and"
                " are dropped here as late",
                "rows are missing, and no error tells so",
                f"{change}, or write what is emitted below to a table and read it from there",
            )


def emitted_again(writer: StateStoreWriter, facts: Facts) -> Iterator[Fault]:
    """An operator above an aggregate that emits a group each time it changes."""
    for below in _aggregates(writer):
        if below is not writer and below.output_mode != "append":
            yield (
                f"{below.node_name} below it emits a group again each time it changes, and each"
                " version counts here as a row of its own",
                "sums and counts are too high, deduplication keeps the first version, and no error"
                " tells so",
                "use append mode, or write what is emitted below to a table and read it from there",
            )


def slower_stream_dropped(writer: StateStoreWriter, facts: Facts) -> Iterator[Fault]:
    """Rows of a slower stream that are late by a faster one's watermark."""
    delays = writer.collect(EventTimeWatermarkExec)
    if facts.conf[WATERMARK_POLICY] == "max" and len(delays) > 1:
        yield (
            f"{WATERMARK_POLICY} is max: the fastest stream sets the watermark for all",
            "rows of a stream that is behind it by more than the delay are dropped as late",
            f"set {WATERMARK_POLICY} to min",
        )


def padded_rows_late(writer: StateStoreWriter, facts: Facts) -> Iterator[Fault]:
    """An outer join's rows without a match, which come when no match can come any more."""
    if not isinstance(writer, StreamingSymmetricHashJoinExec):
        return
    limits = dict(zip(("left", "right"), writer.state_watermarks(0), strict=True))
    columns = {"left": writer.left.output, "right": writer.right.output}
    for side in writer.padded_sides:
        time, limit = event_time(columns[side]), limits[side]
        if limit is None or time is None:
            continue  # unbounded_join_side says more
        wait = interval_text(0, 0, max(0, facts.delay_ms - limit - (limit % 1000 == 999)) * 1000)
        cost = f"rows of the {side} stream that match nothing come {wait or '0 seconds'} late"
        if len(facts.watermarks) > 1 and facts.conf[WATERMARK_POLICY] != "max":
            cost += "; and not at all while one of the streams has no new events"
        if not facts.conf.flag(NO_DATA_BATCHES):
            cost += f"; and only with new data, as {NO_DATA_BATCHES} is false"
        yield (
            f"a row of the {side} stream without a match comes out once the watermark rules"
            f" one out, by {moment(time)}",
            cost,
            "shorten the watermark's delay or the range of time in ON, or take an inner join",
        )


def all_state_each_batch(writer: StateStoreWriter, facts: Facts) -> Iterator[Fault]:
    """Complete mode over keys: each batch emits every group there ever was."""
    if writer.output_mode != "complete" or not isinstance(writer, _AGGREGATES) or _bounded(writer):
        return
    change = "use update mode with a sink that overwrites by key, and sort where it is read"
    if isinstance(writer, SessionWindowStateStoreSaveExec):
        change = "use append mode with a watermark"
    yield (
        "complete mode emits all groups in each batch, changed or not, and evicts none",
        f"{_grows(writer)}; a batch takes as long as the state is large",
        change,
    )


def surprising_keys(writer: StateStoreWriter, facts: Facts) -> Iterator[Fault]:
    """Keys that are equal where they look different, or different where they look equal."""
    columns: tuple[tuple[str, DataType], ...]
    columns = tuple((key.name, key.data_type) for key in key_columns(writer))
    if isinstance(writer, StreamingSymmetricHashJoinExec):
        columns = tuple(
            (getattr(key, "name", f"key {place}"), key.data_type)
            for place, key in enumerate(writer.left_keys, 1)
        )
    for name, data_type in columns:
        if contains_type(data_type, FloatType, DoubleType):
            yield (
                f"the key {name} is a floating-point number ({data_type.simple})",
                "0.1 + 0.2 and 0.3 are two keys, NaN equals NaN, and -0.0 equals 0.0",
                f"use an id, CAST({name} AS DECIMAL(p, s)) or a rounded whole number",
            )
        if is_collated(data_type):
            yield (
                f"the key {name} compares by a collation ({data_type.simple})",
                "state is found by bytes, so Spark refuses the first batch"
                " (STATE_STORE_UNSUPPORTED_OPERATION_BINARY_INEQUALITY)",
                f"use collate({name}, 'UTF8_BINARY'), in one spelling, such as lower({name})",
            )


def stores_for_few_rows(writer: StateStoreWriter, facts: Facts) -> Iterator[Fault]:
    """Many stores for streams whose files are known and small."""
    streams = {node.name for node in writer.collect(StreamingRelationExec)}
    stores = writer.num_stores
    if stores <= _FEW_STORES or not streams <= facts.stream_bytes.keys():
        return
    if not key_columns(writer) and not isinstance(writer, StreamingSymmetricHashJoinExec):
        return  # only store 0 is used
    size = sum(facts.stream_bytes[name] for name in streams)
    if size < stores * _BYTES_WORTH_A_STORE:
        parts = stores * len(writer.store_names)
        yield (
            f"{stores} stores for {max(1, size // 1024):,} kB of files in"
            f" {', '.join(sorted(streams))}",
            f"on Spark each batch runs {stores} tasks and commits {parts} stores, most of them"
            " empty",
            f"set {SHUFFLE_PARTITIONS} to the number of cores before the first batch: a checkpoint"
            " pins it (ours: stateplan state rescale)",
        )


RULES: tuple[Rule, ...] = (
    never_evicted,  # what grows for ever
    watermark_not_in_keys,
    unbounded_join_side,
    no_watermark_reaches,
    late_between_operators,  # what is wrong
    emitted_again,
    slower_stream_dropped,
    surprising_keys,
    padded_rows_late,  # what comes late or costs time
    all_state_each_batch,
    stores_for_few_rows,
)

# ----------------------------------------------------------------------------------- helpers

_AGGREGATES = (StateStoreSaveExec, SessionWindowStateStoreSaveExec)
_BY_KEYS = (*_AGGREGATES, BaseStreamingDeduplicateExec)


def _aggregates(writer: StateStoreWriter) -> list[StateStoreWriter]:
    return [w for w in writer.collect(StateStoreWriter) if isinstance(w, _AGGREGATES)]


def _bounded(writer: StateStoreWriter) -> bool:
    """Whether there can only be a handful of keys."""
    session = isinstance(writer, SessionWindowStateStoreSaveExec)
    return not session and all(key.data_type == BOOLEAN for key in key_columns(writer))


def _grows(writer: StateStoreWriter) -> str:
    computed = {alias.expr_id: pretty(alias.child) for alias in _aliases(writer)}
    shown = [
        computed.get(key.expr_id, "") if key.name == _GROUPED else key.name
        for key in key_columns(writer)
        if key.name != _GROUPING_ID
    ]
    return f"memory, disk and checkpoints grow with each new {', '.join(shown) or 'session'}"


def _aliases(writer: StateStoreWriter) -> Iterator[Alias]:
    """What is computed below an operator."""
    for node in writer.collect(ProjectExec):
        yield from (column for column in node.project_list if isinstance(column, Alias))


def _times(writer: StateStoreWriter) -> Iterator[str]:
    """The time columns of the streams that an operator reads."""
    for node in writer.collect(StreamingRelationExec):
        columns = node.output
        yield from (
            c.name for c in columns if isinstance(c.data_type, TimestampType | TimestampNTZType)
        )


def _computed_of_event_time(writer: StateStoreWriter) -> str:
    """The first key that is computed from an event time."""
    keys = {key.expr_id for key in key_columns(writer)}
    for alias in _aliases(writer):
        read = alias.child.collect(AttributeReference)
        if alias.expr_id in keys and any(column.delay_ms is not None for column in read):
            return pretty(alias.child)
    return ""
