"""Variables and settings that a file asks for and nobody has set: stand-ins, listed at the end.

They are given where the job really runs: by a cluster, a job's definition, a pipeline. Code that is
ready for one that is missing, by a default or a `try`, goes on as it does there.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.connect.conf import RuntimeConf

from .endings import ends_without
from .program import Program
from .stand_ins import StandIn

_VARIABLE = re.compile(r"\b(?:getenv\(|environ\.get\(|environ\[)'(\w+)'[)\]]")
_ASKING = ("os.py", "_collections_abc.py", "pathlib.py", "genericpath.py", "genericpath>")


class Unset:
    """What was asked for in vain.

    Args:
        program: whose lines.

    Attributes:
        variables: of the environment.
        settings: of Spark.
        parameters: of a notebook, which are empty.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.variables: dict[str, None] = {}
        self.settings: dict[str, None] = {}
        self.parameters: dict[str, None] = {}

    def stand_in(self) -> None:
        """Answer for them from now on. It happens in the process that explains alone."""
        self._variables()
        self._settings()

    def options(self) -> str:
        """The options of the command that set variables and settings, or nothing."""
        options = [f"--env {name}=..." for name in self.variables]
        return " ".join(options + [f"--conf {key}=..." for key in self.settings])

    def needed(self, error: BaseException) -> str:
        """All that a file may need which failed so: what it would have asked for next, too.

        Nothing where the error is another's: it names nothing that is not set, and None or a key
        that is not there are not what it is about.
        """
        text = str(error)
        asked = (*self.variables, *self.settings, *self.parameters)
        about = isinstance(error, KeyError | TypeError) or "None" in text
        if not about and not any(name in text for name in asked):
            return ""
        if self.variables:
            for name in self._read_below():
                self.variables.setdefault(name)
        parameters = [f"{name}=..." for name in self.parameters]
        return " ".join(
            filter(None, (self.options(), *(["--"] if parameters else ()), *parameters))
        )

    def _read_below(self) -> Iterator[str]:
        """Variables that the user's modules name in `os.getenv(...)`, `os.environ[...]`."""
        files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        for file in filter(None, files):
            if not self.program.owns(file):
                continue
            with suppress(SyntaxError, OSError):
                code = ast.parse(Path(file).read_text(encoding="utf-8", errors="replace"))
                for found in _VARIABLE.findall(ast.unparse(code)):
                    if found not in os.environ:
                        yield found

    def option(self, path: str) -> str:
        """The option that sets what the stand-in of a path stands for; nothing for any other."""
        of_variables = {_variable(name): f"--env {name}=VALUE" for name in self.variables}
        of_settings = {_setting(key): f"--conf {key}=VALUE" for key in self.settings}
        named = {**of_variables, **of_settings}
        return next((option for start, option in named.items() if path.startswith(start)), "")

    def _variables(self) -> None:
        kind: Any = type(os.environ)
        found = kind.__getitem__

        def get(environment: Any, name: str) -> str:
            try:
                return str(found(environment, name))
            except KeyError:
                if self.program.own_frame(asking()) is None:
                    raise
                self.variables.setdefault(name)
                # `os.environ.get` and `os.getenv` say what holds for one that is not set.
                frame = sys._getframe(1)
                needed = not frame.f_locals.get("default") and ends_without(asking())
                own = self.program.owns(frame.f_code.co_filename)
                if not needed and (not own or self.program.catches(frame)):
                    raise
                return StandIn(_variable(name))

        kind.__getitem__ = get

    def _settings(self) -> None:
        kind: Any = RuntimeConf
        found = kind.get

        def get(conf: Any, key: str, *default: Any, **named: Any) -> Any:
            frame = sys._getframe(1)
            try:
                value = found(conf, key, *default, **named)
                if value or not ends_without(frame):
                    return value
                self.settings.setdefault(key)
                return StandIn(_setting(key))
            except PySparkException as error:
                users = self.program.owns(frame.f_code.co_filename)
                if error.getCondition() != "SQL_CONF_NOT_FOUND" or not users:
                    raise
                self.settings.setdefault(key)
                if self.program.catches(frame):
                    raise
                error.expected = True  # type: ignore[attr-defined]
                return StandIn(_setting(key))

        kind.get = get


def _variable(name: str) -> str:
    return f"os.environ[{name!r}]"


def _setting(key: str) -> str:
    return f"spark.conf.get({key!r})"


def asking() -> Any:
    """The frame that asked for a variable or a file: not that of `os.getenv` or `Path.exists`."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.endswith(_ASKING):
        frame = frame.f_back
    if frame is not None and "<frozen" in frame.f_code.co_filename:
        return frame.f_back
    return frame
