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
from ..model.expressions.core import AttributeReference
from ..model.plans.logical import Aggregate, Deduplicate, EventTimeWatermark, ReturnAnswer
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import StreamingRelation
from .aggregation import plan_aggregation
from .base import PlanLater, columns_of, match_limit, require_keys, where_from


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
        case StreamingRelation():
            return StreamingRelationExec(
                name=logical.name,
                format=logical.format,
                attributes=logical.attributes,
                identifier=logical.identifier,
            )
        case _:
            return None


def streaming_deduplication(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """Deduplicate over a stream, for ever or within the watermark's delay."""
    match logical:
        case Deduplicate(keys=keys, within_watermark=within, child=child) if child.is_streaming:
            require_keys(keys)
            kind = StreamingDeduplicateWithinWatermarkExec if within else StreamingDeduplicateExec
            return kind(keys=columns_of(keys), origin=where_from(logical), child=plan_later(child))
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
