"""Strategies for the operators that only streams have."""

from __future__ import annotations

from ...physical.basic import EventTimeWatermarkExec, StreamingRelationExec
from ...physical.plan import SparkPlan
from ...physical.stateful import (
    StreamingDeduplicateExec,
    StreamingDeduplicateWithinWatermarkExec,
    StreamingGlobalLimitExec,
    StreamingLocalLimitExec,
)
from ..model.errors import PlanningError
from ..model.expressions import AttributeReference, Call, Expression, split_conjuncts
from ..model.logical import Aggregate, Deduplicate, EventTimeWatermark, Join, ReturnAnswer
from ..model.logical_text import tree_text
from ..model.query_plan import LogicalPlan
from ..model.relations import StreamingRelation
from .aggregation import plan_aggregation
from .base import PlanLater, where_from
from .limits import match_limit


def streaming_join(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """Join of two streams: refused until there is an operator for it.

    Raises:
        PlanningError: always; without an equality of the two sides as Spark refuses it too.
    """
    match logical:
        case Join(left=left, right=right) if left.is_streaming and right.is_streaming:
            if not any(_equates(part, left, right) for part in _conjuncts(logical)):
                raise PlanningError(
                    "_LEGACY_ERROR_TEMP_1181",
                    "Stream-stream join without equality predicate is not supported.",
                    hint="Add an equality of a column of each side to the ON condition.",
                    tree=tree_text(logical),
                )
            raise PlanningError(
                "STATEPLAN_JOIN_NOT_SUPPORTED",
                f"A {logical.join_type} join of two streams cannot be planned yet (operator Join).",
                hint="Join the stream with a static table, or split the query.",
            )
        case _:
            return None


def _conjuncts(join: Join) -> list[Expression]:
    return [] if join.condition is None else split_conjuncts(join.condition)


def _equates(condition: Expression, left: LogicalPlan, right: LogicalPlan) -> bool:
    """Whether a condition is an equality of the two sides: a key to join by."""
    match condition:
        case Call(name="=" | "<=>", arguments=(one, other)):
            sides = (one.references, other.references)
            return any(
                bool(a) and bool(b) and a <= left.output_ids and b <= right.output_ids
                for a, b in (sides, sides[::-1])
            )
        case _:
            return False


def stateful_aggregation(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """Aggregate over a stream: the progression of aggregation.py; EventTimeWatermark alike."""
    match logical:
        case EventTimeWatermark(event_time=AttributeReference() as time, child=child):
            return EventTimeWatermarkExec(
                event_time=time,
                delay=logical.delay,
                delay_text=logical.delay_text,
                delay_ms=logical.delay_ms,
                node_id=logical.node_id,
                attributes=logical.output,
                child=plan_later(child),
            )
        case Aggregate() if logical.is_streaming:
            return plan_aggregation(logical, plan_later)
        case _:
            return None


def streaming_relation(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """StreamingRelation: the source, its rows to be filled in batch by batch."""
    match logical:
        case StreamingRelation(name=name, format=format, attributes=attributes):
            return StreamingRelationExec(name=name, format=format, attributes=attributes)
        case _:
            return None


def _columns(keys: tuple[Expression, ...]) -> tuple[AttributeReference, ...]:
    return tuple(key for key in keys if isinstance(key, AttributeReference))


def streaming_deduplication(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """Deduplicate over a stream, for ever or within the watermark's delay."""
    match logical:
        case Deduplicate(keys=keys, within_watermark=within, child=child) if child.is_streaming:
            kind = StreamingDeduplicateWithinWatermarkExec if within else StreamingDeduplicateExec
            return kind(keys=_columns(keys), origin=where_from(logical), child=plan_later(child))
        case _:
            return None


def _generates_appends(plan: LogicalPlan, output_mode: str) -> bool:
    """Whether the plan's rows come once each, so that a limit must count over all batches.

    In complete mode that is so below the aggregate: `stream LIMIT 5` counted, say.
    """
    if not plan.is_streaming:
        return False
    aggregates = plan.exists(lambda p: isinstance(p, Aggregate) and p.is_streaming)
    return output_mode == "append" or not aggregates


def streaming_global_limit(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """LIMIT over appended rows: a local limit per partition, then a count kept as state."""
    limited = logical.child if isinstance(logical, ReturnAnswer) else logical
    match match_limit(limited):
        case (limit, child) if _generates_appends(child, plan_later.output_mode):
            local = StreamingLocalLimitExec(limit=limit, child=plan_later(child))
            return StreamingGlobalLimitExec(limit=limit, origin=where_from(limited), child=local)
        case _:
            return None
