"""The command line: `stateplan state show` and `stateplan state rescale`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from .model.errors import DescriptionError

if TYPE_CHECKING:
    from ..runtime.inspection.stored import StoredStates

SHOWN_ROWS = 20


@click.group()
def state() -> None:
    """Look into a checkpoint's state, or change the number of its stores."""


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

    Needs no Java and no Spark. Columns are the key's and the value's by name, `event_time` (when
    a watermark evicts the row) and `partition_id` (the store).
    """
    from ..runtime.inspection import output as out
    from ..runtime.inspection.stored import StoredStates
    from ..runtime.inspection.summary import summarise
    from ..runtime.inspection.table import filtered

    states = StoredStates.open(checkpoint)
    chosen = states.choose(operator)
    if not chosen:
        print("The query keeps no state.")
        return
    asks_rows = where is not None or output is not None or format_ == "parquet"
    if asks_rows and len(chosen) != 1:
        raise _which_operator(states)
    if format_ == "parquet" and output is None:
        raise DescriptionError(
            "STATEPLAN_OUTPUT_MISSING",
            "Parquet cannot be printed.",
            hint="Name a file with --output.",
        )
    found = [states.state(each, version) for each in chosen]
    rows = None
    if len(found) == 1:
        printed = format_ == "terminal" and output is None
        rows = filtered(found[0], where, SHOWN_ROWS if printed and limit is None else limit)
    if rows is not None and output is not None:
        out.write_file(rows, Path(output), format_)
        print(f"{rows.num_rows:,} rows of operator {chosen[0]} written to {output}")
    elif format_ == "json":
        figures = (summarise(each).as_dict() for each in found)
        out.print_json(figures if rows is None else rows.to_pylist())
    else:
        out.print_summaries([summarise(each) for each in found])
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
    said = (
        f"{done.before:,} -> {done.after:,} stores"
        if done.before != done.after
        else (f"{done.after:,} stores already")
    )
    print(f"{said}, operators: {names or 'none'}; the query goes on with batch {done.next_batch}")


def _which_operator(states: StoredStates) -> DescriptionError:
    return DescriptionError(
        "STATEPLAN_WHICH_OPERATOR",
        "Rows are read of one operator, and none is chosen.",
        hint=f"Choose one with --operator: {states.listed}.",
    )
