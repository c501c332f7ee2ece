"""The command line: `stateplan state show`, `rescale`, `import` and `export`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from .cli_options import settings
from .model.errors import DescriptionError

if TYPE_CHECKING:
    from ..runtime.native.state_import import Asked, Taken

SHOWN_ROWS = 20


@click.group()
def state() -> None:
    """Look into a checkpoint's state, change its stores, exchange it with Spark."""


@state.command()
@click.argument("checkpoint")
@click.option(
    "--operator", type=int, metavar="N", help="The operator's id; the only one needs none."
)
@click.option(
    "--version", type=int, metavar="V", help="The state after batch V - 1, instead of the last."
)
@click.option("--where", metavar="CONDITION", help="Spark SQL, such as \"user = 'ann' AND n > 3\".")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["terminal", "json", "parquet"]),
    default="terminal",
    show_default=True,
)
@click.option("--output", metavar="FILE", help="Write the rows to this file.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="ROWS",
    help=f"At most so many rows; on a terminal {SHOWN_ROWS} unless told.",
)
def show(
    checkpoint: str,
    operator: int | None,
    version: int | None,
    where: str | None,
    format_: Literal["terminal", "json", "parquet"],
    output: str | None,
    limit: int | None,
) -> None:
    """Print the state in CHECKPOINT: figures of each operator, and one operator's rows.

    CHECKPOINT is stateplan's or Spark's. Needs Java and Spark for state of Spark's RocksDB provider
    alone. Columns are the key's and the value's by name, `event_time` (when
    a watermark evicts the row; Spark does not store it) and `partition_id` (the store). Of
    transformWithState the column `variable` names the state variable, or says `timers`.
    """
    from ..runtime.inspection import output as out
    from ..runtime.inspection.table import filtered
    from ..runtime.native.showing import figures, open_states

    states = open_states(checkpoint)
    chosen = states.choose(operator)
    if not chosen:
        print("The query keeps no state.")
        return
    asks_rows = where is not None or output is not None or format_ == "parquet"
    if asks_rows and len(chosen) != 1:
        raise DescriptionError.of(
            "STATEPLAN_WHICH_OPERATOR", hint=f"Choose one with --operator: {states.listed}."
        )
    if format_ == "parquet" and output is None:
        raise DescriptionError.of("STATEPLAN_OUTPUT_MISSING")
    found = [states.state(each, version) for each in chosen]
    rows = None
    if len(found) == 1:
        printed = format_ == "terminal" and output is None
        rows = filtered(found[0], where, SHOWN_ROWS if printed and limit is None else limit)
    if rows is not None and output is not None:
        out.write_file(rows, Path(output), format_)
        print(f"{rows.num_rows:,} rows of operator {chosen[0]} written to {output}")
    elif format_ == "json":
        summaries = (figures(each).as_dict() for each in found)
        out.print_json(summaries if rows is None else rows.to_pylist())
    else:
        out.print_summaries([figures(each) for each in found])
        if rows is not None:
            print()
            out.print_rows(rows)


@state.command()
@click.argument("checkpoint")
@click.option("--stores", type=int, required=True, metavar="N", help="The new number of stores.")
def rescale(checkpoint: str, stores: int) -> None:
    """Change the number of logical stores of the stopped query of CHECKPOINT.

    The number is spark.sql.shuffle.partitions as the checkpoint pins it. No row of state moves, so
    it takes no longer for a large state. The query must be stopped, its last batch committed.
    """
    from ..runtime.inspection.rescale import rescale as change

    done = change(checkpoint, stores)
    names = ", ".join(f"{i} ({name})" for i, name in done.operators.items())
    counts = (
        f"{done.before:,} -> {done.after:,} stores"
        if done.before != done.after
        else (f"{done.after:,} stores already")
    )
    print(f"{counts}, operators: {names or 'none'}; the query goes on with batch {done.next_batch}")


def _converting(command: Callable[..., None]) -> Callable[..., None]:
    """The arguments that say which checkpoint becomes which, and of which query."""
    for argument in (
        click.option(
            "--allow",
            multiple=True,
            type=click.Choice(["differs"]),
            help="Take a query that `check` finds to differ, as by names.",
        ),
        click.option("--catalog", metavar="FILE", help="Tables for SQL files and scripts."),
        click.option("--output-mode", help="append, update or complete, instead of the file's."),
        click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A Spark setting."),
        click.option("--name", metavar="NAME", help="Which of a script's streams."),
        click.option("--query", required=True, metavar="FILE", help="The query, as for `check`."),
        click.option("--to", required=True, metavar="DIR", help="The new checkpoint."),
        click.argument("checkpoint"),
    ):
        command = argument(command)
    return command


@state.command(name="import")
@_converting
def import_(checkpoint: str, to: str, allow: tuple[str, ...], **asked: Any) -> None:
    """Make a checkpoint of stateplan's from CHECKPOINT, which Structured Streaming wrote.

    `stateplan run` goes on with it where the query was stopped. Reads HDFS-backed state without
    Java; for that of the RocksDB provider it starts Spark.
    """
    from ..runtime.native.state_import import import_state

    _print_taken(import_state(checkpoint, to, _asked(**asked), allow=allow), to)


@state.command()
@_converting
def export(checkpoint: str, to: str, allow: tuple[str, ...], **asked: Any) -> None:
    """Make a checkpoint that Structured Streaming goes on with from CHECKPOINT. Needs no Java."""
    from ..runtime.native.state_export import export_state

    _print_taken(export_state(checkpoint, to, _asked(**asked), allow), to)


def _asked(
    query: str,
    name: str | None,
    conf: tuple[str, ...],
    output_mode: str | None,
    catalog: str | None,
) -> Asked:
    from .evolution.inputs import Reading, load_asked
    from .incremental_execution import IncrementalExecution
    from .query import Query

    reading = Reading(catalog=catalog, conf=settings(conf), output_mode=output_mode, name=name)
    asked = load_asked(query, reading)
    if not isinstance(asked, Query | IncrementalExecution):
        raise DescriptionError.of("STATEPLAN_PLAN_GIVEN", query=query)
    return asked


def _print_taken(taken: Taken, to: str) -> None:
    for number, (name, rows) in taken.operators.items():
        print(f"operator {number} ({name}): {rows:,} rows")
    print(f"{to}: the query goes on with batch {taken.next_batch}")
