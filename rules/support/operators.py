"""Each operator from the sources up: what cannot be done to a stream."""

from __future__ import annotations

from collections.abc import Callable

from ...planner.model.errors import StreamingCheckError
from ...planner.model.expressions.core import AggregateExpression, Alias, Call
from ...planner.model.expressions.windows import WindowExpression
from ...planner.model.frozen import dataclass
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
    Window,
)
from ...planner.model.plans.partitions import Sample
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.plans.set_operations import Except, Intersect
from ...planner.model.settings.conf import Conf
from ...planner.model.text.text import plan_text, pretty
from ..analysis.failures import position
from ..analysis.names.names import qualified
from ..analysis.refusals.checks import bottom_up
from .joins import join_refusal
from .python_state import python_state_refusal
from .refusals import refuse


@dataclass(frozen=True, kw_only=True)
class Question:
    """One operator of a query in an output mode."""

    plan: LogicalPlan
    mode: str
    whole: LogicalPlan


Refusal = tuple[str, str] | None


def check_operators(plan: LogicalPlan, mode: str, conf: Conf) -> None:
    """Refuse the first operator, children before parents, that a stream does not support.

    Raises:
        StreamingCheckError: with the operator's own tree.
    """
    for operator in bottom_up(plan):
        if isinstance(operator, Window) and operator.is_streaming:
            raise _window_refusal(operator)
        question = Question(plan=operator, mode=mode, whole=plan)
        for check in CHECKS:
            found = check(question)
            if found is not None:
                raise _refusal(found, operator, conf)


def _refusal(found: tuple[str, str], operator: LogicalPlan, conf: Conf) -> StreamingCheckError:
    message, hint = found
    return refuse(message, operator, conf, hint=hint)


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


def distinct_aggregates(question: Question) -> Refusal:
    """`count(DISTINCT x)` would have to keep every value."""
    plan = question.plan
    if not isinstance(plan, Aggregate) or not plan.child.is_streaming:
        return None
    if any(a.distinct for e in plan.aggregates for a in e.collect(AggregateExpression)):
        return (
            "Distinct aggregations are not supported on streaming DataFrames/Datasets. Consider"
            " using approx_count_distinct() instead.",
            "Use approx_count_distinct, or deduplicate the rows first.",
        )
    return None


def deduplication_within_watermark(question: Question) -> Refusal:
    """dropDuplicatesWithinWatermark forgets a key by the watermark: there must be one."""
    plan = question.plan
    if not isinstance(plan, Deduplicate) or not plan.within_watermark:
        return None
    if not plan.is_streaming or any(a.delay_ms is not None for a in plan.child.output):
        return None
    return (
        "dropDuplicatesWithinWatermark is not supported on streaming DataFrames/DataSets without"
        " watermark",
        "Define a watermark below the deduplication.",
    )


def joins(question: Question) -> Refusal:
    """Joins by type, sides and mode."""
    plan = question.plan
    return join_refusal(plan, question.mode) if isinstance(plan, Join) else None


def python_state(question: Question) -> Refusal:
    """Functions in Python that keep state, by mode and timeout."""
    return python_state_refusal(question.plan, question.whole, question.mode)


def unions(question: Question) -> Refusal:
    """A stream and a table have no common pace."""
    plan = question.plan
    if not isinstance(plan, Union) or len({p.is_streaming for p in plan.inputs}) == 1:
        return None
    return (
        "Union between streaming and batch DataFrames/Datasets is not supported",
        "Read the static source as a stream too.",
    )


def set_operations(question: Question) -> Refusal:
    """To tell that the other side has not a row, it must be read to its end."""
    match question.plan:
        case Except(right=right) if right.is_streaming:
            return (
                "Except on a streaming DataFrame/Dataset on the right is not supported",
                "Put the stream on the left.",
            )
        case Intersect() as plan if plan.is_streaming:
            return (
                "Intersect of streaming DataFrames/Datasets is not supported",
                "Use a left semi join.",
            )
        case _:
            return None


def limits(question: Question) -> Refusal:
    """A limit cannot take back rows in update mode."""
    plan = question.plan
    if not isinstance(plan, GlobalLimit | LocalLimit) or not plan.child.is_streaming:
        return None
    if question.mode != "update":
        return None
    return (
        "Limits are not supported on streaming DataFrames/Datasets in Update output mode",
        "Use append mode, or complete mode over an aggregation.",
    )


def offsets(question: Question) -> Refusal:
    """OFFSET."""
    if not isinstance(question.plan, Offset):
        return None
    return "Offset is not supported on streaming DataFrames/Datasets", "Leave OFFSET out."


def sorts(question: Question) -> Refusal:
    """A stream has no end to sort up to, but a complete aggregation's result has."""
    plan = question.plan
    if not isinstance(plan, Sort) or not plan.is_streaming:
        return None
    # As in Spark neither DISTINCT counts, nor an aggregation in WITH: a name stands for it here.
    aggregated = any(isinstance(p, Aggregate) and p.is_streaming for p in plan.walk())
    if question.mode == "complete" and aggregated:
        return None
    return (
        "Sorting is not supported on streaming DataFrames/Datasets, unless it is on aggregated"
        " DataFrame/Dataset in Complete output mode",
        "Leave ORDER BY out, or aggregate and use complete mode.",
    )


def samples(question: Question) -> Refusal:
    """A sample of a stream would depend on how its rows come."""
    if not isinstance(question.plan, Sample) or not question.plan.is_streaming:
        return None
    return (
        "Sampling is not supported on streaming DataFrames/Datasets",
        "Filter by a hash of a column instead.",
    )


def answers(question: Question) -> Refusal:
    """A stream's rows cannot go to the caller at once."""
    plan = question.plan
    if not isinstance(plan, ReturnAnswer) or not plan.is_streaming:
        return None
    return (
        "Cannot return immediate result on streaming DataFrames/Dataset. Queries with streaming"
        " DataFrames/Datasets must be executed with writeStream.start().",
        "Start the query with a sink.",
    )


def positional_expressions(question: Question) -> Refusal:
    """Numbers that count a batch's rows mean nothing over a stream."""
    plan = question.plan
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


CHECKS: tuple[Callable[[Question], Refusal], ...] = (
    distinct_aggregates,
    python_state,
    deduplication_within_watermark,
    joins,
    unions,
    set_operations,
    limits,
    offsets,
    sorts,
    samples,
    answers,
    positional_expressions,
)
