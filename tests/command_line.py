"""The command line in this process, which has imported all of it: a process of its own takes longer
to start than most commands run. The processes that a command starts write where it does.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess

from stateplan.planner.cli import main


def stateplan(folder: Path, *arguments: str) -> CompletedProcess[str]:
    """What a command prints in a folder, and its exit status."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with ExitStack() as stack:
            for descriptor, file, redirected in (
                (1, out, redirect_stdout),
                (2, err, redirect_stderr),
            ):
                saved = os.dup(descriptor)
                stack.callback(os.close, saved)
                stack.callback(os.dup2, saved, descriptor)
                os.dup2(file.fileno(), descriptor)
                writer = stack.enter_context(os.fdopen(os.dup(descriptor), "w", buffering=1))
                stack.enter_context(redirected(writer))
            stack.enter_context(chdir(folder))
            status = _ended(arguments)
        printed = []
        for file in (out, err):
            file.seek(0)
            printed.append(file.read())
    return CompletedProcess(["stateplan", *arguments], status, *printed)


def _ended(arguments: tuple[str, ...]) -> int:
    try:
        main.main(args=list(arguments), prog_name="stateplan")
    except SystemExit as end:
        return int(end.code or 0)
    return 0
