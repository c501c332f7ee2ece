"""Each operator from the sources up: what cannot be done to a stream."""

from __future__ import annotations

from ...planner.model.errors import StreamingCheckError
from ...planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
)
from ...planner.model.expressions.windows import WindowExpression
from ...planner.model.plans.logical import (
    Aggregate,
    Deduplicate,
    GlobalLimit,
    Join,
    LocalLimit,
    Offset,
    ReturnAnswer,
    Sort,
    Union,
)
from ...planner.model.plans.partitions import Sample
from ...planner.model.plans.python_operators import FlatMapGroupsInPandasWithState
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.plans.set_operations import Except, Intersect
from ...planner.model.plans.windows import Window
from ...planner.model.settings.conf import Conf
from ...planner.model.text.text import plan_text, pretty
from ..analysis.failures import position
from ..analysis.names.names import qualified
from ..common.trees import walk_up
from .joins import join_refusal
from .queries import Refusal, refuse, streaming_aggregates

_NAME = "applyInPandasWithState"


def check_operators(plan: LogicalPlan, mode: str, conf: Conf) -> None:
    """Refuse the first operator, children before parents, that a stream does not support.

    Raises:
        StreamingCheckError: with the operator's own tree.
    """
    for operator in walk_up(plan):
        if isinstance(operator, Window) and operator.is_streaming:
            raise _window_refusal(operator)
        found = _refusal(operator, plan, mode) or _positional_expressions(operator)
        if found is not None:
            message, hint = found
            raise refuse(message, operator, conf, hint=hint)


def _refusal(plan: LogicalPlan, whole: LogicalPlan, mode: str) -> Refusal:
    """Why a stream does not support an operator of the query `whole` in the mode."""
    match plan:
        case Join():
            return join_refusal(plan, mode)
        case FlatMapGroupsInPandasWithState() if plan.is_streaming:
            return _python_state(plan, whole, mode)
        case Aggregate(child=child) if child.is_streaming and any(
            a.distinct for e in plan.aggregates for a in e.collect(AggregateExpression)
        ):
            return (  # it would have to keep every value
                "Distinct aggregations are not supported on streaming DataFrames/Datasets. Consider"
                " using approx_count_distinct() instead.",
                "Use approx_count_distinct, or deduplicate the rows first.",
            )
        case Deduplicate(within_watermark=True, child=child) if child.is_streaming and all(
            column.delay_ms is None for column in child.output
        ):
            return (  # it forgets a key by the watermark
                "dropDuplicatesWithinWatermark is not supported on streaming DataFrames/DataSets"
                " without watermark",
                "Define a watermark below the deduplication.",
            )
        case Union(inputs=inputs) if len({branch.is_streaming for branch in inputs}) > 1:
            return (
                "Union between streaming and batch DataFrames/Datasets is not supported",
                "Read the static source as a stream too.",
            )
        case Except(right=right) if right.is_streaming:
            return (
                "Except on a streaming DataFrame/Dataset on the right is not supported",
                "Put the stream on the left.",
            )
        case Intersect() if plan.is_streaming:
            return (
                "Intersect of streaming DataFrames/Datasets is not supported",
                "Use a left semi join.",
            )
        case GlobalLimit() | LocalLimit() if plan.child.is_streaming and mode == "update":
            return (  # a limit cannot take back rows
                "Limits are not supported on streaming DataFrames/Datasets in Update output mode",
                "Use append mode, or complete mode over an aggregation.",
            )
        case Offset():
            return "Offset is not supported on streaming DataFrames/Datasets", "Leave OFFSET out."
        case Sort() if plan.is_streaming and not (
            # As in Spark neither DISTINCT counts, nor an aggregation in WITH: it is a name here.
            mode == "complete" and any(p.is_streaming for p in plan.collect(Aggregate))
        ):
            return (
                "Sorting is not supported on streaming DataFrames/Datasets, unless it is on"
                " aggregated DataFrame/Dataset in Complete output mode",
                "Leave ORDER BY out, or aggregate and use complete mode.",
            )
        case Sample() if plan.is_streaming:
            return (
                "Sampling is not supported on streaming DataFrames/Datasets",
                "Filter by a hash of a column instead.",
            )
        case ReturnAnswer() if plan.is_streaming:
            return (
                "Cannot return immediate result on streaming DataFrames/Dataset. Queries with"
                " streaming DataFrames/Datasets must be executed with writeStream.start().",
                "Start the query with a sink.",
            )
        case _:
            return None


def _python_state(plan: FlatMapGroupsInPandasWithState, whole: LogicalPlan, mode: str) -> Refusal:
    """Why `plan`, a part of the query `whole`, cannot keep its state in the mode; None if it can.

    Without an aggregation the function's mode is the query's; with one it appends, below it. Spark
    fails as it runs a function whose keys are fields of columns.
    """
    for key in plan.grouping:
        if not isinstance(key, AttributeReference):
            return (
                f"{_NAME} groups by columns, and {pretty(key)} is none",
                "Make it a column of its own by withColumn, and group by that.",
            )
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


def _window_refusal(plan: Window) -> StreamingCheckError:
    """Functions with OVER: only time windows can be kept for a stream."""
    functions, names, specifications = [], [], []
    for alias in plan.windows:
        assert isinstance(alias, Alias) and isinstance(alias.child, WindowExpression)
        functions.append(plan_text(alias.child.function).upper())
        names.append(f"`{alias.name}`")
        specifications.append(pretty(qualified(alias.child)).split(" OVER ")[1].upper())
    error = StreamingCheckError.of(
        "NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING",
        windowFunc=",".join(functions),
        columnName=",".join(names),
        windowSpec=",".join(specifications),
    )
    error.message += position(plan.origin)
    return error


def _positional_expressions(plan: LogicalPlan) -> Refusal:
    """Numbers that count a batch's rows mean nothing over a stream."""
    if not plan.is_streaming:
        return None
    found = [
        call
        for expression in plan.expressions
        if not expression.deterministic
        for call in expression.collect(Call)
        if call.name in ("monotonically_increasing_id", "distributed_sequence_id")
    ]
    if not found:
        return None
    names = ", ".join(pretty(call) for call in found)
    return (
        f"Expression(s): {names} is not supported with streaming DataFrames/Datasets",
        "Number the rows in the sink.",
    )
