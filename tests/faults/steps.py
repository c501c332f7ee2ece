"""The file steps that a driver makes, counted; the process ends, or stops, at one of them.

A step is the moment before or behind one operation on a file below a folder: a file opened for
writing, half of its content written, made durable, linked, renamed, deleted; a folder made. All
that the runtime does to a checkpoint or an output directory goes through these, so every state
that a crash of the driver can leave on the disk lies between two of them.
"""

from __future__ import annotations

import builtins
import os
import re
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from stateplan.runtime.state.storage_local import Disk

End = Literal["kill", "pause"]
_UNIQUE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# What takes a path first, and what a descriptor.
_BY_PATH = ("link", "rename", "replace", "unlink", "remove", "mkdir", "rmdir")
_BY_DESCRIPTOR = ("fsync",)


@dataclass
class Steps:
    """Counts steps below a folder.

    Attributes:
        root: only what happens below it counts.
        at: the step at which to end; None: only count.
        end: kill the process with SIGKILL, or stop it with SIGSTOP until it is continued.
        names: all steps so far, unique parts of file names left out.
    """

    root: Path
    at: int | None = None
    end: End = "kill"
    names: list[str] = field(default_factory=list)
    _one: threading.Lock = field(default_factory=threading.Lock)

    def step(self, when: str, what: str, path: str) -> None:
        """Note a step; does not return if the process ends here."""
        place = _UNIQUE.sub("*", os.path.relpath(path, self.root))
        with self._one:  # threads of the embedded engine write state
            self.names.append(f"{when} {what} {place}")
            if self.at == len(self.names) - 1:
                (self.root / "ended-at").write_text(self.names[-1])
                os.kill(os.getpid(), signal.SIGKILL if self.end == "kill" else signal.SIGSTOP)

    def install(self) -> None:
        """Count from now on, in this process."""
        for name in _BY_PATH:
            setattr(os, name, self._around(name, getattr(os, name), _path))
        for name in _BY_DESCRIPTOR:
            setattr(os, name, self._around(name, getattr(os, name), _opened))
        builtins.open = self._opening(builtins.open)  # type: ignore[assignment]
        sink = Disk.sink
        Disk.sink = lambda disk, path: self._sink(partial(sink, disk), path)  # type: ignore[method-assign]

    def _around(
        self, name: str, function: Callable[..., Any], place: Callable[..., str | None]
    ) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            path = place(*args, **kwargs)
            if path is None or not self._counts(path):
                return function(*args, **kwargs)
            self.step("before", name, path)
            result = function(*args, **kwargs)
            self.step("after", name, path)
            return result

        return wrapped

    def _opening(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def opened(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            written = any(letter in mode for letter in "wxa")
            if not written or not isinstance(file, str | os.PathLike) or not self._counts(file):
                return function(file, mode, *args, **kwargs)
            path = os.fspath(file)
            self.step("before", "open", path)
            made = function(file, mode, *args, **kwargs)
            self.step("after", "open", path)
            return _Written(made, self, path)

        return opened

    def _sink(self, function: Callable[[str], Any], path: str) -> Any:
        if not self._counts(path):
            return function(path)
        self.step("before", "open", path)
        made = function(path)
        self.step("after", "open", path)
        return _Written(made, self, path)

    def _counts(self, path: Any) -> bool:
        # What the harness's own sinks and marks do is no part of the protocol.
        text = os.path.abspath(os.fspath(path))
        own = tuple(f"{self.root}/{name}" for name in ("in", "kept", "marks", "ended-at", "steps"))
        return text.startswith(f"{self.root}/") and not text.startswith(own)


class _Written:
    """A file whose content goes to the disk in two halves."""

    def __init__(self, file: Any, steps: Steps, path: str) -> None:
        self._file, self._steps, self._path = file, steps, path

    def write(self, data: Any) -> int:
        half = len(data) // 2
        self._file.write(data[:half])
        self._file.flush()
        self._steps.step("half", "write", self._path)
        self._file.write(data[half:])
        self._file.flush()
        self._steps.step("after", "write", self._path)
        return len(data)

    def __enter__(self) -> _Written:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _path(*args: Any, **kwargs: Any) -> str | None:
    """The path an operation is about; the new name where there are two."""
    if "dir_fd" in kwargs and kwargs["dir_fd"] is not None:
        folder = _opened(kwargs["dir_fd"])
        return None if folder is None else os.path.join(folder, os.fspath(args[0]))
    paths = [a for a in args if isinstance(a, str | os.PathLike)]
    return os.fspath(paths[-1]) if paths else None


def _opened(descriptor: Any, *_: Any) -> str | None:
    number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        return None
