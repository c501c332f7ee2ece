"""The formatted plan: a bare tree of numbered operators, then a block for each."""

from __future__ import annotations

from ..plan import SparkPlan


def formatted_text(plan: SparkPlan, max_fields: int) -> str:
    """Spark's formatted physical plan without its heading.

    Operators are numbered bottom-up, left to right.
    """
    numbered: list[SparkPlan] = []
    outline: list[str] = []
    _outline(plan, "", "", numbered, outline)
    stages = _shown_stages(plan)
    order = _preorder_of(plan)
    blocks = [
        _block(number, node, stages[order[number - 1]], max_fields)
        for number, node in enumerate(numbered, 1)
    ]
    return "\n".join(outline) + "\n\n\n" + "\n\n".join(blocks)


def _outline(
    plan: SparkPlan, first: str, rest: str, numbered: list[SparkPlan], lines: list[str]
) -> None:
    place = len(lines)
    lines.append("")
    children = plan.children
    for i, child in enumerate(children):
        branch, deeper = (":- ", ":  ") if i + 1 < len(children) else ("+- ", "   ")
        _outline(child, rest + branch, rest + deeper, numbered, lines)
    numbered.append(plan)
    star = "" if plan.codegen_stage is None else "* "
    lines[place] = f"{first}{star}{plan.outlined} ({len(numbered)})"


def _preorder_of(plan: SparkPlan) -> list[int]:
    """For each operator in the order of numbering, its place from the top, left to right."""
    places: list[int] = []
    count = 0

    def visit(node: SparkPlan) -> None:
        nonlocal count
        place = count
        count += 1
        for child in node.children:
            visit(child)
        places.append(place)

    visit(plan)
    return places


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


def _block(number: int, plan: SparkPlan, stage: int | None, max_fields: int) -> str:
    mark = "" if stage is None else f" [codegen id : {stage}]"
    lines = [f"({number}) {plan.title}{mark}"]
    lines.extend(f"{label}: {value}" for label, value in plan.details(max_fields))
    return "\n".join(lines)
