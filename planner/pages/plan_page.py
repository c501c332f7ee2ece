"""A plan as a graph, with what there is to say of each operator beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from html import escape

from ...physical.basic import FilterExec
from ...physical.exchange import BroadcastExchangeExec, ShuffleExchangeExec
from ...physical.explain.state_facts import keyed_on
from ...physical.explain.stateful import facts_of, place_text
from ...physical.explain.tree import PlanGraph, plan_graph
from ...physical.plan import SparkPlan, StatefulOperator, StateStoreWriter
from ..advice import Advice, advice_on_execution
from ..incremental_execution import IncrementalExecution
from ..model.frozen import dataclass
from ..model.text.fields_shown import cut
from ..model.text.text import pretty
from .shell import facts_list, page, shortened

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 264, 44, 26, 24, 10
_LETTERS, _SMALL_LETTERS = 35, 37  # that fit in a box
_WIDEST = 100  # columns in a list
_HUES = (210, 30, 140, 280, 340, 60)  # of stages, in turn
_Exchange = (ShuffleExchangeExec, BroadcastExchangeExec)


@dataclass(frozen=True, kw_only=True)
class PlanView:
    """One plan on a page.

    Attributes:
        plan: the plan.
        title: text above it.
        advice: on it.
        marks: operators by their place in the tree (0 is the root) that have a verdict or a kind of
            difference, which they are coloured by.
        notes: what else there is to say of operators, by their place.
    """

    plan: SparkPlan
    title: str = ""
    advice: Sequence[Advice] = ()
    marks: Mapping[int, str] = field(default_factory=dict)
    notes: Mapping[int, Sequence[tuple[str, str]]] = field(default_factory=dict)


def explain_page(title: str, views: Sequence[PlanView], above: str = "") -> str:
    """A page with one or more plans, and HTML above them."""
    shown = "".join(view_html(view, f"p{place}") for place, view in enumerate(views))
    return page(title, f"<h1>{escape(title)}</h1>{above}{shown}")


def view_of(execution: IncrementalExecution, title: str = "") -> PlanView:
    """A planned query with the advice on it."""
    advice = advice_on_execution(execution)
    return PlanView(plan=execution.executed_plan, title=title, advice=advice)


def view_html(view: PlanView, prefix: str) -> str:
    """A plan's graph, its panel and the advice on it.

    Args:
        view: the plan.
        prefix: of its ids, which distinguishes them from those of other plans on the page.
    """
    graph = plan_graph(view.plan)
    ids = [f"{prefix}-op{number}" for number in range(len(graph.nodes))]
    stage = stages(graph)
    panel = "".join(
        _section(node, ids[number], view.notes.get(number, ()), stage[number])
        for number, node in enumerate(graph.nodes)
    )
    title = f"<h2>{escape(view.title)}</h2>" if view.title else ""
    return (
        f'<section>{title}{_advice(view, graph, ids)}<div class="view"><div class="scroll">'
        f'{_svg(graph, ids, view.marks)}</div><aside class="panel" aria-live="polite"'
        ' aria-label="operator"><button class="close" aria-label="close">×</button>'
        f"{panel}</aside></div></section>"
    )


def _advice(view: PlanView, graph: PlanGraph, ids: Sequence[str]) -> str:
    if not view.advice:
        return ""
    places = {
        node.state_info.operator_id: ids[number]
        for number, node in enumerate(graph.nodes)
        if isinstance(node, StateStoreWriter) and node.state_info is not None
    }
    items = "".join(
        f'<li><a href="#{places[a.operator]}" data-op="{places[a.operator]}">{a.operator}'
        f" {escape(a.name)}</a>: {escape(a.fault)}.<br>Cost: {escape(a.cost)}.<br>Change:"
        f" {escape(a.change)}.</li>"
        for a in view.advice
    )
    summary = f"<summary>Advice ({len(view.advice)})</summary>"
    return f'<details class="advice">{summary}<ul>{items}</ul></details>'


def _section(node: SparkPlan, id_: str, notes: Sequence[tuple[str, str]], stage: int) -> str:
    facts = list(notes)
    origin = node.place
    if isinstance(node, StateStoreWriter):
        facts += facts_of(node)
        origin = node.origin or origin
    if origin is not None:
        facts.append(("from", place_text(origin)))
    columns = cut([f"{c.name} {c.data_type.simple}" for c in node.output], _WIDEST)
    facts += [("stage", str(stage)), ("columns", columns), ("arguments", node.arguments(_WIDEST))]
    shown = facts_list((label, text) for label, text in facts if text)
    return f'<section class="op" id="{id_}"><h3>{escape(node.node_name)}</h3>{shown}</section>'


# ------------------------------------------------------------------------------------- graph


def places(graph: PlanGraph) -> list[tuple[float, int]]:
    """Where each operator stands: its column, and its row, 0 at the top.

    Sources have columns of their own, in the order of the tree; an operator stands above the middle
    of its inputs, and an exchange that several read below all of them.
    """
    from networkx import DiGraph, topological_sort  # takes a while to import

    flow: DiGraph[int] = DiGraph()
    flow.add_nodes_from(range(len(graph.nodes)))
    flow.add_edges_from((parent, child) for child, parent in graph.edges)
    rows = [0] * len(graph.nodes)
    for number in topological_sort(flow):
        for child in flow[number]:
            rows[child] = max(rows[child], rows[number] + 1)
    columns: list[float | None] = [None] * len(graph.nodes)
    leaves = 0

    def column(number: int) -> float:
        nonlocal leaves
        known = columns[number]
        if known is not None:
            return known
        own = [child for child in flow[number] if columns[child] is None]
        if not own:
            found = float(leaves)
            leaves += 1
        else:
            below = [column(child) for child in own]
            found = sum(below) / len(below)
        columns[number] = found
        return found

    column(0)
    return [(x or 0.0, y) for x, y in zip(columns, rows, strict=True)]


def stages(graph: PlanGraph) -> list[int]:
    """The stage of each operator, 1 the first that runs; an exchange belongs to its input's."""
    parents = dict(reversed(graph.edges))
    heads: list[int] = []
    for number in range(len(graph.nodes)):
        parent = parents.get(number)
        cut_off = parent is None or isinstance(graph.nodes[number], _Exchange)
        heads.append(number if cut_off or parent is None else heads[parent])
    order = sorted(set(heads), reverse=True)
    return [order.index(head) + 1 for head in heads]


