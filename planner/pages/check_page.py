"""What a change does to a checkpoint, and two plans side by side, as pages."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ...physical.explain.tree import plan_graph
from ...physical.plan import SparkPlan, StateStoreWriter
from ..evolution.check import meanings
from ..evolution.diff import PlanDiff, operator_differences
from ..evolution.printing import meaning_text, spark_text
from ..evolution.report import MEANS, CheckReport, Finding
from ..evolution.side import Side
from ..evolution.words import shortened
from ..model.text.literal_text import time_zone_scope
from .plan_page import PlanView, view_html
from .shell import page, table


def check_page(report: CheckReport, now: Side | None) -> str:
    """A check's verdict and findings, and the new query's plan with them.

    Args:
        report: the check.
        now: the new query; None where it cannot be planned.
    """
    names = {o.id: f"{o.id} {o.name}" for o in report.operators}
    rows = (
        (
            f'<b class="{f.verdict}">{f.verdict}</b>',
            *map(escape, (_operator(f, names), f.what, *shortened(f.was, f.now), f.why, f.action)),
        )
        for f in report.findings
    )
    heads = ("", "operator", "what", "was", "now", "why", "what to do")
    parts = [
        f'<h1>Checkpoint: <span class="{report.verdict}">{report.verdict}</span></h1>',
        f"<p>{escape(meaning_text(report).capitalize())}. {escape(spark_text(report))}</p>",
        table(heads, rows) if report.findings else "",
        _list(
            "Ignored, as the checkpoint pins them",
            (f"{s.setting} stays {s.pinned}, not {s.asked}: {s.action}" for s in report.ignored),
        ),
        _list("Not known without the old query", report.cannot_tell),
    ]
    if now is not None:
        view = PlanView(
            plan=now.plan,
            advice=report.advice or (),
            marks={_place(now.plan, o.id): o.verdict for o in report.operators},
            notes={
                _place(now.plan, o.id): [
                    (f.verdict, f"{f.what}: {f.why}") for f in report.findings if f.operator == o.id
                ]
                for o in report.operators
            },
        )
        with time_zone_scope(now.conf.time_zone):
            parts.append(view_html(view, "now"))
    return page(f"Checkpoint: {report.verdict}", "".join(parts))


def _operator(finding: Finding, names: dict[int, str]) -> str:
    number = finding.operator
    return "query" if number is None else names.get(number, str(number))


def _list(title: str, items: Iterable[str]) -> str:
    shown = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f"<h2>{title}</h2><ul>{shown}</ul>" if shown else ""


def _place(plan: SparkPlan, operator_id: int) -> int:
    """The place of a stateful operator in the plan's graph."""
    return next(
        number
        for number, node in enumerate(plan_graph(plan).nodes)
        if isinstance(node, StateStoreWriter)
        and node.state_info is not None
        and node.state_info.operator_id == operator_id
    )


def diff_page(diff: PlanDiff, was: Side, now: Side) -> str:
    """The differences, and the two plans side by side."""
    rows = (
        (
            f'<b class="{d.kind}">{d.kind}</b>',
            *map(escape, (d.what, *shortened(d.was, d.now))),
            "" if d.effect == "same" else f'<b class="{d.effect}">{d.effect}</b>: {escape(d.why)}',
        )
        for d in diff.differences
    )
    differing = list(operator_differences(was, now))
    with time_zone_scope(now.conf.time_zone):
        findings = [f for f in meanings(was, now) if f.operator is not None]
    plans = []
    for title, side, which in (("was", was, 1), ("now", now, 2)):
        nodes = plan_graph(side.plan).nodes
        marks: dict[int, str] = {
            number: found[0].kind
            for found in differing
            for number, node in enumerate(nodes)
            if node is found[which]
        }
        marks |= {_place(side.plan, f.operator or 0): f.verdict for f in findings}
        view = PlanView(plan=side.plan, title=title, marks=marks)
        with time_zone_scope(side.conf.time_zone):
            plans.append(view_html(view, title))
    heads = ("", "what", "was", "now", "effect on state")
    return page(
        "Plan differences",
        f'<h1>Effect on a checkpoint: <span class="{diff.verdict}">{diff.verdict}</span></h1>'
        f"<p>{escape(MEANS[diff.verdict])}</p>{table(heads, rows) if diff.differences else ''}"
        f'<div class="plans two">{"".join(plans)}</div>',
    )
