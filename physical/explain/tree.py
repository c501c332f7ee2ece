"""The one printer of plan trees."""

from __future__ import annotations

from ..plan import SparkPlan

MAX_FIELDS = 25  # spark.sql.debug.maxToStringFields


def line(plan: SparkPlan, max_fields: int = MAX_FIELDS) -> str:
    """The operator's own line: stage mark, name, arguments."""
    mark = "" if plan.codegen_stage is None else f"*({plan.codegen_stage}) "
    arguments = plan.arguments(max_fields)
    if not arguments:
        return f"{mark}{plan.node_name}"
    if plan.in_brackets:
        return f"{mark}{plan.node_name}({arguments})"
    return f"{mark}{plan.node_name} {arguments}"


def tree_text(plan: SparkPlan, max_fields: int = MAX_FIELDS) -> str:
    """The plan as a tree, one operator a line, without a line break at the end."""
    lines: list[str] = []
    _draw(plan, "", "", max_fields, lines)
    return "\n".join(lines)


def _draw(plan: SparkPlan, first: str, rest: str, max_fields: int, lines: list[str]) -> None:
    lines.append(first + line(plan, max_fields))
    children = plan.children
    for i, child in enumerate(children):
        if i + 1 < len(children):
            _draw(child, rest + ":- ", rest + ":  ", max_fields, lines)
        else:
            _draw(child, rest + "+- ", rest + "   ", max_fields, lines)
