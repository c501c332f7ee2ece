"""`stateplan explain job.py`: the file runs in a process of its own, its Spark is the planner."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...incremental_execution import IncrementalExecution
from ...model.catalog import Catalog
from ...model.errors import DescriptionError
from ...model.expressions.core import Origin
from ...model.settings.conf import Conf
from ...pipelines.sql_files import defines_datasets, is_databricks
from ..console import Console
from ..places import remember_source
from ..server import Access, serving, take_deep_plans
from ..service import PlannerService
from .notebook import is_notebook, read_cells, sql_of
from .process import LAUNCH, ScriptProcess
from .program import Program
from .uncalled import beyond_spark, calls_into, uncalled

KINDS = (".py", ".ipynb")
SPECS = ("spark-pipeline.yml", "spark-pipeline.yaml")
_PIPELINES = re.compile(r"\bfrom pyspark import [^\n]*\bpipelines\b|\bpyspark\.pipelines\b")
_DLT = re.compile(r"(?:^|[\s\"])(?:import dlt\b|from dlt import\b)", re.MULTILINE)
_DLT_NAME = re.compile(
    r"\b(?:table|view|expect\w*|append_flow|apply_changes|create_\w*(?:table|flow|sink)|read_stream"
    r"|materialized_view|temporary_view)\s*\("
)
_DATABRICKS_NAME = re.compile(r"[\"']cloudFiles[\"']|\bread_files\(|^# Databricks notebook")
_STANDARD_ERROR = 2  # the file descriptor


def programs_of(program: Program) -> list[Program]:
    """What is to be explained below a program's path, each made like it.

    A pipeline's own file and the folder around it are one, files that define data sets without
    such a file are one together, and every other script or notebook that starts a stream is one.

    Raises:
        DescriptionError: a file cannot be read.
    """
    path = Path(program.path)
    if not path.is_dir():
        if path.name in SPECS:
            return [replace(program, path=str(path), is_spec=True)]
        if own := _definitions([path]):
            return [_pipeline(path, own, program)]
        return [replace(program, path=str(path))]
    specs = sorted(p for name in SPECS for p in path.rglob(name) if not _hidden(p, path))
    covered = [spec.parent for spec in specs]
    found = [replace(program, path=str(spec), is_spec=True) for spec in specs]
    rest = [
        file
        for file in sorted(path.rglob("*"))
        if file.suffix in (*KINDS, ".sql")
        and not _hidden(file, path)
        and not any(file.is_relative_to(folder) for folder in covered)
    ]
    definitions = _definitions(rest)
    if definitions:
        found.append(_pipeline(path, definitions, program))
    scripts = [file for file in rest if file not in definitions and file.suffix in KINDS]
    found += [replace(program, path=str(file)) for file in scripts if "readStream" in _text(file)]
    return found


def _hidden(path: Path, root: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(root).parts)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _definitions(files: Sequence[Path]) -> list[Path]:
    """Those files that define data sets of a pipeline, or call functions of these that do."""
    found = {file for file in files if _defines(file)}
    calling = {file for file in files if found and file.suffix in KINDS and calls_into(file, found)}
    return [file for file in files if file in found | calling]


def _defines(file: Path) -> bool:
    text = _text(file)
    if file.suffix == ".sql":
        return defines_datasets(text)
    if file.suffix not in KINDS:
        return False
    return _PIPELINES.search(text) is not None or _uses_dlt(text) or _sql_defines(file)


def _sql_defines(file: Path) -> bool:
    """Whether SQL cells of a notebook define data sets."""
    cells = read_cells(str(file.resolve())) if is_notebook(str(file)) else []
    return any(defines_datasets(text) for cell in cells for text in sql_of(cell))


def _uses_dlt(text: str) -> bool:
    return _DLT.search(text) is not None and _DLT_NAME.search(text) is not None


def _pipeline(path: Path, files: Sequence[Path], program: Program) -> Program:
    """A pipeline that no file of its own describes."""
    databricks = any(map(_is_databricks, files))
    definitions = tuple(str(file.resolve()) for file in files)
    return replace(program, path=str(path), definitions=definitions, databricks=databricks)


def _is_databricks(file: Path) -> bool:
    """Whether a file that defines data sets uses what only Databricks' pipelines have."""
    text = _text(file)
    if file.suffix == ".sql":
        return is_databricks(text)
    named = _DATABRICKS_NAME.search(text) is not None or _uses_dlt(text)
    return named or _sql_defines(file) or beyond_spark(file)


def explain_script(
    program: Program,
    console: Console,
    *,
    catalog: Catalog,
    conf: Conf,
    process: ScriptProcess,
    write_catalog: str | None,
) -> int:
    """Run a PySpark file; every stream that it starts is printed as its plan.

    Args:
        program: the file and how to run it.
        console: prints the plans, and keeps them.
        catalog: the tables and streams that it may name.
        conf: settings to start with; the file's own win.
        process: runs it; it has the variables that the file finds.
        write_catalog: a file that guesses of columns that nobody described are added to.

    Returns:
        The exit status: the script's own, or 2 where the planner refused something.
    """
    service = PlannerService(
        catalog=catalog,
        conf=conf,
        console=console,
        scripted=True,
        guessing=write_catalog is not None,
    )
    status = _run(program, service, process)
    if status == 0 and not console.shown and not console.pipelines:
        found = uncalled(program.path)
        names = ", ".join(dict.fromkeys((*found.outermost, *found.direct)))
        proposal = f"; --call plans what a function starts or returns: {names}" if names else ""
        _note(f"{program.path} started no stream{proposal}")
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
    with ScriptProcess(LAUNCH, {}, out=_STANDARD_ERROR) as process:
        status = _run(program, service, process)
    if status != 0:
        raise DescriptionError.of("STATEPLAN_SCRIPT_FAILED", path=program.path, status=status)
    return console.started


def _run(program: Program, service: PlannerService, process: ScriptProcess) -> int:
    """Run a file whose Spark is the planner; its status."""
    take_deep_plans()
    if program.path.endswith(".ipynb"):
        for cell in read_cells(os.path.abspath(program.path)):
            remember_source(cell.file, cell.source)
    with serving(service, Access()) as (_, port):
        return process.run(f"sc://127.0.0.1:{port}", program)


def _note(text: str) -> None:
    print(f"note: {text}.", file=sys.stderr)


def _add_guesses(path: str, service: PlannerService) -> None:
    lines = [line for guesses in service.guesses for line in guesses.lines(service.catalog)]
    if not lines:
        return
    with open(path, "a", encoding="utf-8") as file:
        print("# Guessed from the code: correct the types.", *lines, sep="\n", file=file)
    _note(f"guesses for {len(lines)} sources were added to {path}")
