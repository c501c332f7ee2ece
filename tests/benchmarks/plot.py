"""The ratios of a report as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .report import Comparison


def draw(comparisons: Sequence[Comparison], path: Path, title: str) -> None:
    """Draw how many times native's rows a second each work reaches, and should reach, as SVG.

    Args:
        comparisons: those without a ratio are left out.
        path: the picture's file.
        title: what was measured where.
    """
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    shown = [c for c in comparisons if c.ratio is not None]
    names = [c.work.name if c.against == "native" else f"{c.work.name}, {c.against}" for c in shown]
    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.42 * len(shown)), layout="constrained")
    bars = axes.barh(names, [c.ratio or 0 for c in shown], color="#3b6ea5")
    axes.bar_label(bars, [f"{c.ratio:.1f}x" for c in shown], padding=3)
    for place, comparison in enumerate(shown):
        if comparison.work.ratio is not None:
            ends = [place - 0.4, place + 0.4]
            axes.plot([comparison.work.ratio] * 2, ends, color="#c0392b", linewidth=2)
    axes.axvline(1, color="#888888", linewidth=0.8)
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.set_xlabel("times native's rows a second (red: to reach)")
    axes.set_title(title, fontsize=9)
    figure.savefig(path, format="svg", metadata={"Date": None})
    pyplot.close(figure)
