"""Runs a user's file as it is, in a process whose Spark is the planner (process.py starts it).

Exit status: 0; 2 where the planner refused something and the file did not catch it, 1 where the
file itself fails, or what it exits with.
"""

from __future__ import annotations

import ast
import builtins
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.connect.column import Column
from pyspark.sql.connect.dataframe import DataFrame

from ...pipelines.sql_files import defines_datasets, split
from ..places import remember_source
from ..protocol import UNKNOWN_TABLE
from ..server import take_deep_messages
from . import glue, workspace
from .calls import planned_batches, planned_call
from .context import PlannedContext, frame, session
from .files import open_missing_files, read_stand_ins
from .missing_modules import MissingModules
from .network import Network, start_no_process
from .notebook import (
    RUN,
    SQL,
    Cell,
    bound_names,
    is_cell,
    is_notebook,
    names_of_cell,
    read_cells,
)
from .patches import Patches, WaitedEnough
from .pipeline import PipelineRun
from .program import Program
from .report import Report
from .rules import Rules
from .stand_ins import StandIn, StandInNeeded
from .uncalled import uncalled

FAILED, BAD_INPUT = 1, 2
# What a stand-in is taken for, by what the code does with it.
_TAKEN = {
    "session": "the SparkSession",
    "number": "1",
    "outputMode": "append mode",
    "frame": "a DataFrame with the columns that the code uses",
}


class _Builtins(dict[str, Any]):
    """Names that no module of Python has: those of a part of the file that is not here, or failed.

    Attributes:
        unknown: a part is not here, which may have any name.
        lost: the names of statements that failed.
        modules: know of modules that are not here, which may have any name, too.
    """

    unknown = False
    modules: MissingModules

    def __init__(self, names: Mapping[str, Any]) -> None:
        super().__init__(names)
        self.lost: set[str] = set()

    def __missing__(self, name: str) -> Any:
        known = name in self.lost or self.unknown or self.modules.unknown_names
        if name.startswith("__") or not known:
            raise KeyError(name)
        return StandIn(name)


