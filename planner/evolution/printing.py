"""Reports and differences for people: on a terminal, and as markdown for a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..advice import advice_text
from .diff import PlanDiff
from .report import MEANS, CheckReport, Finding
from .verdicts import Verdict
from .words import shortened

_MARKS: dict[Verdict, str] = {"same": "✅", "stale": "🟡", "differs": "🔴", "refused": "⛔"}
_BASES = {
    "query": "the old query",
    "stored plan": "the plan that is stored in the checkpoint",
    "checkpoint": "the files of the checkpoint alone",
}


def report_text(report: CheckReport) -> str:
    """The report as plain text, without a line break at its end."""
    return "\n".join(_lines(report))


def _lines(report: CheckReport) -> Iterator[str]:
    yield f"{report.verdict}: {meaning_text(report)}"
    if report.condition or report.phase:
        yield f"  Spark: {report.condition or 'an error without a condition'}, {_where(report)}"
    yield f"  compared with {_BASES[report.compared_with]}"
    if report.on_spark is not None:
        yield f"  {on_spark_text(report)}"
    for operator in report.operators:
        line = f", {operator.line}" if operator.line else ""
        yield f"\noperator {operator.id} {operator.name}{line}: {operator.verdict}"
        for finding in report.findings:
            if finding.operator == operator.id:
                yield from _finding(finding)
    whole = [f for f in report.findings if f.operator is None]
    if whole:
        yield "\nquery:"
        for finding in whole:
            yield from _finding(finding)
    if report.ignored:
        yield "\nignored, as the checkpoint pins them:"
        for each in report.ignored:
            yield f"  {each.setting} stays {each.pinned}, not {each.asked}: {each.action}"
    if report.cannot_tell:
        yield "\nnot known without the old query (--was):"
        for text in report.cannot_tell:
            yield f"  {text}"
    if report.advice is not None:
        yield f"\n{advice_text(report.advice)}"


def meaning_text(report: CheckReport) -> str:
    """What the verdict means."""
    if report.verdict == "same" and report.compared_with == "checkpoint":
        return "nothing in the checkpoint's files speaks against it"
    return MEANS[report.verdict]


def spark_text(report: CheckReport, quote: str = "") -> str:
    """What the query was compared with, and the condition that Spark raises, if it does."""
    compared = f"Compared with {_BASES[report.compared_with]}."
    if not (report.condition or report.phase):
        return compared
    raised = f"{quote}{report.condition or 'an error'}{quote}"
    return f"{compared} Spark raises {raised} {_where(report)}."


def on_spark_text(report: CheckReport) -> str:
    """What Spark does with the change where operators have names."""
    if report.on_spark is None:
        return ""
    verdict, condition = report.on_spark
    return f"on Spark, which knows no names: {verdict}" + (f", {condition}" if condition else "")


def _where(report: CheckReport) -> str:
    return {
        "analysis": "when it analyzes the query",
        "start": "when the query starts",
        "plan": "when it plans the first batch",
        "batch": "when the first batch runs",
    }.get(report.phase or "", "")


def _finding(finding: Finding) -> Iterator[str]:
    yield f"  {finding.verdict}: {finding.what}"
    was, now = shortened(finding.was, finding.now)
    if was:
        yield f"    was: {was}"
    if now:
        yield f"    now: {now}"
    yield f"    why: {finding.why}"
    yield f"    do:  {finding.action}"


def report_markdown(report: CheckReport) -> str:
    """The report as markdown, without a line break at its end."""
    return "\n".join(_markdown(report))


def _markdown(report: CheckReport) -> Iterator[str]:
    yield f"### {_MARKS[report.verdict]} Checkpoint: {report.verdict}"
    yield ""
    yield f"{meaning_text(report).capitalize()}. {spark_text(report, '`')}"
    if report.on_spark is not None:
        yield f"It is {on_spark_text(report)}."
    if report.findings:
        yield ""
        yield "| operator | what | was | now | why | what to do |"
        yield "| --- | --- | --- | --- | --- | --- |"
        names = {o.id: f"{o.id} {o.name}" for o in report.operators}
        for f in report.findings:
            operator = "query" if f.operator is None else names.get(f.operator, str(f.operator))
            was_now = shortened(f.was, f.now)
            cells = (f"{_MARKS[f.verdict]} {operator}", f.what, *was_now, f.why, f.action)
            yield f"| {' | '.join(map(cell, cells))} |"
    if report.ignored:
        yield ""
        yield "Ignored, as the checkpoint pins them:"
        yield ""
        for each in report.ignored:
            yield f"- `{each.setting}` stays `{each.pinned}`, not `{each.asked}`: {each.action}"
    if report.cannot_tell:
        yield ""
        yield f"Not known without the old query: {'; '.join(report.cannot_tell)}."
    for advice in report.advice or ():
        yield ""
        yield f"- **{advice.operator} {advice.name}**: {cell(advice.fault)}."
        yield f"  Cost: {cell(advice.cost)}. Change: {cell(advice.change)}."


def cell(text: str) -> str:
    """Text that cannot break a table."""
    return re.sub(r"([|<>*_`\\])", r"\\\1", " ".join(text.split()))


_SIGNS = {"added": "+", "removed": "-", "moved": ">", "changed": "~"}


def diff_text(diff: PlanDiff) -> str:
    """The differences as plain text, without a line break at its end."""
    return "\n".join(_diff_lines(diff))


def _diff_lines(diff: PlanDiff) -> Iterator[str]:
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
        effect = "" if d.effect == "same" else f"{d.effect}: {d.why}"
        parts = (d.kind, d.what, *shortened(d.was, d.now), effect)
        lines.append(f"| {' | '.join(map(cell, parts))} |")
    return "\n".join([*lines, "", f"Effect on a checkpoint: **{diff.verdict}**."])
