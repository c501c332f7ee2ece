"""State that Python functions keep: output modes and timeouts that go with the query."""

from __future__ import annotations

from ...planner.model.plans.python_operators import FlatMapGroupsInPandasWithState
from ...planner.model.plans.query_plan import LogicalPlan
from .refusals import streaming_aggregates

Refusal = tuple[str, str] | None

_NAME = "applyInPandasWithState"


def python_state_refusal(plan: LogicalPlan, whole: LogicalPlan, mode: str) -> Refusal:
    """Why `plan`, a part of the query `whole`, cannot keep its state in the mode; None if it can.

    Without an aggregation the function's mode is the query's; with one it appends, below it.
    """
    if not isinstance(plan, FlatMapGroupsInPandasWithState) or not plan.is_streaming:
        return None
    own = plan.output_mode
    start = f"{_NAME} in {own} mode is not supported"
    stream = "on a streaming DataFrame/Dataset"
    if not streaming_aggregates(whole):
        if own != mode:
            return (
                f"{start} with {mode.capitalize()} output mode {stream}",
                f"Start the query in {own} mode.",
            )
    elif own == "update":
        return f"{start} with aggregation {stream}", f"Let {_NAME} append."
    elif streaming_aggregates(plan):
        return f"{start} after aggregation {stream}", "Aggregate after it."
    if plan.timeout == "EventTimeTimeout" and not any(
        column.delay_ms is not None for column in plan.child.output
    ):
        return (
            "Watermark must be specified in the query using"
            " '[Dataset/DataFrame].withWatermark()' for using event-time timeout in a"
            f" {_NAME}. Event-time timeout not supported without watermark.",
            "Define a watermark below it.",
        )
    return None
