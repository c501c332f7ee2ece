"""No process is started while a file is explained: `pip install`, `hdfs dfs -ls` and their kin.

What one would print is a stand-in, and it ends well.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from .program import Program
from .stand_ins import StandIn


def start_no_process(program: Program, note: Callable[[str], None]) -> None:
    """Answer for processes that the user's own code starts; libraries' own go on."""

    def replace(module: Any, name: str, answer: Callable[[Any, StandIn], Any]) -> None:
        real = getattr(module, name)

        def call(command: Any, *arguments: Any, **named: Any) -> Any:
            frame = program.own_frame(sys._getframe(1))
            if frame is None:
                return real(command, *arguments, **named)
            text = command if isinstance(command, str) else " ".join(map(str, command))
            note(f"{program.place(of=frame)}: no process is started here: {text}")
            return answer(command, StandIn(f"{module.__name__}.{name}({text})"))

        setattr(module, name, call)

    python: Any = subprocess
    made = python.Popen.__new__

    def process(kind: Any, command: Any = (), *arguments: Any, **named: Any) -> Any:
        frame = program.own_frame(sys._getframe(1))
        if frame is None:
            return made(kind)
        note(f"{program.place(of=frame)}: no process is started here: {command}")
        return StandIn("subprocess.Popen()")

    python.Popen.__new__ = process
    replace(python, "run", lambda command, out: subprocess.CompletedProcess(command, 0, out, ""))
    for name in ("call", "check_call"):
        replace(python, name, lambda command, out: 0)
    for name in ("check_output", "getoutput"):
        replace(python, name, lambda command, out: out)
    replace(os, "system", lambda command, out: 0)
    replace(os, "popen", lambda command, out: out)
