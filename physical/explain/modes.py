"""The explain modes."""

from __future__ import annotations

from typing import Protocol

from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.plans.statistics import statistics_text
from ...planner.model.settings.conf import Conf
from ...planner.model.text import logical_text
from ...planner.model.text.fields_shown import fields_shown
from ...planner.model.text.literal_text import time_zone_scope
from ..plan import SparkPlan
from ..text import cut
from .formatted import formatted_text
from .graph import dot_text, mermaid_text
from .plan_json import json_text
from .stateful import stateful_text
from .tree import tree_text

MODES = (
    *("simple", "extended", "formatted", "cost", "codegen"),  # Spark's
    *("json", "stateful", "mermaid", "dot"),
)
_PHYSICAL = "== Physical Plan ==\n"


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
        mode: one of MODES. `simple` is Spark's text of the physical plan, `extended` that of all
            phases, `formatted` a bare tree with a block per operator; `cost` the optimized plan
            with estimates of its sizes, and the physical one; `codegen` how many stages have
            generated code, and the plan instead of the code; `json` is the plan as JSON
            (plan_json.py), `stateful` what each stateful operator keeps, and for how long;
            `mermaid` and `dot` draw the plan (graph.py).

    Raises:
        StateplanError: what planning the query raises.
    """
    widest = execution.conf.integer("spark.sql.debug.maxToStringFields")
    plan = execution.executed_plan
    with fields_shown(widest), time_zone_scope(execution.conf.time_zone):
        return _text(execution, plan, mode, widest)


def _text(execution: Explainable, plan: SparkPlan, mode: str, widest: int) -> str:
    match mode:
        case "simple":
            return _PHYSICAL + tree_text(plan, widest)
        case "extended":
            return _extended(execution, plan, widest)
        case "formatted":
            return _PHYSICAL + formatted_text(plan, widest)
        case "cost":
            return _optimized(execution, plan, widest, statistics_text)
        case "codegen":
            stages = {node.codegen_stage for node in plan.walk()} - {None}
            found = f"Found {len(stages)} WholeStageCodegen subtrees."
            return f"{found}\n{_PHYSICAL}{tree_text(plan, widest)}"
        case "mermaid":
            return mermaid_text(plan)
        case "dot":
            return dot_text(plan)
        case "json":
            return json_text(plan)
        case _:
            return stateful_text(plan)


def _extended(execution: Explainable, plan: SparkPlan, widest: int) -> str:
    analyzed = execution.analyzed
    columns = [f"{a.name}: {a.data_type.simple}" for a in analyzed.output]
    parts = (
        "== Parsed Logical Plan ==\n" + logical_text.tree_text(execution.logical, widest),
        "== Analyzed Logical Plan ==\n"
        + cut(columns, widest)
        + "\n"
        + logical_text.tree_text(analyzed, widest),
        _optimized(execution, plan, widest),
    )
    return "\n\n".join(parts)


def _optimized(
    execution: Explainable,
    plan: SparkPlan,
    widest: int,
    suffix: logical_text.Suffix | None = None,
) -> str:
    optimized = logical_text.tree_text(execution.optimized, widest, suffix)
    physical = tree_text(plan, widest, verbose=True)
    return f"== Optimized Logical Plan ==\n{optimized}\n\n{_PHYSICAL}{physical}"
