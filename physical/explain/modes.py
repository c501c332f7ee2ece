"""The explain modes."""

from __future__ import annotations

from typing import Literal, Protocol, get_args

from ...planner.model.conf import Conf
from ...planner.model.errors import DescriptionError
from ...planner.model.logical import LogicalPlan
from ..plan import SparkPlan
from .tree import tree_text

Mode = Literal["simple", "extended"]
MODES: tuple[str, ...] = get_args(Mode)


class Explainable(Protocol):
    """A query's phases, as IncrementalExecution has them."""

    @property
    def conf(self) -> Conf: ...
    @property
    def logical(self) -> LogicalPlan: ...
    @property
    def analyzed(self) -> LogicalPlan: ...
    @property
    def optimized(self) -> LogicalPlan: ...
    @property
    def executed_plan(self) -> SparkPlan: ...


def explain(execution: Explainable, mode: str = "simple") -> str:
    """The text of a query's plan, ending without a line break.

    Args:
        execution: the query's phases.
        mode: `simple` (Spark's physical plan), `extended` (all four phases).

    Raises:
        DescriptionError: there is no such mode.
        StateplanError: what planning the query raises.
    """
    widest = execution.conf.integer("spark.sql.debug.maxToStringFields")
    match mode:
        case "simple":
            return "== Physical Plan ==\n" + tree_text(execution.executed_plan, widest)
        case _:
            raise DescriptionError(
                "STATEPLAN_UNKNOWN_EXPLAIN_MODE",
                f"There is no explain mode '{mode}'.",
                hint=f"Use one of {', '.join(MODES)}.",
            )
