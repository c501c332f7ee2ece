"""Strategies for the operators that run Python functions."""

from __future__ import annotations

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
from .base import PlanLater, columns_of, require_keys, where_from

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
