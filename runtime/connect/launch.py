"""Runs a user's file as it is, in a process whose Spark is the endpoint (script.py starts it).

A file is written for an application that it starts itself: its builder's master and static settings
are those of the engine that runs already, and `sparkContext` is there for what needs no JVM. Exit
status: the file's own.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkAttributeError, PySparkException

from ...planner.connect.call_sites import record
from ...planner.connect.classic import adopt_habits
from ...planner.connect.script import workspace
from ...planner.connect.script.context import PlannedContext, session
from ...planner.connect.script.launch import BAD_INPUT, FAILED, Launch
from ...planner.connect.script.patches import Patches
from ...planner.connect.script.program import Program
from .script_functions import ScriptFunctions


class RunContext(PlannedContext):
    """A SparkContext over Connect: its settings, log level and broadcast values; no RDDs."""

    defaultParallelism = os.cpu_count() or 1

    def __init__(self, *arguments: Any, conf: Any = None, **_: Any) -> None:
        session(dict(conf.getAll()) if conf is not None else {})

    @classmethod
    def of_java(cls, name: str) -> Any:
        raise PySparkAttributeError(
            errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": name}
        )


class RunLaunch(Launch):
    """One run of one file.

    Args:
        program: the file and its arguments.
        socket: where the endpoint calls its functions.
        far: whether the engine is on another machine.
    """

    def __init__(self, program: Program, socket: Path, *, far: bool) -> None:
        super().__init__(program)
        self._socket = socket
        self._far = far
        self.patches = Patches(program, context=RunContext)
        self.report.patches = self.patches
        self.report.hints = None

    def run(self) -> int:
        """Run the file as `python file arguments` would; gives the exit status."""
        self._prepare()
        try:
            self._run_file(self.program.path)
        except PySparkException as error:
            self.report.refused(error)
            return BAD_INPUT
        except SystemExit as error:
            if isinstance(error.code, str):
                print(error.code, file=sys.stderr)
            return error.code if isinstance(error.code, int) else int(error.code is not None)
        except KeyboardInterrupt:
            return 130
        except Exception as error:
            self.report.failed(error)
            return FAILED
        return 0

    def _prepare(self) -> None:
        os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
        record()
        adopt_habits()
        self.patches.sessions()
        if not self._far:
            self.patches.one_call_for_each_plan()
        functions = ScriptFunctions(self._socket)
        self.patches.functions_of_batches(functions.add)
        context = RunContext.__new__(RunContext)
        workspace.provide(session, context, self.program.arguments, {})
        self._enter()


def run(program: Program, socket: str, far: bool) -> int:
    """Run a file; gives the exit status.

    Args:
        program: the file and its arguments.
        socket: where the endpoint calls its functions.
        far: whether the engine is on another machine.
    """
    return RunLaunch(program, Path(socket), far=far).run()
