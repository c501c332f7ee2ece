"""How the end of a user's file is reported: its own lines, what was missing, and what to do."""

from __future__ import annotations

import errno
import importlib
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from types import FrameType

from pyspark import __version__
from pyspark.errors import PySparkException
from pyspark.sql.connect import functions

from .missing_modules import MissingModules
from .patches import Patches, WaitedEnough
from .program import Program
from .rules import Rules
from .stand_ins import StandIn, StandInNeeded

_PLACEHOLDER = re.compile(r"\?[A-Za-z_][^?\n]*\?")
_WRONG_CALL = re.compile(r"\(\) (missing \d+ required|got an unexpected|takes .*positional)")
_FILE = re.compile(r"^(?:json|yaml|pickle|joblib|tomllib|open)\(([^)]+)\)")
_NO_ROWS = "No data is read here, so tables are empty: the code needs a row of one."
_LOOKS = 100  # of where the file is, until it is taken to hang
# What files call modules.
_USUAL_NAMES = {
    "F": "from pyspark.sql import functions as F",
    "T": "from pyspark.sql import types as T",
    "dlt": "import dlt",
    "dp": "from pyspark import pipelines as dp",
    "pd": "import pandas as pd",
    "np": "import numpy as np",
}
HUNG = 1  # the exit status, as of a file that fails


