"""Differences for people: text and markdown."""

from __future__ import annotations

from collections.abc import Iterator

from .diff import Difference, PlanDiff
from .printing import cell
from .report import MEANS
from .words import shortened

_SIGNS = {"added": "+", "removed": "-", "moved": ">", "changed": "~"}


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
        was, now = shortened(each.was, each.now)
        if was:
            yield f"    - {was}"
        if now:
            yield f"    + {now}"
    yield ""
    yield f"effect on a checkpoint: {diff.verdict}: {MEANS[diff.verdict]}"


def diff_markdown(diff: PlanDiff) -> str:
    """The differences as markdown, without a line break at its end."""
    if not diff.differences:
        return "The queries are the same."
    lines = ["| | what | was | now | effect on state |", "| --- | --- | --- | --- | --- |"]
    for d in diff.differences:
        parts = (d.kind, d.what, *shortened(d.was, d.now), _effect(d))
        lines.append(f"| {' | '.join(map(cell, parts))} |")
    return "\n".join([*lines, "", f"Effect on a checkpoint: **{diff.verdict}**."])


def _effect(difference: Difference) -> str:
    if difference.effect == "same":
        return ""
    return f"{difference.effect}: {difference.why}"