class Launch:
    """One run of one file."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.patches = Patches(program, lambda text: self.report.note(text))
        self.modules = MissingModules(program)
        self.network = Network(program, lambda text: self.report.note(text))
        self.report = Report(program, self.patches, self.modules, self.network.asked)
        self.module = ModuleType("__main__")
        self.names = _Builtins(vars(builtins))
        self.names.modules = self.modules
        self.pipeline: PipelineRun | None = None
        self._ran: dict[str, dict[str, Any]] = {}  # by file, the names that it has made
        self._loops: dict[str, frozenset[int]] = {}  # by file, the lines of loops that run once
        self._failures: list[Exception] = []  # that ended the file, or cells of a notebook
        self._ended_at = 0  # the line of the file's own code that waited for ever

    def run(self) -> int:
        """Run the file as `python file arguments` would; gives the exit status."""
        self._prepare()
        status = 0
        try:
            with self._waiting():
                if self.program.is_pipeline:
                    self.pipeline = PipelineRun(
                        self.program, self._run_module, self.report.note, self.report.ended_by
                    )
                    self.pipeline.run(self._called_behind)
                else:
                    self._run_file(self.program.path)
            if self.pipeline is None:
                self._called_behind()
            if self.program.into_batches:
                planned_batches(self.patches.batches)
        except SystemExit as error:
            self.report.exited(error)
            status = error.code if isinstance(error.code, int) else int(error.code is not None)
            if error.code is not None and not isinstance(error.code, int):
                print(error.code, file=sys.stderr)
        except Exception as error:
            self.report.ended_by(error)
            self._failures.append(error)
            if self.pipeline is None:
                self._call_uncalled()
        if self._failures and not status:
            refused = isinstance(self._failures[-1], PySparkException)
            status = BAD_INPUT if refused else FAILED
        self.report.closing()
        return status

    def _called_behind(self) -> None:
        """What is to be called when the files have run."""
        if self.program.call is not None:
            with self._waiting():
                planned_call(self.program.call, self.module.__dict__)
        self._call_uncalled()

    def _call_uncalled(self) -> None:
        """Files that start no stream, or define no data set, are libraries: call their functions.

        They are handed what --call hands in. Where the outermost ones lead to no stream, those that
        name streams are called themselves.
        """
        if self.program.call is not None or self.program.strict_imports:
            return
        for level in ("outermost", "direct"):
            for path, names in () if self._has_streams() else list(self._ran.items()):
                for name in getattr(uncalled(path), level):
                    if name.partition(".")[0] in names:  # what fails above it does not make it
                        self._call_one(name, names)

    def _has_streams(self) -> bool:
        return self.patches.started or (self.pipeline is not None and self.pipeline.defined)

    def _call_one(self, name: str, names: dict[str, Any]) -> None:
        try:
            with self._waiting():
                planned_call(name, names)
            ended = ""
        except Exception as error:
            ended = " and fails:"
            failure = error
        self.report.note(f"nothing calls {name}: it was called with stand-ins, as by --call{ended}")
        if ended:
            self.report.ended_by(failure)

    def _once(self, frame: FrameType, path: str) -> bool:
        """Whether a loop over what is not here runs once, for the streams that its body starts."""
        file = frame.f_code.co_filename
        if not self.program.owns(file):
            return False
        if file not in self._loops:
            self._loops[file] = uncalled(file).loops
        once = frame.f_lineno in self._loops[file]
        if once:
            place = self.program.place(of=frame)
            self.report.note(f"{place}: ?{path}? is not here: the loop over it runs once")
        return once

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Code that waits for its streams to end has done its work."""
        try:
            yield
        except WaitedEnough as error:
            self.report.note(f"{error}: this waits for ever; it was ended here")
            self._ended_at = self._line_of(error)

    def _line_of(self, error: BaseException) -> int:
        """The line of the file's own code, and of no function in it, that an error went through."""
        own = self.module.__dict__
        steps = traceback.walk_tb(error.__traceback__)
        return next((line for frame, line in steps if frame.f_locals is own), sys.maxsize)

    def _prepare(self) -> None:
        self.patches.apply()
        take_deep_messages()
        self.network.close()
        start_no_process(self.program, self.report.note)
        self.report.watch(self.program.timeout)
        Rules.users = self.program.owns
        Rules.session = session
        Rules.seen = self._seen
        Rules.frame = frame
        Rules.once = self._once
        Rules.of_frames = (Column, DataFrame)
        if not self.program.strict_imports:
            self.modules.install()
            open_missing_files(self.program, self.report.note, self.patches.missed)
        read_stand_ins(self.program)
        # Functions may be declared before the script asks for its session: `@pandas_udf("double")`.
        context = PlannedContext()
        empty = self.patches.unset.parameters
        workspace.provide(session, context, self.program.arguments, empty)
        glue.provide()
        self._enter()

    def _enter(self) -> None:
        """Be the file: its arguments, its path, its module."""
        vars(builtins)[SQL] = self._run_sql
        vars(builtins)[RUN] = self._run_other
        sys.argv = [self.program.path, *self.program.arguments]
        sys.path[:1] = self.program.search_path[:1]
        sys.path += self.program.search_path[1:]
        self._set_up(self.module, self.program.path, self.program.package)
        sys.modules["__main__"] = self.module

    def _set_up(self, module: ModuleType, path: str, package: str) -> None:
        module.__dict__.update(
            __file__=os.path.abspath(path),
            __builtins__=self.names,
            __package__=package or None,
        )

    def _seen(self, path: str, attribute: str) -> None:
        place = self.program.place()
        start = f"{place}: " if place else ""
        taken = _TAKEN.get(attribute, repr(attribute))
        self.report.note(f"{start}?{path}? is taken for {taken}")

    # --------------------------------------------------------------------------------------- files

    def _run_file(self, path: str) -> None:
        self.names.update(vars(builtins))
        self._ran[path] = self.module.__dict__
        lost: set[str] = set()
        for cell in read_cells(os.path.abspath(path), self._skipped):
            if not os.path.exists(cell.file):
                remember_source(cell.file, cell.source)
            try:
                self._run_cell(cell)
            except Exception as error:
                if not is_notebook(path):
                    raise
                # Cells are run one by one: those below may start more streams.
                follows = isinstance(error, NameError) and error.name in lost
                if not follows:
                    self.report.ended_by(error)
                    self._failures.append(error)
                lost |= names_of_cell(cell)

    def _run_cell(self, cell: Cell) -> None:
        rest = ast.parse(cell.source, cell.file)
        while rest.body:
            try:
                with self._waiting():
                    exec(compile(rest, cell.file, "exec", dont_inherit=True), self.module.__dict__)
                    break
            except Exception as error:
                self._ended_at = self._line_of(error)
                failed = [one for one in rest.body if one.lineno <= self._ended_at][-1:]
                if not failed or not self._goes_on(error, cell.file):
                    raise
                if isinstance(error, AssertionError):
                    place = self.report.place_of(error)
                    self.report.note(f"{place}: what is asserted needs data, and none is read")
                else:
                    self.report.ended_by(error)
                    self._failures.append(error)
                self._lose(failed[0])
            # What follows a statement that waits for ever, or fails, may start more streams.
            rest.body = [one for one in rest.body if one.lineno > self._ended_at]

    def _goes_on(self, error: Exception, file: str) -> bool:
        """Whether code below a failure is run: it fails here alone, for want of data and values.

        Code of a notebook may fail by itself, but not for what Spark refuses.
        """
        if isinstance(error, PySparkException):
            condition = error.getCondition() or ""
            return condition.startswith("STATEPLAN_") or condition in UNKNOWN_TABLE
        if isinstance(error, NameError | SyntaxError | ImportError):
            return False
        for_want = isinstance(error, StandInNeeded | ConnectionRefusedError | AssertionError)
        return for_want or is_cell(file) or is_notebook(file)

    def _lose(self, statement: ast.stmt) -> None:
        """Let the names of a statement that failed be stand-ins."""
        lost = bound_names(ast.Module([statement], [])) - self.module.__dict__.keys()
        self.names.lost |= lost
        if lost:
            names = ", ".join(sorted(lost))
            self.report.note(f"what failed does not make these names, they are stand-ins: {names}")

    def _run_module(self, path: str) -> None:
        """Run one file of a pipeline as a module of its own."""
        # Databricks runs a pipeline's files as it runs notebooks.
        self.module = ModuleType("__main__" if self.program.databricks else Path(path).stem)
        file = Path(path).resolve()
        package = self.program.package_of(file)
        self._set_up(self.module, path, package)
        above = file.parents[package.count(".") + 1 if package else 0]
        sys.path[:0] = dict.fromkeys((str(file.parent), str(above)))
        self._run_file(path)

    def _skipped(self, file: str, line: int, what: str) -> None:
        self.report.note(f"{os.path.basename(file)}:{line}: {what}")

    def _run_other(self, text: str) -> None:
        """`%run ./other`: its names are this notebook's, as if it stood here."""
        name = text.split(" $")[0].strip().strip("\"'")
        for folder in (str(self.program.folder), *self.program.search_path):
            for ending in ("", ".py", ".ipynb", ".sql"):
                path = os.path.join(folder, name + ending)
                if os.path.isfile(path):
                    self.patches.absent.clear()  # the other places were looked at here
                    self._run_file(path)
                    return
        self.patches.absent.clear()
        self.names.unknown = True
        self.report.note(f"%run {name} is not here: names that it defines are stand-ins")

    def _run_sql(self, text: str) -> Any:
        """The statements of an SQL cell; the last one's DataFrame."""
        if self.pipeline is not None and defines_datasets(text):
            self.pipeline.register_sql(text)
            return None
        result = None
        for _, statement in split(text):
            lines = (line for line in statement.split("\n") if line.strip())
            result = session().sql("\n".join(lines))
            workspace.show(result)
        return result


def run(program: Program) -> int:
    """Run a file; gives the exit status."""
    return Launch(program).run()
