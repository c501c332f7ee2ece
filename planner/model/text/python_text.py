"""Operators that run Python functions, as logical plans show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..expressions.core import AttributeReference
from ..plans.python_operators import (
    EvaluatePython,
    FlatMapCoGroupsInPython,
    FlatMapGroupsInPandasWithState,
    FlatMapGroupsInPython,
    MapInPython,
    TransformWithStateInPySpark,
    UpdateEventTimeColumn,
    field_text,
)
from ..plans.query_plan import LogicalPlan
from .text import plan_text

Listed = Callable[[Iterable[str]], str]


def python_line(plan: LogicalPlan, listed: Listed) -> tuple[str, list[str]] | None:
    """The operator's name and arguments, empty ones as ""; None for any other operator.

    Args:
        plan: the operator.
        listed: makes `[a, b]` of texts, cut where there are too many.
    """

    def columns(items: Iterable[object]) -> str:
        texts = [plan_text(item) for item in items]  # type: ignore[arg-type]
        return listed(texts) if texts else ""

    match plan:
        case FlatMapGroupsInPandasWithState(function=function):
            return "FlatMapGroupsInPandasWithState", [
                plan_text(function),
                columns(plan.grouping),
                columns(plan.attributes),
                listed(map(field_text, plan.state_type.fields)),
                plan.output_mode.capitalize(),
                plan.timeout,
            ]
        case TransformWithStateInPySpark(function=function, initial_type=initial):
            return "TransformWithStateInPySpark", [
                plan_text(function),
                str(plan.key_count),
                columns(plan.attributes),
                plan.output_mode.capitalize(),
                plan.time_mode,
                plan.rows,
                str(plan.has_initial_state).lower(),
                str(plan.initial_key_count),
                listed(map(field_text, initial.fields)) if initial.fields else "",
            ]
        case MapInPython(function=function, arrow=arrow):
            barrier = str(plan.barrier).lower()
            name = "MapInArrow" if arrow else "MapInPandas"
            return name, [plan_text(function), columns(plan.attributes), barrier]
        case FlatMapGroupsInPython(function=function, arrow=arrow):
            name = "FlatMapGroupsInArrow" if arrow else "FlatMapGroupsInPandas"
            return name, [columns(plan.grouping), plan_text(function), columns(plan.attributes)]
        case FlatMapCoGroupsInPython(function=function, arrow=arrow):
            counts = str(plan.left_count), str(plan.right_count)
            name = "FlatMapCoGroupsInArrow" if arrow else "FlatMapCoGroupsInPandas"
            return name, [*counts, plan_text(function), columns(plan.attributes)]
        case EvaluatePython(functions=functions, results=results):
            arrow = functions[0].kind == "arrow"
            kind = str(functions[0].exact_kind) if arrow else ""
            name = "ArrowEvalPython" if arrow else "BatchEvalPython"
            return name, [columns(functions), columns(results), kind]
        case UpdateEventTimeColumn(event_time=AttributeReference() as time):
            shown = f"{time.name}#{time.expr_id}: {time.type_.simple}"
            return "UpdateEventTimeWatermarkColumn", [shown, plan.delay_text]
        case UpdateEventTimeColumn(event_time=time):
            return "UpdateEventTimeWatermarkColumn", [plan_text(time)]
    return None
