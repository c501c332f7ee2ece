"""How the end of a user's file is reported: its own lines, and what was missing."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from types import FrameType

from pyspark.errors import PySparkException

from .hints import ARGUMENTS, Hints, innermost
from .missing_modules import MissingModules
from .patches import Patches, WaitedEnough
from .program import Program

_LOOKS = 100  # of where the file is, until it is taken to hang
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
        # None where the file runs: it has all that it asks for.
        self.hints: Hints | None = Hints(program, patches, asked)
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
        if self.hints is not None and (hint := self.hints.of(error)):
            print(f"hint: {hint}", file=sys.stderr)

    def place_of(self, error: BaseException) -> str | None:
        """`job.py:12`: the innermost of the user's own lines that an error went through."""
        frame = innermost(self.program, error)
        return frame and f"{os.path.basename(frame.filename)}:{frame.lineno}"

    def exited(self, error: SystemExit) -> None:
        """The file ended itself: an error that it did so for is reported."""
        cause = error.__context__
        if isinstance(cause, Exception) and cause not in self._reported:
            self.ended_by(cause)
        elif error.code == 2 and self._of_arguments(error):
            print(f"hint: {ARGUMENTS}", file=sys.stderr)
        elif error.code:
            print(f"error: the file ended itself at {self.place_of(error)}", file=sys.stderr)
            if self.hints is not None and (hint := self.hints.absent()):
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
