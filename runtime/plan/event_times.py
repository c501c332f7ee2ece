"""What Spark finds out about event times where a batch runs, not where a query starts."""

from __future__ import annotations

from collections.abc import Sequence

from ...physical.plan import SparkPlan
from ...physical.stateful import SessionWindowStateStoreSaveExec
from ...planner.model.expressions.core import AttributeReference
from ...planner.model.output_modes import OutputMode
from ...planner.model.settings.conf import SEVERAL_STATEFUL
from ...rules.preparation.state import refuse_no_event_time, refuse_several_event_times
from .facts import BatchFacts


def check_event_times(below: SparkPlan, facts: BatchFacts) -> None:
    """Check that one event time at most comes to a stateful operator, which goes by it.

    Raises:
        PlanningError: there are several (MULTIPLE_EVENT_TIME_COLUMNS).
    """
    if facts.conf.flag(SEVERAL_STATEFUL):
        refuse_several_event_times(below)


def check_aggregation(
    node: SparkPlan,
    mode: OutputMode,
    keys: Sequence[AttributeReference],
    what: str,
    facts: BatchFacts,
) -> None:
    """Check an aggregation's event times; a start looks at the one nearest the sink alone.

    Args:
        keys: those that may be its event time.
        what: Spark's word for it.

    Raises:
        PlanningError: there are several, or none by which it could append its groups
            (UNSUPPORTED_STREAMING_OPERATOR_WITHOUT_WATERMARK).
    """
    if mode != "complete" or isinstance(node, SessionWindowStateStoreSaveExec):
        check_event_times(node.children[0], facts)  # sessions drop late rows in every mode
    if mode == "append":
        refuse_no_event_time(keys, what)
