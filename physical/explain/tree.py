"""A plan as a tree, and as a graph in which data flows from the sources to the sink."""

from __future__ import annotations

from ...planner.model.frozen import dataclass
from ...planner.model.text.fields_shown import MAX_FIELDS, cut
from ...planner.model.text.trees import tree_lines
from ..exchange import BroadcastExchangeExec, ReusedExchangeExec, ShuffleExchangeExec
from ..plan import SparkPlan, StatefulOperator
from ..subqueries import planned_subqueries


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
    return "\n".join(
        tree_lines(
            plan,
            line=lambda node: line(node, max_fields, verbose=verbose),
            children=lambda node: node.children,
            inner=lambda node: tuple(planned_subqueries(node)),
        )
    )


_WIDEST = 3  # columns in a label
MERMAID_ENTITIES = str.maketrans({'"': "#quot;", "<": "#lt;", ">": "#gt;"})
"""How Mermaid wants signs of its own in texts."""


@dataclass(frozen=True)
class PlanGraph:
    """Operators numbered from the root, 0 first, and the edges from child to parent.

    A reused exchange is no operator of its own: its parent gets a second edge from the exchange.
    """

    nodes: tuple[SparkPlan, ...]
    edges: tuple[tuple[int, int], ...]


def plan_graph(plan: SparkPlan) -> PlanGraph:
    """The graph of a plan, in the order of the tree."""
    nodes: list[SparkPlan] = []
    edges: list[tuple[int, int]] = []
    exchanges: dict[int, int] = {}
    reused: list[tuple[int, int]] = []

    def visit(node: SparkPlan, parent: int | None) -> None:
        if isinstance(node, ReusedExchangeExec) and parent is not None:
            reused.append((node.exchange.plan_id, parent))
            return
        number = len(nodes)
        nodes.append(node)
        if isinstance(node, ShuffleExchangeExec | BroadcastExchangeExec):
            exchanges[node.plan_id] = number
        if parent is not None:
            edges.append((number, parent))
        for child in node.children:
            visit(child, number)

    visit(plan, None)
    edges.extend((exchanges[plan_id], parent) for plan_id, parent in reused)
    return PlanGraph(tuple(nodes), tuple(edges))


def _label(node: SparkPlan) -> tuple[str, ...]:
    """The lines in an operator's box: its name, its columns, its state."""
    mark = "" if node.codegen_stage is None else f"*({node.codegen_stage}) "
    lines = [mark + node.node_name, cut([a.name for a in node.output], _WIDEST)]
    if isinstance(node, StatefulOperator) and node.state_info is not None:
        lines.append(f"state {node.state_info.operator_id}, {node.num_stores} stores")
    return tuple(line for line in lines if line)


def mermaid_text(plan: SparkPlan) -> str:
    """The plan as a Mermaid flowchart; operators with state have rounded boxes."""
    graph = plan_graph(plan)
    lines = ["flowchart BT"]
    for number, node in enumerate(graph.nodes):
        text = "<br>".join(part.translate(MERMAID_ENTITIES) for part in _label(node))
        box = f'(["{text}"])' if isinstance(node, StatefulOperator) else f'["{text}"]'
        lines.append(f"    n{number}{box}")
    lines.extend(f"    n{child} --> n{parent}" for child, parent in graph.edges)
    return "\n".join(lines)


def dot_text(plan: SparkPlan) -> str:
    """The plan in Graphviz's language; operators with state have rounded boxes."""
    graph = plan_graph(plan)
    lines = ["digraph plan {", "    rankdir=BT", "    node [shape=box]"]
    for number, node in enumerate(graph.nodes):
        text = "\\n".join(part.replace("\\", "\\\\").replace('"', '\\"') for part in _label(node))
        style = ", style=rounded" if isinstance(node, StatefulOperator) else ""
        lines.append(f'    n{number} [label="{text}"{style}]')
    lines.extend(f"    n{child} -> n{parent}" for child, parent in graph.edges)
    return "\n".join([*lines, "}"])
