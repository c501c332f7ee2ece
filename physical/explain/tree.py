"""The one printer of plan trees."""

from __future__ import annotations

from ..plan import SparkPlan
from ..subqueries import planned_subqueries

MAX_FIELDS = 25  # spark.sql.debug.maxToStringFields


def line(plan: SparkPlan, max_fields: int = MAX_FIELDS, *, verbose: bool = False) -> str:
    """The operator's own line: stage mark, `!` for missing input, name, arguments."""
    mark = "" if plan.codegen_stage is None else f"*({plan.codegen_stage}) "
    mark += "!" if plan.misses_input else ""
    arguments = plan.verbose_arguments(max_fields) if verbose else plan.arguments(max_fields)
    if not arguments:
        return f"{mark}{plan.node_name}"
    if plan.in_brackets:
        return f"{mark}{plan.node_name}({arguments})"
    return f"{mark}{plan.node_name} {arguments}"


def tree_text(plan: SparkPlan, max_fields: int = MAX_FIELDS, *, verbose: bool = False) -> str:
    """The plan as a tree, one operator a line, without a line break at the end."""
    lines: list[str] = []

    def draw(node: SparkPlan, first: str, rest: str) -> None:
        lines.append(first + line(node, max_fields, verbose=verbose))
        inner = list(planned_subqueries(node))
        deeper = rest + (":  " if node.children else "   ")
        for i, subquery in enumerate(inner):
            branch, below = (":- ", ":  ") if i + 1 < len(inner) else ("+- ", "   ")
            draw(subquery, deeper + branch, deeper + below)
        *others, last = node.children or (None,)
        for child in others:
            assert child is not None
            draw(child, rest + ":- ", rest + ":  ")
        if last is not None:
            draw(last, rest + "+- ", rest + "   ")

    draw(plan, "", "")
    return "\n".join(lines)
