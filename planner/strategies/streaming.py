"""Strategies for what only streams have, and for the operators that run Python functions."""

from __future__ import annotations

from ...physical.basic import EventTimeWatermarkExec, StreamingRelationExec
from ...physical.plan import SparkPlan
from ...physical.python_operators import (
    EvalPythonExec,
    FlatMapCoGroupsInPythonExec,
    FlatMapGroupsInPythonExec,
    MapInPythonExec,
    PlanLaterExec,
    UpdateEventTimeColumnExec,
)
from ...physical.python_state import (
    FlatMapGroupsInPandasWithStateExec,
    TransformWithStateInPySparkExec,
)
from ...physical.state import NO_WATERMARK
from ...physical.stateful import (
    StreamingDeduplicateExec,
    StreamingDeduplicateWithinWatermarkExec,
    StreamingGlobalLimitExec,
    StreamingLocalLimitExec,
)
from ..model.expressions.core import AttributeReference
from ..model.plans.logical import Aggregate, Deduplicate, EventTimeWatermark, ReturnAnswer
from ..model.plans.python_operators import (
    EvaluatePython,
    FlatMapCoGroupsInPython,
    FlatMapGroupsInPandasWithState,
    FlatMapGroupsInPython,
    MapInPython,
    TransformWithStateInPySpark,
    UpdateEventTimeColumn,
)
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


_FORMAT = "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion"


def python_state(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """The operators with which a Python function keeps state."""
    match logical:
        case FlatMapGroupsInPandasWithState():
            require_keys(logical.grouping)
            return FlatMapGroupsInPandasWithStateExec(
                function=logical.function,
                keys=columns_of(logical.grouping),
                attributes=logical.attributes,
                state_type=logical.state_type,
                state_format_version=int(plan_later.conf.settings.get(_FORMAT, "2")),
                function_mode=logical.output_mode,
                timeout=logical.timeout,
                origin=where_from(logical),
                child=plan_later(logical.child),
            )
        case TransformWithStateInPySpark():
            initial = logical.has_initial_state
            require_keys(logical.keys)
            return TransformWithStateInPySparkExec(
                function=logical.function,
                keys=logical.keys,
                attributes=logical.attributes,
                function_mode=logical.output_mode,
                time_mode=logical.time_mode,
                rows=logical.rows,
                has_initial_state=initial,
                initial_keys=logical.initial_keys if initial else logical.keys,
                initial_type=logical.initial_type,
                origin=where_from(logical),
                child=plan_later(logical.child),
                initial_state=plan_later(logical.initial_state) if initial else PlanLaterExec(),
            )
        case _:
            return None


def python_operators(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """The operators that run Python functions on rows, partitions and groups."""
    match logical:
        case EvaluatePython(functions=functions, results=results, child=child):
            return EvalPythonExec(functions=functions, results=results, child=plan_later(child))
        case MapInPython():
            return MapInPythonExec(
                function=logical.function,
                attributes=logical.attributes,
                arrow=logical.arrow,
                barrier=logical.barrier,
                child=plan_later(logical.child),
            )
        case FlatMapGroupsInPython():
            return FlatMapGroupsInPythonExec(
                keys=columns_of(logical.grouping),
                function=logical.function,
                attributes=logical.attributes,
                arrow=logical.arrow,
                child=plan_later(logical.child),
            )
        case FlatMapCoGroupsInPython(left=left, right=right):
            return FlatMapCoGroupsInPythonExec(
                left_keys=left.output[: logical.left_count],
                right_keys=right.output[: logical.right_count],
                function=logical.function,
                attributes=logical.attributes,
                arrow=logical.arrow,
                left=plan_later(left),
                right=plan_later(right),
            )
        case UpdateEventTimeColumn(event_time=time, delay_text=delay, child=child):
            return UpdateEventTimeColumnExec(
                event_time=time,
                delay_text=delay,
                attributes=logical.output,
                watermark_ms=NO_WATERMARK,
                child=plan_later(child),
            )
        case _:
            return None
