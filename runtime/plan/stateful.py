"""Deduplication and limits of the executed plan."""

from __future__ import annotations

from collections.abc import Sequence

from ...physical.basic import LocalLimitExec
from ...physical.exchange import ShuffleExchangeExec
from ...physical.plan import SparkPlan
from ...physical.stateful import (
    BaseStreamingDeduplicateExec,
    StreamingDeduplicateWithinWatermarkExec,
    StreamingGlobalLimitExec,
)
from ...planner.model.errors import InternalError
from .aggregation import hashed
from .carried import key, plain
from .event_times import check_event_times
from .facts import BatchFacts
from .nodes import AsIs, Exchange, Kernel, PassingLimit, ReadSource, RuntimeNode, Select
from .observing_nodes import CountRows, ObserveEventTime
from .specs import DeduplicateSpec, LimitSpec, event_time_position
from .translate import translate


@translate.register(BaseStreamingDeduplicateExec)
def _(node: BaseStreamingDeduplicateExec, facts: BatchFacts) -> RuntimeNode:
    check_event_times(node.child, facts)
    rows = node.child.output
    columns = tuple(key(attribute) for attribute in rows)
    places = {attribute.expr_id: i for i, attribute in enumerate(rows)}
    time = event_time_position(rows)
    within = None
    if isinstance(node, StreamingDeduplicateWithinWatermarkExec):
        delay = None if time is None else rows[time].delay_ms
        if delay is None:
            raise InternalError("deduplication within the watermark has no event-time column")
        within = delay * 1000
    spec = DeduplicateSpec(
        rows=tuple(c.seen for c in columns),
        keys=tuple(places[k.expr_id] for k in node.keys),
        time=time,
        within=within,
    )
    placing = hashed([columns[i] for i in spec.keys])
    parts = tuple(p for c, a in zip(columns, rows, strict=True) for p in c.split(a))
    sent = Select(child=translate(node.child, facts), columns=parts)
    kernel = Kernel(
        inputs=(Exchange(child=sent, to="keys", keys=placing),),
        operator=node,
        spec=spec,
        taken=columns,
        emitted=columns,
        hashed=placing,
    )
    return Select(child=kernel, columns=tuple(c.restored for c in columns))


@translate.register(StreamingGlobalLimitExec)
def _(node: StreamingGlobalLimitExec, facts: BatchFacts) -> RuntimeNode:
    """A limit over the life of a query.

    Which rows a limit lets through is not laid down, only how many. Where the sources know how many
    rows they give, and all of them may pass, no row needs to be looked at; if only some of them
    come here, these are counted. Neither is there anything to look at once the limit is reached. In
    between, and over rows whose number is not known, they all go through one task, as in Spark.
    """
    plan, limited = _below(node)
    below = translate(plan, facts)
    most, passed = _row_count(below, facts), _passed(node, facts)
    if most is not None and passed is not None:
        left = node.limit - passed
        exact = not any(select.conditions for select in below.collect(Select))
        if (exact or not facts.engine.reads_together) and (most <= left or left <= 0):
            watched = any(below.collect(ObserveEventTime))
            unknown = not exact and (watched or left > 0)
            return PassingLimit(
                child=below,
                operator=node,
                spec=LimitSpec(rows=(), limit=node.limit),
                rows=None if unknown else most,
                passes=left > 0,
                counted=watched or unknown,
            )
    columns = tuple(plain(attribute) for attribute in node.child.output)
    if limited is not None:
        below = AsIs(inputs=(below,), operator=limited)
    parts = tuple(p for c in columns for p in c.split(c.column))
    kernel = Kernel(
        inputs=(Exchange(child=Select(child=below, columns=parts), to="one"),),
        operator=node,
        spec=LimitSpec(rows=tuple(c.seen for c in columns), limit=node.limit),
        taken=columns,
        emitted=columns,
        single=True,
    )
    return Select(child=kernel, columns=tuple(c.restored for c in columns))


def _below(node: StreamingGlobalLimitExec) -> tuple[SparkPlan, LocalLimitExec | None]:
    """What stands below the exchange and the limit of each partition; that limit."""
    plan = node.child
    if isinstance(plan, ShuffleExchangeExec):
        plan = plan.child
    return (plan.child, plan) if isinstance(plan, LocalLimitExec) else (plan, None)


def _passed(node: StreamingGlobalLimitExec, facts: BatchFacts) -> int | None:
    info = node.state_info
    return None if info is None else facts.passed.get(info.operator_id)


def _row_count(node: RuntimeNode, facts: BatchFacts) -> int | None:
    """How many rows of the sources come out of a node, but for those that a condition drops.

    None: not known beforehand, or an action that runs again need not see as many.
    """
    match node:
        case ReadSource(name=name):
            return facts.source_rows.get(name)
        case Select(conditions=conditions) if not all(c.deterministic for c in conditions):
            return None
        case Select() | ObserveEventTime() | Exchange() | CountRows():
            return _row_count(node.children[0], facts)
        case AsIs(operator=operator) if operator.node_name in ("Union", "Exchange"):
            return _total([_row_count(child, facts) for child in node.inputs])
    return None


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
