"""Strategies for what only streams have, and for the operators that run Python functions."""

from __future__ import annotations

from ...physical.basic import EventTimeWatermarkExec
from ...physical.plan import SparkPlan
from ...physical.python_operators import (
    FlatMapCoGroupsInPythonExec,
    FlatMapGroupsInPythonExec,
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
    FlatMapCoGroupsInPython,
    FlatMapGroupsInPandasWithState,
    FlatMapGroupsInPython,
    TransformWithStateInPySpark,
    UpdateEventTimeColumn,
)
from ..model.plans.query_plan import LogicalPlan
from .aggregation import plan_aggregation
from .base import PlanLater, columns_of, match_limit, planned_as, require_keys, where_from


def stateful_aggregation(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """Aggregate over a stream: the progression of aggregation.py; EventTimeWatermark alike."""
    match logical:
        case EventTimeWatermark(event_time=AttributeReference()):
            delay, columns = logical.delay_ms, logical.output
            return planned_as(
                EventTimeWatermarkExec, logical, plan_later, delay_ms=delay, attributes=columns
            )
        case Aggregate() if logical.is_streaming:
            return plan_aggregation(logical, plan_later)
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
            return planned_as(
                FlatMapGroupsInPandasWithStateExec,
                logical,
                plan_later,
                keys=columns_of(logical.grouping),
                state_format_version=int(plan_later.conf.settings.get(_FORMAT, "2")),
                function_mode=logical.output_mode,
                output_mode=None,  # the query's, which the state rule knows
                origin=where_from(logical),
            )
        case TransformWithStateInPySpark():
            initial = logical.has_initial_state
            require_keys(logical.keys)
            return planned_as(
                TransformWithStateInPySparkExec,
                logical,
                plan_later,
                keys=logical.keys,
                function_mode=logical.output_mode,
                output_mode=None,
                has_initial_state=initial,
                initial_keys=logical.initial_keys if initial else logical.keys,
                initial_state=plan_later(logical.initial_state) if initial else PlanLaterExec(),
                origin=where_from(logical),
            )
        case _:
            return None


def python_operators(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """The operators that run Python functions on groups, and what follows one with state."""
    match logical:
        case FlatMapGroupsInPython():
            keys = columns_of(logical.grouping)
            return planned_as(FlatMapGroupsInPythonExec, logical, plan_later, keys=keys)
        case FlatMapCoGroupsInPython(left=left, right=right):
            return planned_as(
                FlatMapCoGroupsInPythonExec,
                logical,
                plan_later,
                left_keys=left.output[: logical.left_count],
                right_keys=right.output[: logical.right_count],
            )
        case UpdateEventTimeColumn():
            return planned_as(
                UpdateEventTimeColumnExec,
                logical,
                plan_later,
                attributes=logical.output,
                watermark_ms=NO_WATERMARK,
            )
        case _:
            return None
