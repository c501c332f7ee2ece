"""The formatted plan: a bare tree of numbered operators, then a block for each."""

from __future__ import annotations

from collections.abc import Iterator

from ..exchange import BroadcastExchangeExec, ReusedExchangeExec, ShuffleExchangeExec
from ..plan import SparkPlan
from ..subqueries import PlannedSubquery, ReusedSubqueryExec

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
    outline = "\n".join(_outline(plan, "", "", numbers))
    exchanges = dict(_exchanges(plan, numbers))
    blocks: dict[int, str] = {}
    for node, stage in zip(plan.walk(), _shown_stages(plan), strict=True):
        number = numbers[id(node)]
        if number not in shown:
            blocks[number] = _block(number, node, _mark(node, stage, exchanges), max_fields)
    shown.update(blocks)
    return outline + "\n\n\n" + "\n\n".join(blocks[number] for number in sorted(blocks))


def _outline(plan: SparkPlan, first: str, rest: str, numbers: Numbers) -> Iterator[str]:
    star = "" if plan.codegen_stage is None else "* "
    yield f"{first}{star}{plan.outlined} ({numbers[id(plan)]})"
    children = plan.children
    for i, child in enumerate(children):
        branch, deeper = (":- ", ":  ") if i + 1 < len(children) else ("+- ", "   ")
        yield from _outline(child, rest + branch, rest + deeper, numbers)


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
