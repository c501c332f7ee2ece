"""`stateplan explain` for descriptions, SQL files and PySpark scripts; `stateplan serve`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .cli_options import settings
from .collecting import without_collections

if TYPE_CHECKING:
    from .query import Query

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
        click.option("--advice", is_flag=True, help="Say what costs more than one may expect."),
    ):
        command = option(command)
    return command


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("file")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@_shared
@click.option("--output-mode", help="append, update or complete, instead of the file's.")
@click.option("--html", metavar="FILE", help="Write the plans as a page with graphs, too.")
@click.option("--env", multiple=True, metavar="KEY=VALUE", help="A script's variable.")
@click.option("--env-file", metavar="FILE", help="Variables, a line KEY=VALUE each.")
@click.option("--python-path", multiple=True, metavar="DIR", help="Where a script's modules are.")
@click.option("--strict-imports", is_flag=True, help="No stand-ins for missing modules.")
@click.option("--call", metavar="FUNCTION[(...)]", help="Call it when the script has run.")
@click.option("--write-catalog", is_flag=True, help="Add guesses of columns to the catalog.")
@click.option("--into-batches", is_flag=True, help="Call foreachBatch's functions, too.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="When a script is taken to hang.",
)
@without_collections()
def explain(
    file: str,
    arguments: tuple[str, ...],
    mode: str,
    advice: bool,
    catalog: str | None,
    conf: tuple[str, ...],
    output_mode: str | None,
    html: str | None,
    env: tuple[str, ...],
    env_file: str | None,
    write_catalog: bool,
    **scripts: Any,
) -> None:
    """Print the physical plan of the query in FILE. Needs no Java and no running Spark.

    FILE is a description (.yaml, .json), a SQL query (.sql), a PySpark script (.py), a notebook
    (.ipynb), a Declarative Pipeline (spark-pipeline.yml, or files that define its data sets) or a
    folder with some of the last three. A script runs as it is, with ARGUMENTS behind --,
    in a process whose Spark is the planner. Every stream that it starts is printed as its plan;
    no query is executed and no data is read.
    """
    kind = Path(file).suffix.lower()
    scripted = kind in (".py", ".ipynb") or Path(file).is_dir() or _is_pipeline(file)
    if arguments and not scripted:
        raise click.UsageError(f"Only a script takes arguments: {' '.join(arguments)}")
    if scripted:
        if output_mode is not None:
            raise click.UsageError(
                "A script says its output modes itself: leave --output-mode out."
            )
        from .cli_scripts import explain_scripts
        from .connect.script.program import Program

        guesses = (catalog or "catalog.yaml") if write_catalog else None
        known = None if guesses and not Path(guesses).is_file() else catalog
        status = explain_scripts(
            Program(path=file, arguments=arguments, **scripts),
            mode=checked(mode),
            catalog=_tables(known),
            conf=conf,
            advice=advice,
            env=env,
            env_file=env_file,
            write_catalog=guesses,
            html=html,
        )
        sys.exit(status)
    query = _query(file, catalog, conf, output_mode)
    print(query.explain(mode, advice=advice))
    if html is not None:
        from .pages.shell import write_page

        write_page(html, query.html(Path(file).stem))


def _query(file: str, catalog: str | None, conf: tuple[str, ...], output_mode: str | None) -> Query:
    """The query of a SQL file or a description."""
    if Path(file).suffix.lower() == ".sql":
        from .evolution.inputs import Reading, sql_query

        reading = Reading(catalog=catalog, conf=settings(conf), output_mode=output_mode)
        return sql_query(file, reading)
    if catalog is not None:
        raise click.UsageError("A description has its own sources: leave --catalog out.")
    from stateplan import load

    return load(file, output_mode=output_mode, conf=settings(conf))


def _is_pipeline(file: str) -> bool:
    """Whether a file describes a pipeline, or is SQL that defines data sets of one."""
    path = Path(file)
    if path.name in ("spark-pipeline.yml", "spark-pipeline.yaml"):
        return True
    if path.suffix.lower() != ".sql" or not path.is_file():
        return False
    from .description import read_text
    from .pipelines.sql_files import defines_datasets

    return defines_datasets(read_text(path))


def checked(mode: str) -> str:
    """An explain mode; raises DescriptionError for one that there is not, before anything runs."""
    from .explaining import check_mode

    check_mode(mode)
    return mode


def _tables(catalog: str | None) -> Any:
    from .described_sources import catalog_tables, load_catalog

    return {} if catalog is None else catalog_tables(load_catalog(catalog))


@click.command()
@click.option("--port", default=15002, show_default=True, help="The port to listen on.")
@click.option("--run", "runs", is_flag=True, help="Run streams, in front of an engine.")
@click.option("--engine", default="auto", help="With --run: auto, embedded or spark.")
@click.option("--master", help="With --run: Spark's master URL; or sc://host for Connect.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--token-file", metavar="FILE", help="A file with the token that clients must show.")
@click.option("--tls-certificate", metavar="FILE", help="A certificate for TLS, as PEM.")
@click.option("--tls-key", metavar="FILE", help="Its private key.")
@_shared
def serve(
    port: int,
    mode: str,
    advice: bool,
    catalog: str | None,
    conf: tuple[str, ...],
    runs: bool,
    engine: str,
    master: str | None,
    **access: str | None,
) -> None:
    """Answer any Spark Connect client as a planner, or with --run as an engine, until Ctrl-C.

    Streams that a client starts are printed here as their plans, and nothing is executed; or with
    --run they run on stateplan's runtime, and all else that a client asks for on the engine behind
    it. It runs the functions that its clients send: only --host leaves the loopback, with a token
    and TLS.
    """
    from .connect import needed

    with needed("Serving Spark Connect"):
        from .connect.console import Console
        from .connect.server import Access, serving
        from .connect.service import PlannerService
    from .model.settings.conf import Conf

    door = Access(
        host=access["host"] or "",
        port=port,
        token=_token(access["token_file"]),
        certificate=access["tls_certificate"],
        key=access["tls_key"],
    )
    if runs:
        from ..runtime.connect.serving import serve_runs

        serve_runs(door, engine, master, settings(conf))
        return
    console = Console(checked(mode), advice=advice)
    service = PlannerService(catalog=_tables(catalog), conf=Conf(settings(conf)), console=console)
    with serving(service, door) as (server, bound):
        print(
            f"Planning for sc://{door.host}:{bound}; Ctrl-C ends it.", file=sys.stderr, flush=True
        )
        server.wait_for_termination()


def _token(file: str | None) -> str | None:
    """The token in a file: its first line.

    Raises:
        DescriptionError: there is no such file, or nothing in it.
    """
    if file is None:
        return None
    from .description import read_text
    from .model.errors import DescriptionError

    token = (read_text(Path(file)).strip().splitlines() or [""])[0].strip()
    if not token:
        raise DescriptionError.of("STATEPLAN_EMPTY_TOKEN_FILE", file=file)
    return token
