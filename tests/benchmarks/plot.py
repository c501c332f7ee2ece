"""The ratios of a report as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .job import OURS
from .report import Comparison

_COLOURS = ("#3b6ea5", "#7fa650")


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

    shown = [c for c in comparisons if any(c.ratio(engine) for engine in OURS)]
    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.6 * len(shown)), layout="constrained")
    for number, engine in enumerate(OURS):
        places = [place + 0.4 * number - 0.2 for place in range(len(shown))]
        ratios = [c.ratio(engine) or 0 for c in shown]
        bars = axes.barh(places, ratios, height=0.38, color=_COLOURS[number], label=engine)
        axes.bar_label(bars, [f"{r:.1f}x" if r else "" for r in ratios], padding=3)
        for place, comparison in zip(places, shown, strict=True):
            goal = comparison.work.goals.get(engine)
            if goal is not None and goal.ratio is not None:
                axes.plot([goal.ratio] * 2, [place - 0.19, place + 0.19], color="#c0392b")
    axes.set_yticks(range(len(shown)), [c.name for c in shown])
    axes.axvline(1, color="#888888", linewidth=0.8)
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.legend(loc="lower right")
    axes.set_xlabel("times native's rows a second (red: to reach)")
    axes.set_title(title, fontsize=9)
    figure.savefig(path, format="svg", metadata={"Date": None})
    pyplot.close(figure)
