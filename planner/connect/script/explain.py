"""`stateplan explain job.py`: the file runs in a process of its own, its Spark is the planner."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from ...incremental_execution import IncrementalExecution
from ...model.catalog import Catalog
from ...model.conf import Conf
from ...model.errors import DescriptionError
from ...model.expressions import Origin
from ...pages.plan_page import PlanView, view_of
from ..console import Console
from ..places import remember_source
from ..server import Access, serving
from ..service import PlannerService
from .notebook import read_cells
from .program import Program

KINDS = (".py", ".ipynb")
_STANDARD_ERROR = 2  # the file descriptor


def files_of(folder: str | Path) -> list[str]:
    """Every script and notebook below a folder that starts a stream, by name."""
    found = sorted(path for path in Path(folder).rglob("*") if path.suffix in KINDS)
    hidden = [path for path in found if any(p.startswith(".") for p in path.parts[:-1])]
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in found}
    return [str(p) for p in found if p not in hidden and "readStream" in texts[p]]


def explain_script(
    program: Program,
    *,
    catalog: Catalog,
    conf: Conf,
    mode: str,
    advice: bool = False,
    environment: Mapping[str, str] | None = None,
    write_catalog: str | None = None,
    views: list[PlanView] | None = None,
) -> int:
    """Run a PySpark file; every stream that it starts is printed as its plan.

    Args:
        program: the file and how to run it.
        catalog: the tables and streams that it may name.
        conf: settings to start with; the file's own win.
        mode: the explain mode of started streams.
        advice: with advice on each.
        environment: variables that it finds besides those of this process.
        views: takes a view of each stream's plan for a page.
        write_catalog: a file that guesses of columns that nobody described are added to.

    Returns:
        The exit status: the script's own, or 2 where the planner refused something.
    """
    console = Console(mode, advice=advice)
    service = PlannerService(
        catalog=catalog,
        conf=conf,
        console=console,
        scripted=True,
        guessing=write_catalog is not None,
    )
    status = _run(program, service, environment)
    if status == 0 and not console.shown:
        _note(f"{program.path} started no stream{_uncalled(program.path)}")
    if views is not None:
        views.extend(view_of(execution, title) for title, execution in console.shown)
    for guesses in service.guesses:
        for text in guesses.notes():
            _note(text)
    if write_catalog is not None:
        _add_guesses(write_catalog, service)
    return status


class _Collecting(Console):
    """Keeps what is started instead of printing it."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[tuple[str | None, IncrementalExecution]] = []

    def show(
        self,
        execution: IncrementalExecution,
        name: str | None,
        sink: str,
        origin: Origin | None,
        *,
        batch: bool = False,
    ) -> None:
        if not batch:
            self.started.append((name, execution))


def started_queries(
    program: Program, *, catalog: Catalog, conf: Conf
) -> list[tuple[str | None, IncrementalExecution]]:
    """The streams that a PySpark file starts, with their names, in order.

    What the file prints goes to the standard error.

    Raises:
        DescriptionError: the file fails.
    """
    console = _Collecting()
    service = PlannerService(catalog=catalog, conf=conf, console=console, scripted=True)
    status = _run(program, service, {}, out=_STANDARD_ERROR)
    if status != 0:
        raise DescriptionError(
            "STATEPLAN_SCRIPT_FAILED",
            f"The script '{program.path}' ended with status {status}.",
            hint="What it printed says why; stateplan explain runs it alone.",
        )
    return console.started


def _run(
    program: Program,
    service: PlannerService,
    environment: Mapping[str, str] | None,
    out: int | None = None,
) -> int:
    """Run a file whose Spark is the planner, its output to the descriptor `out`; its status."""
    if program.path.endswith(".ipynb"):
        for cell in read_cells(os.path.abspath(program.path)):
            remember_source(cell.file, cell.source)
    with serving(service, Access()) as (_, port):
        variables = {
            **os.environ,
            **(environment or {}),
            "SPARK_REMOTE": f"sc://127.0.0.1:{port}",
            "SPARK_CONNECT_DEBUG_CLIENT_CALL_STACK": "true",
            "PYTHONUNBUFFERED": "1",
            "GRPC_VERBOSITY": "NONE",
        }
        variables.pop("MASTER", None)
        variables.pop("SPARK_API_MODE", None)
        command = [sys.executable, "-m", "stateplan.planner.connect.script.launch"]
        arguments = [*command, program.to_json()]
        return subprocess.run(arguments, env=variables, check=False, stdout=out).returncode


def _note(text: str) -> None:
    print(f"note: {text}.", file=sys.stderr)


def _uncalled(path: str) -> str:
    """Which functions of a file write streams, for one in which nothing calls them."""
    found: list[str] = []
    for cell in read_cells(path):
        with suppress(SyntaxError):
            found += _writers(ast.parse(cell.source))
    names = ", ".join(found)
    return f"; --call plans what a function starts or returns: {names}" if names else ""


def _writers(code: ast.AST, owner: str = "") -> Iterator[str]:
    for node in ast.iter_child_nodes(code):
        if isinstance(node, ast.ClassDef):
            yield from _writers(node, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            inner = ast.walk(node)
            streams = ("readStream", "writeStream")
            if any(isinstance(n, ast.Attribute) and n.attr in streams for n in inner):
                yield f"{owner}{node.name}"


def _add_guesses(path: str, service: PlannerService) -> None:
    lines = [line for guesses in service.guesses for line in guesses.lines()]
    if not lines:
        return
    with open(path, "a", encoding="utf-8") as file:
        print("# Guessed from the code: correct the types.", *lines, sep="\n", file=file)
    _note(f"guesses for {len(lines)} sources were added to {path}")
