"""The command line: `stateplan explain`, `check`, `diff`, `serve`, `run`, `test` and `state`.

Exit status: 0 good, 1 a difference or a failed run, 2 bad input: a query, file, directory or
checkpoint that cannot be used.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .cli_check import check, diff
from .cli_explain import explain, serve
from .cli_options import settings
from .cli_state import state
from .collecting import without_collections
from .model.errors import DescriptionError, StateplanError

if TYPE_CHECKING:
    from ..runtime.query import StreamingQuery
    from .query import Query

FAILED, BAD_INPUT = 1, 2
# pydantic looks through every installed package for plugins at import, which takes 50 ms.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true")
# Nothing that was given is at fault; and what a batch finds to be: its checkpoint.
_FAILED_RUNS = (
    "STATEPLAN_INTERNAL",
    "CONCURRENT_STREAM_LOG_UPDATE",
    "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT",
)
_BAD_CHECKPOINTS = (
    "STATEPLAN_CORRUPT_STATE",
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_MISSING_STATE_FILE",
)


class _Group(click.Group):
    """Shows stateplan's errors as text instead of tracebacks."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except StateplanError as error:
            show_error(error)
            ctx.exit(status_of(error))
        except KeyboardInterrupt:
            ctx.exit(130)


def status_of(error: StateplanError) -> int:
    """The exit status for an error: 1 if a batch failed, 2 if what was given is at fault.

    Given are the query, its files and directories, the checkpoint, and the machine's Java.
    """
    if error.condition in _BAD_CHECKPOINTS:
        return BAD_INPUT
    failed = error.phase == "batch" or error.condition in _FAILED_RUNS
    return FAILED if failed else BAD_INPUT


def show_error(error: StateplanError) -> None:
    """The error on standard error; in colour on a terminal."""
    message, hint = error.message.rstrip(), error.hint
    if error.condition and not message.startswith("["):
        message = f"[{error.condition}] {message}"
    if not sys.stderr.isatty():
        at = [f"at: {error.place}"] if error.phase == "batch" and error.place else []
        lines = [f"error: {message}", *at, *([f"hint: {hint}"] if hint else [])]
        print("\n".join(lines), file=sys.stderr)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False)
    console.print(Text("error: ", style="bold red") + Text(message))
    if error.phase == "batch" and error.place:
        console.print(Text("at: ", style="bold") + Text(error.place))
    if hint:
        console.print(Text("hint: ", style="bold cyan") + Text(hint))


def _load(file: str, output_mode: str | None, conf: tuple[str, ...]) -> Query:
    from stateplan import load

    return load(file, output_mode=output_mode, conf=settings(conf))


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="stateplan")
def main() -> None:
    """Plan, explain, test and run Spark Structured Streaming queries."""
    # All modules go at the end: looking for cycles among them takes a fifth of a short command.
    atexit.register(gc.freeze)


_ENGINE = click.option(
    "--engine",
    type=click.Choice(["auto", "embedded", "spark"]),
    default="auto",
    show_default=True,
    help="What runs it: Sail in this process without Java, or Spark.",
)


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("file")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@_ENGINE
@click.option("--master", help="Spark's master URL, such as local[4]; or sc://host for Connect.")
@click.option("--output-mode", help="append, update or complete, instead of the file's.")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A Spark setting.")
@click.option("--trigger", help="available_now, once, or an interval such as '10 seconds'.")
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(["differs", "refused"]),
    help="Go on after a change of the query that `stateplan check` calls so.",
)
@click.option("--json", "as_json", is_flag=True, help="Print each batch's progress as JSON.")
@click.option("--report", metavar="FILE", help="Keep a page about the batches in this file.")
def run(
    file: str,
    arguments: tuple[str, ...],
    engine: str,
    master: str | None,
    output_mode: str | None,
    conf: tuple[str, ...],
    trigger: str | None,
    allow: tuple[str, ...],
    as_json: bool,
    report: str | None,
) -> None:
    """Run the query described in FILE until its trigger ends, or Ctrl-C.

    FILE is a description (.yaml, .json), or a PySpark script (.py) or notebook (.ipynb), which runs
    as it is, with ARGUMENTS behind --: the streams that it starts run here.
    """
    if Path(file).suffix.lower() in (".py", ".ipynb"):
        if output_mode or trigger or allow or as_json or report:
            raise click.UsageError("A script says these itself: only --engine, --master, --conf.")
        sys.exit(_run_script(file, arguments, engine, master, conf))
    if arguments:
        raise click.UsageError(f"Only a script takes arguments: {' '.join(arguments)}")
    with without_collections():
        query = _load(file, output_mode, conf)
        _ = query.execution.executed_plan  # refuse what cannot be planned before a JVM starts
        from ..runtime.engines.opening import open_session
        from ..runtime.progress import Listener, ProgressLine, RunReport, json_lines

    listeners: list[Listener] = [json_lines() if as_json else ProgressLine()]
    page = None if report is None else RunReport(report, f"Run of {file}")
    if page is not None:
        listeners.append(page)

    spark, choice = open_session(engine, "run", master=master)
    print(f"engine: {choice.engine}. {choice.reason}", file=sys.stderr)
    try:
        _wait(query.run(spark, trigger=trigger, listeners=listeners, allow=allow))
    finally:
        if page is not None:
            page.write()


def _run_script(
    file: str, arguments: Sequence[str], engine: str, master: str | None, conf: tuple[str, ...]
) -> int:
    if not Path(file).is_file():
        raise DescriptionError.of("STATEPLAN_FILE_NOT_FOUND", file=file)
    from .connect import needed

    with needed("A PySpark script"):
        from ..runtime.connect.script import run_script
        from .connect.script.program import Program

    return run_script(Program(path=file, arguments=arguments), engine, master, settings(conf))


def _wait(query: StreamingQuery) -> None:
    """Until the query ends; Ctrl-C stops it after the batch that runs, another one at once.

    Raises:
        StateplanError: it failed.
    """
    try:
        query.await_termination()
    except KeyboardInterrupt:
        try:
            query.stop_after_batch()
        except KeyboardInterrupt:
            query.stop()
    finally:
        if sys.stderr.isatty():
            print(file=sys.stderr)


@main.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR...")
@_ENGINE
@click.option("--master", help="Spark's master URL, such as local[4].")
@click.option("-k", "chosen", metavar="EXPR", help="Only those named so: 'window and not session'.")
@click.option("-x", "first_failure", is_flag=True, help="Stop at the first failure.")
@click.option("--update", is_flag=True, help="Write what is emitted into the files, as expected.")
@click.option("--json", "json_out", metavar="OUT", help="Write what was emitted to this file.")
@click.option("--junit-xml", "junit_out", metavar="OUT", help="Write the results as JUnit XML.")
def test(paths: tuple[str, ...], **options: Any) -> None:
    """Run scenario files and compare what they emit with what they expect."""
    from ..runtime.testing.scenarios import run_paths

    sys.exit(run_paths(paths, **options))


for command in (explain, check, diff, serve, state):
    main.add_command(command)


if __name__ == "__main__":
    main()
