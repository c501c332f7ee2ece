"""Differences for people: text, markdown, and an HTML page with both plans side by side."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ...physical.explain.tree import tree_text
from .diff import Difference, PlanDiff
from .printing import cell
from .report import MEANS
from .side import Side

_SIGNS = {"added": "+", "removed": "-", "moved": ">", "changed": "~"}
_WIDEST = 25
_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em; color: #222; background: #fff }
table { border-collapse: collapse; margin: 1em 0 }
td, th { border: 1px solid #ccc; padding: .3em .6em; text-align: left; vertical-align: top }
.plans { display: grid; grid-template-columns: 1fr 1fr; gap: 1em }
pre { background: #f6f6f6; padding: 1em; overflow-x: auto; margin: 0 }
.removed, .added, .changed, .moved { font-weight: 600 }
.removed { color: #b00020 } .added { color: #0a6b2d } .changed, .moved { color: #8a5a00 }
"""


def diff_text(diff: PlanDiff) -> str:
    """The differences as plain text, without a line break at its end."""
    return "\n".join(_lines(diff))


def _lines(diff: PlanDiff) -> Iterator[str]:
    if not diff.differences:
        yield "The queries are the same."
        return
    for each in diff.differences:
        effect = "" if each.effect == "same" else f"  [{each.effect}: {each.why}]"
        yield f"{_SIGNS[each.kind]} {each.what}{effect}"
        if each.was:
            yield f"    - {each.was}"
        if each.now:
            yield f"    + {each.now}"
    yield ""
    yield f"effect on a checkpoint: {diff.verdict}: {MEANS[diff.verdict]}"


def diff_markdown(diff: PlanDiff) -> str:
    """The differences as markdown, without a line break at its end."""
    if not diff.differences:
        return "The queries are the same."
    lines = ["| | what | was | now | effect on state |", "| --- | --- | --- | --- | --- |"]
    for d in diff.differences:
        parts = (d.kind, d.what, d.was, d.now, _effect(d))
        lines.append(f"| {' | '.join(map(cell, parts))} |")
    return "\n".join([*lines, "", f"Effect on a checkpoint: **{diff.verdict}**."])


def _effect(difference: Difference) -> str:
    if difference.effect == "same":
        return ""
    return f"{difference.effect}: {difference.why}"


def diff_html(diff: PlanDiff, was: Side, now: Side) -> str:
    """A page that needs no network: the differences, and the two plans side by side."""
    rows = "".join(
        f'<tr><td class="{d.kind}">{d.kind}</td>'
        + "".join(f"<td>{escape(text)}</td>" for text in (d.what, d.was, d.now, _effect(d)))
        + "</tr>"
        for d in diff.differences
    )
    plans = "".join(
        f"<div><h2>{title}</h2><pre>{escape(tree_text(side.plan, _WIDEST))}</pre></div>"
        for title, side in (("was", was), ("now", now))
    )
    heading = "<tr><th></th><th>what</th><th>was</th><th>now</th><th>effect on state</th></tr>"
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Plan differences</title>"
        f"<style>{_STYLE}</style><h1>Effect on a checkpoint: {diff.verdict}</h1>"
        f"<p>{escape(MEANS[diff.verdict])}</p><table>{heading}{rows}</table>"
        f'<div class="plans">{plans}</div></html>'
    )
