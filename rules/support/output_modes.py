"""Whether the output mode goes with the query's aggregations."""

from __future__ import annotations

from collections.abc import Sequence

from ...planner.model.expressions.core import AttributeReference, Expression
from ...planner.model.plans.logical import Aggregate
from ...planner.model.plans.query_plan import LogicalPlan
from .refusals import refuse_mode, streaming_aggregates


def check_output_mode(plan: LogicalPlan, mode: str) -> None:
    """Append needs a watermark on a key, update refuses sessions, complete needs an aggregation.

    Only the outermost aggregation is judged, as in Spark.

    Raises:
        StreamingCheckError: the mode is refused.
    """
    aggregates = streaming_aggregates(plan)
    if not aggregates:
        if mode == "complete":
            raise refuse_mode(
                mode,
                "no streaming aggregations",
                hint="Complete mode needs an aggregation; use append or update.",
            )
        return
    keys = _keys(aggregates[0])
    if mode == "append" and not any(_delay(key) is not None for key in keys):
        raise refuse_mode(
            mode,
            "streaming aggregations without watermark",
            hint="Group by a column with a watermark (or a window over one), or use update or "
            "complete mode.",
        )
    if mode == "update" and any(_is_session(key) for key in keys):
        raise refuse_mode(
            mode,
            "session window streaming aggregations",
            hint="Use append or complete mode.",
        )


def _keys(plan: LogicalPlan) -> Sequence[Expression]:
    return plan.grouping if isinstance(plan, Aggregate) else plan.output


def _delay(key: Expression) -> int | None:
    """The delay of an event-time column; an expression over one has none."""
    return key.delay_ms if isinstance(key, AttributeReference) else None


def _is_session(key: Expression) -> bool:
    return isinstance(key, AttributeReference) and key.metadata.window == "session"
