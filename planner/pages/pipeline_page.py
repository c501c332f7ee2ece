"""A pipeline's graph on a page: sources on the left, what is written to the right of it."""

from __future__ import annotations

from html import escape

from ..pipelines.model import DatasetKind, Pipeline
from ..pipelines.printing import edges, graph_text, nodes
from .shell import shortened

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 216, 44, 56, 18, 10
_LETTERS = 28  # that fit in a box


def pipeline_html(pipeline: Pipeline) -> str:
    """The graph as a drawing, and as text below it."""
    title = escape(f"Pipeline {pipeline.name}".strip())
    text = escape(graph_text(pipeline))
    return (
        f'<section><h2>{title}</h2><div class="scroll">{_svg(pipeline)}</div>'
        f"<details><summary>Data sets and flows</summary><pre>{text}</pre></details></section>"
    )


def _columns(pipeline: Pipeline) -> dict[str, int]:
    """How many steps each data set is from the sources."""
    found = {name: 0 for name, _ in nodes(pipeline)}
    arrows = [(source, target) for source, target, _, _ in edges(pipeline)]
    for _ in found:
        for source, target in arrows:
            if source != target:
                found[target] = max(found[target], found[source] + 1)
    return found


def _svg(pipeline: Pipeline) -> str:
    columns = _columns(pipeline)
    rows: dict[int, int] = {}
    at: dict[str, tuple[int, int]] = {}
    for name, column in columns.items():
        row = rows.get(column, 0)
        rows[column] = row + 1
        at[name] = (
            _MARGIN + column * (_WIDTH + _GAP_X),
            _MARGIN + row * (_HEIGHT + _GAP_Y),
        )
    width = max((x for x, _ in at.values()), default=0) + _WIDTH + _MARGIN
    height = max((y for _, y in at.values()), default=0) + _HEIGHT + _MARGIN
    parts = [
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img"'
        f' aria-label="{escape(graph_text(pipeline), quote=True)}">'
    ]
    for source, target, flow, read in edges(pipeline):
        (x1, y1), (x2, y2) = at[source], at[target]
        x1, y1, y2 = x1 + _WIDTH, y1 + _HEIGHT // 2, y2 + _HEIGHT // 2
        middle = (x1 + x2) // 2
        manner = "as a stream" if read.streaming else "at rest"
        title = escape(f"flow {flow.name} reads {source} {manner}")
        kind = "edge" if read.streaming else "edge shuffled"
        parts.append(
            f'<path class="{kind}" d="M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}">'
            f"<title>{title}</title></path>"
        )
    for name, kind_of in nodes(pipeline):
        parts.append(_box(name, kind_of, at[name]))
    return "".join([*parts, "</svg>"])


def _box(name: str, kind: DatasetKind | None, at: tuple[int, int]) -> str:
    x, y = at
    below = "source" if kind is None else kind.value
    style = "node source" if kind is None else "node"
    label = escape(f"{name}: {below}")
    return (
        f'<g class="{style}"><title>{label}</title>'
        f'<rect class="box" x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="7"/>'
        f'<text x="{x + 12}" y="{y + 18}">{escape(shortened(name, _LETTERS))}</text>'
        f'<text class="small" x="{x + 12}" y="{y + 35}">{escape(below)}</text></g>'
    )
