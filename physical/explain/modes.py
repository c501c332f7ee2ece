"""The explain modes; among them the formatted plan, a bare tree with a block for each operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.plans.statistics import statistics_text
from ...planner.model.settings.conf import Conf
from ...planner.model.text import logical_text
from ...planner.model.text.fields_shown import cut, fields_shown
from ...planner.model.text.literal_text import time_zone_scope
from ...planner.model.text.trees import tree_lines
from ..exchange import BroadcastExchangeExec, ReusedExchangeExec, ShuffleExchangeExec
from ..plan import SparkPlan
from ..subqueries import PlannedSubquery, ReusedSubqueryExec
from .plan_json import json_text
from .stateful import stateful_text
from .tree import dot_text, mermaid_text, tree_text

Numbers = dict[int, int]
"""An operator's number by its identity: equal operators have numbers of their own."""


def formatted_text(plan: SparkPlan, max_fields: int) -> str:
    """Spark's formatted physical plan without its heading.

    Operators are numbered bottom-up, left to right, those of subqueries after those of the plan.
    Subqueries follow the plan, each behind a line that names the operator that asks for it. One
    that several operators ask for has its blocks only once.
    """
    numbers: Numbers = {}
    _number(plan, numbers)
    hosted = list(_subqueries(plan))
    for _, subquery in hosted:
        _number(subquery.computed.child, numbers)
    shown: set[int] = set()
    text = _tree_and_blocks(plan, numbers, shown, max_fields)
    for i, (host, subquery) in enumerate(hosted, 1):
        heading = "\n\n===== Subqueries =====" if i == 1 else ""
        text += (
            f"{heading}\n\nSubquery:{i} Hosting operator id = {numbers[id(host)]}"
            f" Hosting Expression = {subquery.text}"
        )
        if not isinstance(subquery.plan, ReusedSubqueryExec):
            text += "\n" + _tree_and_blocks(subquery.computed.child, numbers, shown, max_fields)
    return text.rstrip()


def _number(plan: SparkPlan, numbers: Numbers) -> None:
    for child in plan.children:
        _number(child, numbers)
    numbers.setdefault(id(plan), len(numbers) + 1)


def _subqueries(plan: SparkPlan) -> Iterator[tuple[SparkPlan, PlannedSubquery]]:
    """The subqueries with the operators that ask for them, those inside one right behind it."""
    for node in plan.walk():
        for expression in node.expressions:
            for subquery in expression.collect(PlannedSubquery):
                yield node, subquery
                if not isinstance(subquery.plan, ReusedSubqueryExec):
                    yield from _subqueries(subquery.computed.child)


def _exchanges(plan: SparkPlan, numbers: Numbers) -> Iterator[tuple[int, int]]:
    """Plan ids of the tree's exchanges, with the exchanges' numbers."""
    for node in plan.walk():
        if isinstance(node, ShuffleExchangeExec | BroadcastExchangeExec):
            yield node.plan_id, numbers[id(node)]


def _tree_and_blocks(plan: SparkPlan, numbers: Numbers, shown: set[int], max_fields: int) -> str:
    outline = tree_lines(plan, lambda node: _outline(node, numbers), lambda node: node.children)
    exchanges = dict(_exchanges(plan, numbers))
    blocks: dict[int, str] = {}
    for node, stage in zip(plan.walk(), _shown_stages(plan), strict=True):
        number = numbers[id(node)]
        if number not in shown:
            blocks[number] = _block(number, node, _mark(node, stage, exchanges), max_fields)
    shown.update(blocks)
    return "\n".join(outline) + "\n\n\n" + "\n\n".join(blocks[number] for number in sorted(blocks))


def _outline(plan: SparkPlan, numbers: Numbers) -> str:
    star = "" if plan.codegen_stage is None else "* "
    return f"{star}{plan.outlined} ({numbers[id(plan)]})"


def _shown_stages(plan: SparkPlan) -> list[int | None]:
    """The codegen ids that blocks show, from the top, left to right.

    Spark tags them on one walk and forgets the stage when the walk leaves it: in a stage with
    several branches (Union) only the first branch's operators show it.
    """
    shown: list[int | None] = []
    current: int | None = None

    def visit(node: SparkPlan, parent_stage: int | None) -> None:
        nonlocal current
        if node.codegen_stage != parent_stage:
            current = node.codegen_stage
        shown.append(current)
        for child in node.children:
            visit(child, node.codegen_stage)

    visit(plan, None)
    return shown


def _mark(plan: SparkPlan, stage: int | None, exchanges: dict[int, int]) -> str:
    if isinstance(plan, ReusedExchangeExec) and plan.exchange.plan_id in exchanges:
        return f" [Reuses operator id: {exchanges[plan.exchange.plan_id]}]"
    return "" if stage is None else f" [codegen id : {stage}]"


def _block(number: int, plan: SparkPlan, mark: str, max_fields: int) -> str:
    lines = [f"({number}) {plan.title}{mark}"]
    lines.extend(f"{label}: {value}" for label, value in plan.details(max_fields))
    return "\n".join(lines)


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
            `mermaid` and `dot` draw the plan (tree.py).

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
