"""What to do about an error that ends a user's file."""

from __future__ import annotations

import errno
import importlib
import re
import sys
import traceback
from collections.abc import Sequence

from pyspark import __version__
from pyspark.sql.connect import functions

from ..protocol import PLACEHOLDER
from .patches import Patches
from .program import Program
from .rules import Rules
from .stand_ins import StandIn, StandInNeeded

ARGUMENTS = "Arguments of the script go behind --: stateplan explain FILE -- ARGUMENTS."
_WRONG_CALL = re.compile(r"\(\) (missing \d+ required|got an unexpected|takes .*positional)")
_FILE = re.compile(r"^(?:json|yaml|pickle|joblib|tomllib|open)\(([^)]+)\)")
_NO_ROWS = "No data is read here, so tables are empty: the code needs a row of one."
# What files call modules.
_USUAL_NAMES = {
    "F": "from pyspark.sql import functions as F",
    "T": "from pyspark.sql import types as T",
    "dlt": "import dlt",
    "dp": "from pyspark import pipelines as dp",
    "pd": "import pandas as pd",
    "np": "import numpy as np",
}


class Hints:
    """Hints for the user of a file.

    Args:
        program: the file.
        patches: know what was missed.
        asked: requests that were not sent.
    """

    def __init__(self, program: Program, patches: Patches, asked: Sequence[str]) -> None:
        self.program = program
        self.patches = patches
        self.asked = asked

    def of(self, error: BaseException) -> str:
        """What to do about an error; nothing where there is no telling."""
        return self._by_kind(error) or self._by_what_is_missing(error)

    def _by_kind(self, error: BaseException) -> str:
        """Where the error alone says what to do."""
        text = str(error)
        match error:
            case StandInNeeded():
                return self._what_stands_in(error.path)
            case TypeError() if StandIn.__name__ in text:
                return (
                    "Something that is not here went where PySpark needs a value of its own: give"
                    " the folder of its module with --python-path."
                )
            case OSError(errno=errno.ECONNREFUSED):
                return (
                    "Leave out what needs a service, or catch the error as where the service is"
                    " down."
                )
            case SyntaxError():
                version = ".".join(map(str, sys.version_info[:2]))
                needs = f"code of a Python newer than {version} needs such a Python"
                return f"Correct the line; {needs}."
            case ModuleNotFoundError():
                return (
                    "Install it, name its folder with --python-path, or leave out --strict-imports."
                )
            case ImportError() if home := _home_of(text):
                return f"PySpark has it in {home}: import it from there."
            case NameError(name=name) if name in vars(functions):
                # Spark's `__all__` has no name of the old spelling.
                return (
                    "`from pyspark.sql.functions import *` does not bring it in PySpark"
                    f" {__version__}: import {name} by its name."
                )
            case NameError(name=str(name)) if name:
                return _where_from(name)
            case IndexError() if self._reads_arguments(error):
                return ARGUMENTS
            case _:
                return ""

    def _by_what_is_missing(self, error: BaseException) -> str:
        """Where it is likely to come of what the file has missed so far."""
        text = str(error)
        if placed := PLACEHOLDER.search(text):
            return (
                f"{placed[0]} stands for what is not here: give the folder of its module with"
                " --python-path or, where --call hands it in, its value in the call's brackets."
            )
        if self.asked:
            return (
                f"The code may need what {self.asked[-1]} answers, and nothing is sent: give the"
                " answer to a function that --call calls, or catch this error."
            )
        if unset := self.patches.unset.needed(error):
            return f"Set what is not there: {unset}."
        if "NoneType" in text or isinstance(error, IndexError | StopIteration):
            return _NO_ROWS
        if isinstance(error, FileNotFoundError):
            return "Run stateplan explain in the folder that the script is started in."
        if isinstance(error, TypeError) and _WRONG_CALL.search(text):
            return "Python refuses this call wherever the code runs: correct its arguments."
        return self.absent() or self._taken_apart(error)

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

    def absent(self) -> str:
        """What to do about a file that the code looked for in vain."""
        if not self.patches.absent:
            return ""
        path = list(self.patches.absent)[-1]
        return (
            f"The code looked for '{path}', which is not here: run stateplan explain where it is,"
            " or make it."
        )

    def _reads_arguments(self, error: IndexError) -> bool:
        frame = innermost(self.program, error)
        return frame is not None and "argv" in (frame.line or "")


def innermost(program: Program, error: BaseException) -> traceback.FrameSummary | None:
    """The innermost of the user's own lines that an error went through."""
    frames = reversed(traceback.extract_tb(error.__traceback__))
    return next((frame for frame in frames if program.owns(frame.filename)), None)


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
