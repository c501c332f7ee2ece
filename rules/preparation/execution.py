"""What the preparation rules need to know of the execution they prepare a plan for."""

from __future__ import annotations

from typing import Protocol

from ...physical.plan import SparkPlan
from ...physical.state import StatefulOperatorStateInfo
from ...planner.model.output_modes import OutputMode
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.settings.conf import Conf


class Execution(Protocol):
    """One batch of one query: IncrementalExecution, as the rules see it."""

    conf: Conf
    output_mode: OutputMode
    # The query's watermarks by which rows are late, and state leaves; None before a start.
    watermark_late: int | None
    watermark_eviction: int | None
    # Whether plans are re-planned while they run; None where each plan says so itself.
    adaptive: bool | None

    def plan_subquery(self, logical: LogicalPlan) -> SparkPlan:
        """The operators of a subquery's optimized plan, not yet placed."""
        ...

    def next_stateful_operation_state_info(self) -> StatefulOperatorStateInfo:
        """State info under the next operator id."""
        ...