def _svg(graph: PlanGraph, ids: Sequence[str], marks: Mapping[int, str]) -> str:
    found, stage = places(graph), stages(graph)
    xy = [(_MARGIN + x * (_WIDTH + _GAP_X), _MARGIN + y * (_HEIGHT + _GAP_Y)) for x, y in found]
    width = max(x for x, _ in xy) + _WIDTH + _MARGIN
    height = max(y for _, y in xy) + _HEIGHT + _MARGIN
    parts = [
        f'<svg width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
        ' role="group" aria-label="plan, the sink at the top">'
    ]
    for child, parent in graph.edges:
        (x1, y1), (x2, y2) = xy[child], xy[parent]
        x1, x2, y2 = x1 + _WIDTH / 2, x2 + _WIDTH / 2, y2 + _HEIGHT
        middle = (y1 + y2) / 2
        kind = "edge shuffled" if isinstance(graph.nodes[child], _Exchange) else "edge"
        parts.append(
            f'<path class="{kind}" d="M{x1:g} {y1:g}C{x1:g} {middle:g} {x2:g} {middle:g}'
            f' {x2:g} {y2:g}"/>'
        )
    for number, node in enumerate(graph.nodes):
        parts += _box(node, ids[number], xy[number], stage[number], marks.get(number, ""))
    return "".join([*parts, "</svg>"])


def _box(
    node: SparkPlan, id_: str, at: tuple[float, float], stage: int, mark: str
) -> Iterator[str]:
    kinds = ["node", mark]
    if isinstance(node, StatefulOperator):
        kinds.append("state")
    if isinstance(node, _Exchange):
        kinds.append("exchange")
    if not node.children:
        kinds.append("source")
    name, brief = node.node_name, _brief(node)
    label = escape(f"{name}, stage {stage}{', ' + mark if mark else ''}: {brief}")
    x, y = at
    hue = _HUES[stage % len(_HUES)]
    yield (
        f'<a class="{" ".join(k for k in kinds if k)}" href="#{id_}" data-op="{id_}"'
        f' aria-label="{label}"><title>{label}</title>'
        f'<rect class="box" x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="7"/>'
        f'<rect x="{x:g}" y="{y + 7:g}" width="4" height="{_HEIGHT - 14}"'
        f' fill="hsl({hue} 60% 50%)"/>'
        f'<text x="{x + 12:g}" y="{y + 18:g}">{escape(shortened(name, _LETTERS))}</text>'
        f'<text class="small" x="{x + 12:g}" y="{y + 35:g}">'
        f"{escape(shortened(brief, _SMALL_LETTERS))}</text></a>"
    )


def _brief(node: SparkPlan) -> str:
    """What distinguishes an operator from others of its kind."""
    match node:
        case StateStoreWriter(state_info=info):
            number = "" if info is None else f"state {info.operator_id}: "
            return number + keyed_on(node)
        case ShuffleExchangeExec(partitioning=partitioning):
            keys = ", ".join(map(pretty, getattr(partitioning, "keys", ())))
            return f"{partitioning.num_partitions} partitions" + (f" by {keys}" if keys else "")
        case FilterExec(condition=condition):
            return pretty(condition)
        case _:
            name = getattr(node, "name", "")
            columns = ", ".join(column.name for column in node.output)
            return f"{name}: {columns}" if isinstance(name, str) and name else columns