class Report:
    """Writes to standard error.

    Args:
        program: the file.
        patches: know what was missed.
        modules: know which are stand-ins.
        asked: requests that were not sent.
    """

    def __init__(
        self, program: Program, patches: Patches, modules: MissingModules, asked: Sequence[str]
    ) -> None:
        self.program = program
        self.patches = patches
        self.modules = modules
        self.asked = asked
        self._noted: dict[str, None] = {}
        self._reported: list[BaseException] = []

    def note(self, text: str) -> None:
        """One line, once."""
        if text not in self._noted:
            self._noted.setdefault(text)
            print(f"note: {text}", file=sys.stderr)

    def watch(self, seconds: float) -> None:
        """End the process when the file still runs after so long, and say where it does.

        Code that asks nothing of Spark for half of it waits for ever: it is interrupted once, so
        that what follows it is planned.
        """
        main = threading.main_thread().ident or 0

        def end() -> None:
            place = self.program.place(of=sys._current_frames().get(main))
            where = f" at {place}" if place else ""
            print(
                f"error: the file still ran after {seconds:g} seconds{where}: it was ended there\n"
                "hint: Give a longer time with --timeout SECONDS, or leave out what waits there.",
                file=sys.stderr,
            )
            self.closing()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(HUNG)

        def interrupt(number: int, frame: FrameType | None) -> None:
            place = self.program.place(of=frame)
            raise WaitedEnough(place)

        def look() -> None:
            own, since = None, time.monotonic()
            while time.monotonic() - since < seconds / 2:
                wait(seconds / _LOOKS)
                frame = self.program.own_frame(sys._current_frames().get(main))
                code = frame.f_code if frame is not None else None
                if code is None or code is not own:
                    own, since = code, time.monotonic()
            signal.pthread_kill(main, signal.SIGUSR1)

        wait = time.sleep  # the file's own sleeps are left out
        if hasattr(signal, "SIGUSR1"):  # elsewhere it is ended
            signal.signal(signal.SIGUSR1, interrupt)
            threading.Thread(target=look, daemon=True).start()
        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()

    def ended_by(self, error: Exception) -> None:
        """An error that ends the file, or a part of it."""
        if isinstance(error, PySparkException):
            self.refused(error)
        else:
            self.failed(error)

    def refused(self, error: PySparkException) -> None:
        """What the planner or PySpark's client refuses, with the user's line."""
        self._reported.append(error)
        parameters = error.getMessageParameters() or {}
        message, condition = error.getMessage(), error.getCondition()
        if condition and not message.startswith("["):
            message = f"[{condition}] {message}"
        print(f"error: {message}", file=sys.stderr)
        line, origin = self.place_of(error), parameters.get("place")
        if origin and origin != line:
            print(f"made at: {origin}", file=sys.stderr)
        if line:
            print(f"at: {line}", file=sys.stderr)
        if hint := parameters.get("hint"):
            print(f"hint: {hint}", file=sys.stderr)

    def failed(self, error: BaseException) -> None:
        """An error of the file itself as Python shows it, with the user's own frames only."""
        self._reported.append(error)
        trace = traceback.TracebackException.from_exception(error)
        shown: traceback.TracebackException | None = trace
        while shown is not None:
            own = [frame for frame in shown.stack if self.program.owns(frame.filename)]
            shown.stack = traceback.StackSummary.from_list(own)
            shown = shown.__cause__ or shown.__context__
        print("".join(trace.format()), end="", file=sys.stderr)
        if hint := self._hint(error):
            print(f"hint: {hint}", file=sys.stderr)

    def _hint(self, error: BaseException) -> str:
        text = str(error)
        empty = "NoneType" in text or isinstance(error, IndexError | StopIteration)
        if isinstance(error, StandInNeeded):
            hint = self._what_stands_in(error.path)
        elif isinstance(error, TypeError) and StandIn.__name__ in text:
            hint = (
                "Something that is not here went where PySpark needs a value of its own: give the"
                " folder of its module with --python-path."
            )
        elif isinstance(error, OSError) and error.errno == errno.ECONNREFUSED:
            hint = (
                "Leave out what needs a service, or catch the error as where the service is down."
            )
        elif isinstance(error, SyntaxError):
            version = ".".join(map(str, sys.version_info[:2]))
            hint = f"Correct the line; code of a Python newer than {version} needs such a Python."
        elif isinstance(error, ModuleNotFoundError):
            hint = "Install it, name its folder with --python-path, or leave out --strict-imports."
        elif isinstance(error, ImportError) and (home := _home_of(text)):
            hint = f"PySpark has it in {home}: import it from there."
        elif isinstance(error, NameError) and error.name in vars(functions):
            # Spark's `__all__` has no name of the old spelling.
            hint = (
                f"`from pyspark.sql.functions import *` does not bring it in PySpark {__version__}:"
                f" import {error.name} by its name."
            )
        elif isinstance(error, NameError) and error.name:
            hint = _where_from(error.name)
        elif isinstance(error, IndexError) and self._reads_arguments(error):
            hint = "Arguments of the script go behind --: stateplan explain FILE -- ARGUMENTS."
        elif placed := _PLACEHOLDER.search(text):
            hint = (
                f"{placed[0]} stands for what is not here: give the folder of its module with"
                " --python-path or, where --call hands it in, its value in the call's brackets."
            )
        elif self.asked:
            hint = (
                f"The code may need what {self.asked[-1]} answers, and nothing is sent: give the"
                " answer to a function that --call calls, or catch this error."
            )
        elif unset := self.patches.unset.needed(error):
            hint = f"Set what is not there: {unset}."
        elif empty:
            hint = _NO_ROWS
        elif isinstance(error, FileNotFoundError):
            hint = "Run stateplan explain in the folder that the script is started in."
        elif isinstance(error, TypeError) and _WRONG_CALL.search(text):
            hint = "Python refuses this call wherever the code runs: correct its arguments."
        else:
            hint = self._absent() or self._taken_apart(error)
        return hint

    def _what_stands_in(self, path: str) -> str:
        """What to do where code needs the value of a stand-in, given how the code came by it."""
        module = path.partition(".")[0]
        if option := self.patches.unset.option(path):
            return f"Set it: {option}."
        if path.startswith("getResolvedOptions("):
            return "Give the job's arguments: stateplan explain FILE -- --NAME VALUE."
        if path.startswith(("collect()", "head()")):
            return _NO_ROWS
        if found := _FILE.search(path):
            return f"Put a file {found[1]} there, or into the project: one of that name is read."
        if "[" in module or module in Rules.handed_in:
            return (
                f"Where --call hands '{module.partition('[')[0]}' in, give its value in the call's"
                " brackets; else name the folder of its module with --python-path."
            )
        return f"Install '{module}', or name the folder that it lies in with --python-path."

    def _taken_apart(self, error: BaseException) -> str:
        """What to do where code may need the value of a stand-in without saying so."""
        if not Rules.any_stand_in or not isinstance(error, KeyError | ValueError):
            return ""
        return (
            "Values that are not here are texts such as ?module.name? without items of their own:"
            " name the folders of missing modules with --python-path, or hand the values in."
        )

    def _absent(self) -> str:
        """What to do about a file that the code looked for in vain."""
        if not self.patches.absent:
            return ""
        path = list(self.patches.absent)[-1]
        return (
            f"The code looked for '{path}', which is not here: run stateplan explain where it is,"
            " or make it."
        )

    def _innermost(self, error: BaseException) -> traceback.FrameSummary | None:
        frames = reversed(traceback.extract_tb(error.__traceback__))
        return next((frame for frame in frames if self.program.owns(frame.filename)), None)

    def _reads_arguments(self, error: IndexError) -> bool:
        frame = self._innermost(error)
        return frame is not None and "argv" in (frame.line or "")

    def place_of(self, error: BaseException) -> str | None:
        """`job.py:12`: the innermost of the user's own lines that an error went through."""
        frame = self._innermost(error)
        return frame and f"{os.path.basename(frame.filename)}:{frame.lineno}"

    def exited(self, error: SystemExit) -> None:
        """The file ended itself: an error that it did so for is reported."""
        cause = error.__context__
        if isinstance(cause, Exception) and cause not in self._reported:
            self.ended_by(cause)
        elif error.code == 2 and self._of_arguments(error):
            print(
                "hint: Arguments of the script go behind --: stateplan explain FILE -- ARGUMENTS.",
                file=sys.stderr,
            )
        elif error.code:
            print(f"error: the file ended itself at {self.place_of(error)}", file=sys.stderr)
            if hint := self._absent():
                print(f"hint: {hint}", file=sys.stderr)

    def _of_arguments(self, error: SystemExit) -> bool:
        frames = traceback.extract_tb(error.__traceback__)
        return any(frame.filename.endswith("argparse.py") for frame in frames)

    def closing(self) -> None:
        """What went otherwise than the file may show: caught errors, missing modules, variables."""
        for failure in self.patches.failures:
            known = failure in self._reported or getattr(failure, "expected", False)
            if not known and isinstance(failure, PySparkException):
                print("note: the file caught this error:", file=sys.stderr)
                self.refused(failure)
        if missing := list(self.modules.missing):
            names = ", ".join(missing)
            self.note(
                f"stand-ins were used for what is not installed here: {names}."
                " Modules of your own are found with --python-path."
            )
        if unset := self.patches.unset.options():
            self.note(f"these are not set, give them with: {unset}")


def _where_from(name: str) -> str:
    """What to do about a name that nothing makes."""
    homes = ("pyspark.sql.functions", "pyspark.sql.types", "pyspark.sql.window", "pyspark.sql")
    home = next((one for one in homes if hasattr(importlib.import_module(one), name)), "")
    usual = _USUAL_NAMES.get(name) or (name in sys.stdlib_module_names and f"import {name}")
    if line := usual or (home and f"from {home} import {name}"):
        return f"Nothing above makes {name}: add the line `{line}`."
    return (
        f"Nothing above makes {name}: define or import it there; where another file does, explain"
        " that one, or name its folder with --python-path and import it."
    )


def _home_of(text: str) -> str:
    """The module of PySpark that has the name which `pyspark.sql.functions` lacks, or nothing."""
    named = re.match(r"cannot import name '(\w+)' from 'pyspark\.sql\.functions'", text)
    homes = ("", ".avro.functions", ".protobuf.functions", ".types", ".window")
    for part in homes if named else ():
        module = importlib.import_module(f"pyspark.sql{part}")
        if named and hasattr(module, named[1]):
            return module.__name__
    return ""
