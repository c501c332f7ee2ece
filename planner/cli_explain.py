"""`stateplan explain` for descriptions, SQL files and PySpark scripts; `stateplan serve`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .cli_options import settings
from .model.errors import DescriptionError

_MODES = (
    "simple, extended, formatted, cost, codegen, json, stateful, mermaid, dot, runtime or "
    "runtime-json."
)


def _shared(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that both commands have."""
    for option in (
        click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A Spark setting."),
        click.option(
            "--catalog",
            metavar="FILE",
            help="A YAML file with the schemas of tables and directories that no query tells.",
        ),
        click.option("--mode", default="simple", show_default=True, help=_MODES),
    ):
        command = option(command)
    return command


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("file")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@_shared
@click.option("--output-mode", help="append, update or complete, instead of the file's.")
def explain(
    file: str,
    arguments: tuple[str, ...],
    mode: str,
    catalog: str | None,
    conf: tuple[str, ...],
    output_mode: str | None,
) -> None:
    """Print the physical plan of the query in FILE. Needs no Java and no running Spark.

    FILE is a description (.yaml, .json), a SQL query (.sql), or a PySpark script (.py): that runs
    as it is, with ARGUMENTS, in a process whose Spark is the planner. Every stream that it starts
    is printed as its plan; nothing is executed and no data is read.
    """
    kind = Path(file).suffix.lower()
    if arguments and kind != ".py":
        raise click.UsageError(f"Only a script takes arguments: {' '.join(arguments)}")
    if kind == ".py":
        sys.exit(_script(file, arguments, mode, catalog, conf, output_mode))
    if kind == ".sql":
        print(_sql(file, catalog, conf, output_mode).explain(mode))
        return
    if catalog is not None:
        raise click.UsageError("A description has its own sources: leave --catalog out.")
    from stateplan import load

    print(load(file, output_mode=output_mode, conf=settings(conf)).explain(mode))


def _sql(file: str, catalog: str | None, conf: tuple[str, ...], output_mode: str | None) -> Any:
    from .catalog_file import load_catalog
    from .description import read_text
    from .model.conf import Conf
    from .query import Query

    return Query(
        read_text(Path(file)).strip().removesuffix(";"),
        sources={} if catalog is None else load_catalog(catalog),
        output_mode=output_mode or "append",
        conf=Conf(settings(conf)),
        tables=True,
    )


def _script(
    file: str,
    arguments: tuple[str, ...],
    mode: str,
    catalog: str | None,
    conf: tuple[str, ...],
    output_mode: str | None,
) -> int:
    if not Path(file).is_file():
        raise DescriptionError(
            "STATEPLAN_FILE_NOT_FOUND", f"There is no file '{file}'.", hint="Check the path."
        )
    if output_mode is not None:
        raise click.UsageError("A script says its output modes itself: leave --output-mode out.")
    from .connect import needed

    with needed("A PySpark script"):
        from .connect.scripts import explain_script
    from .model.conf import Conf

    return explain_script(
        file, arguments, catalog=_tables(catalog), conf=Conf(settings(conf)), mode=checked(mode)
    )


def checked(mode: str) -> str:
    """An explain mode; raises DescriptionError for one that there is not, before anything runs."""
    from .explaining import check_mode

    check_mode(mode)
    return mode


def _tables(catalog: str | None) -> Any:
    from .catalog_file import catalog_tables, load_catalog

    return {} if catalog is None else catalog_tables(load_catalog(catalog))


@click.command()
@click.option("--port", default=15002, show_default=True, help="A port of this machine's loopback.")
@_shared
def serve(port: int, mode: str, catalog: str | None, conf: tuple[str, ...]) -> None:
    """Answer any Spark Connect client as a planner, until Ctrl-C.

    Streams that a client starts are printed here as their plans; nothing is executed.
    """
    from .connect import needed

    with needed("Serving Spark Connect"):
        from .connect.console import Console
        from .connect.server import serving
    from .model.conf import Conf

    with serving(
        catalog=_tables(catalog),
        conf=Conf(settings(conf)),
        console=Console(checked(mode)),
        port=port,
    ) as (server, bound):
        print(f"Planning for sc://127.0.0.1:{bound}; Ctrl-C ends it.", file=sys.stderr, flush=True)
        server.wait_for_termination()
