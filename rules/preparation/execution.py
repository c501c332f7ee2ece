"""What the preparation rules need to know of the execution they prepare a plan for."""

from __future__ import annotations

from typing import Protocol

from ...physical.plan import SparkPlan
from ...physical.state import OutputMode, StatefulOperatorStateInfo
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.settings.conf import Conf


class Execution(Protocol):
    """One batch of one query: IncrementalExecution, as the rules see it."""

    @property
    def conf(self) -> Conf: ...

    @property
    def output_mode(self) -> OutputMode: ...

    @property
    def watermark_late(self) -> int | None:
        """The query's watermark by which late rows are judged; None before a start."""
        ...

    @property
    def watermark_eviction(self) -> int | None:
        """The query's watermark by which state leaves; None before a start."""
        ...

    @property
    def adaptive(self) -> bool | None:
        """Whether plans are re-planned while they run; None where each plan says so itself."""
        ...

    def plan_subquery(self, logical: LogicalPlan) -> SparkPlan:
        """The operators of a subquery's optimized plan, not yet placed."""
        ...

    def next_stateful_operation_state_info(self) -> StatefulOperatorStateInfo:
        """State info under the next operator id."""
        ...
