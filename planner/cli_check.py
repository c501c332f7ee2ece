"""`stateplan check`: may a changed query go on from its checkpoint; `diff`: what changed in it."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from .cli_options import settings
from .collecting import without_collections
from .evolution.verdicts import VERDICTS

if TYPE_CHECKING:
    from .evolution.check import Asked
    from .evolution.report import CheckReport
    from .evolution.stored import StoredCheckpoint


@click.command()
@click.argument("query")
@click.option("--checkpoint", required=True, metavar="DIR", help="The query's checkpoint.")
@click.option("--was", metavar="OLD", help="The query that wrote the checkpoint.")
@click.option("--query", "name", metavar="NAME", help="Which of a script's streams.")
@click.option("--catalog", metavar="FILE", help="A YAML file with tables for SQL and scripts.")
@click.option(
    "--conf", multiple=True, metavar="KEY=VALUE", help="A Spark setting of the new query."
)
@click.option("--output-mode", help="append, update or complete, instead of the file's.")
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(VERDICTS[1:]),
    help="A verdict that ends with status 0 too.",
)
@click.option("--advice", is_flag=True, help="Say what in QUERY costs more than one may expect.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--markdown", is_flag=True, help="Print it for a pull request's comment.")
@click.option("--html", metavar="FILE", help="Write a page with the plan, too.")
@without_collections()
def check(
    query: str,
    checkpoint: str,
    was: str | None,
    name: str | None,
    catalog: str | None,
    conf: tuple[str, ...],
    output_mode: str | None,
    allow: tuple[str, ...],
    advice: bool,
    as_json: bool,
    markdown: bool,
    html: str | None,
) -> None:
    """Say whether QUERY may go on from a checkpoint. Needs no Java, and reads no row of state.

    QUERY and OLD are descriptions, SQL files, PySpark scripts, or plans written by
    `explain --mode json`. The verdict is `same`, `stale` (the sink keeps old rows), `differs` (the
    state means something else) or `refused` (by Spark). The status is 0 for `same`, else 1; 2 for
    bad input.
    """
    from .evolution.check import advised, check_against
    from .evolution.inputs import Reading, load_asked
    from .evolution.printing import report_markdown, report_text
    from .evolution.reading import read_checkpoint

    reading = Reading(catalog=catalog, conf=settings(conf), output_mode=output_mode, name=name)
    stored = read_checkpoint(checkpoint)
    old = None if was is None else load_asked(was, Reading(catalog=catalog, name=name))
    asked = load_asked(query, reading)
    report = check_against(asked, stored, old)
    if advice:
        report = advised(report, asked)
    if html is not None:
        _write_page(html, report, asked, stored)
    if as_json:
        print(report.json_text())
    elif markdown:
        print(report_markdown(report))
    else:
        print(report_text(report))
    sys.exit(0 if report.verdict in ("same", *allow) else 1)


def _write_page(file: str, report: CheckReport, asked: Asked, stored: StoredCheckpoint) -> None:
    from .evolution.check import pinned_settings, planned
    from .model.errors import AnalysisError, PlanningError, StreamingCheckError
    from .pages.check_page import check_page
    from .pages.shell import write_page

    now = None
    with suppress(AnalysisError, StreamingCheckError, PlanningError):  # the report says so
        now = planned(asked, pinned_settings(stored), stored.names)
    write_page(file, check_page(report, now))


@click.command()
@click.argument("was")
@click.argument("now")
@click.option("--query", "name", metavar="NAME", help="Which of the scripts' streams.")
@click.option("--catalog", metavar="FILE", help="A YAML file with tables for SQL and scripts.")
@click.option("--json", "as_json", is_flag=True, help="Print the differences as JSON.")
@click.option("--markdown", is_flag=True, help="Print them for a pull request's comment.")
@click.option("--html", metavar="FILE", help="Write a page with both plans side by side.")
@without_collections()
def diff(
    was: str,
    now: str,
    name: str | None,
    catalog: str | None,
    as_json: bool,
    markdown: bool,
    html: str | None,
) -> None:
    """Print what differs between two queries, and what each difference does to state.

    WAS and NOW are what `stateplan check` takes. The status is 0 if they are the same, else 1.
    """
    from .evolution.check import planned
    from .evolution.diff import diff_plans
    from .evolution.inputs import Reading, load_asked
    from .evolution.printing import diff_markdown, diff_text

    reading = Reading(catalog=catalog, name=name)
    old, new = (planned(load_asked(each, reading), {}) for each in (was, now))
    found = diff_plans(old, new)
    if html is not None:
        from .pages.check_page import diff_page
        from .pages.shell import write_page

        write_page(html, diff_page(found, old, new))
    if as_json:
        print(found.json_text())
    else:
        print(diff_markdown(found) if markdown else diff_text(found))
    sys.exit(1 if found.differences else 0)
