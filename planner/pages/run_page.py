"""A run over time: batch times, rows, state and the watermark as charts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from .shell import page, table

Progress = Mapping[str, Any]
_POINTS = 400  # of a chart
_ROWS = 30  # of the table
_WIDTH, _HEIGHT, _EDGE = 480, 120, 6


def run_page(title: str, batches: Sequence[Progress]) -> str:
    """A page about the batches of a run.

    Args:
        title: text.
        batches: figures with the fields of Spark's StreamingQueryProgress, the oldest first.
    """
    charts = "".join(chart(name, unit, batches, value) for name, unit, value in _CHARTS)
    rows = (
        [str(b["batchId"]), escape(str(b["timestamp"]))]
        + [_shown(value(b), unit) for _, unit, value in _CHARTS]
        for b in reversed(batches[-_ROWS:])
    )
    heads = ("batch", "started", *(name.lower() for name, _, _ in _CHARTS))
    last = f"{len(batches):,} batches" + (f", until {batches[-1]['timestamp']}" if batches else "")
    body = f'<h1>{escape(title)}</h1><p>{escape(last)}</p><div class="charts">{charts}</div>'
    return page(title, body + (f"<h2>Latest batches</h2>{table(heads, rows)}" if batches else ""))


def chart(
    name: str, unit: str, batches: Sequence[Progress], value: Callable[[Progress], float | None]
) -> str:
    """One figure over the batches; those without it have no point.

    Of many batches the highest of each few is drawn, and the last.
    """
    known = [(int(b["batchId"]), v) for b in batches if (v := value(b)) is not None]
    if not known:
        return ""
    step = -(-len(known) // _POINTS)
    parts = (known[i : i + step] for i in range(0, len(known) - 1, step))
    points = [*(max(part, key=lambda point: point[1]) for part in parts), known[-1]]
    first, last = known[0][0], known[-1][0]
    values = [v for _, v in points]
    least, most = (min(values) if unit == "time" else 0.0), max(values)
    across, up = (_WIDTH - 2 * _EDGE) / max(1, last - first), _HEIGHT - 2 * _EDGE
    xy = [
        (
            _EDGE + (number - first) * across,
            _HEIGHT - _EDGE - (v - least) / ((most - least) or 1) * up,
        )
        for number, v in points
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in xy)
    # A watermark is never behind what it was.
    beside = f"from {_shown(least, unit)}" if unit == "time" else f"most {_shown(most, unit)}"
    label = f"{name}: {_shown(values[-1], unit)}, {beside}"
    return (
        f'<figure class="chart"><figcaption><b>{escape(name)}</b> {_shown(values[-1], unit)}'
        f" <small>{beside}, batches {first} to {last}</small></figcaption>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}">'
        f'<line x1="0" x2="{_WIDTH}" y1="{_HEIGHT - _EDGE}" y2="{_HEIGHT - _EDGE}"/>'
        f'<polyline points="{line}"/><circle cx="{xy[-1][0]:.1f}" cy="{xy[-1][1]:.1f}" r="3"/>'
        "</svg></figure>"
    )


def _of_state(key: str) -> Callable[[Progress], float | None]:
    def value(progress: Progress) -> float | None:
        operators = progress.get("stateOperators") or ()
        return float(sum(o[key] for o in operators)) if operators else None

    return value


def _watermark(progress: Progress) -> float | None:
    """Seconds since 1970; None before there is one."""
    text = progress.get("eventTime", {}).get("watermark")
    seconds = 0.0 if text is None else dt.datetime.fromisoformat(text).timestamp()
    return seconds or None


def _shown(value: float | None, unit: str) -> str:
    match unit:
        case _ if value is None:
            return ""
        case "time":
            return f"{dt.datetime.fromtimestamp(value, dt.UTC):%Y-%m-%d %H:%M:%S}"
        case "s":
            return f"{value:,.2f} s"
        case "bytes":
            for size, word in ((1e6, "MB"), (1e3, "kB")):
                if value >= size:
                    return f"{value / size:,.1f} {word}"
            return f"{value:,.0f} B"
        case _:
            return f"{value:,.0f}"


_CHARTS: tuple[tuple[str, str, Callable[[Progress], float | None]], ...] = (
    ("Batch time", "s", lambda b: b["batchDuration"] / 1000),
    ("Input rows", "rows", lambda b: float(b["numInputRows"])),
    ("State rows", "rows", _of_state("numRowsTotal")),
    ("State size", "bytes", _of_state("memoryUsedBytes")),
    ("Late rows", "rows", _of_state("numRowsDroppedByWatermark")),
    ("Watermark", "time", _watermark),
)
