"""Where checkpoints and state lie: folders of files on a local disk or behind `pyarrow.fs`.

All that a checkpoint asks of a file system is here: whole files that appear at once, names that
outlive a crash, listings. Executors get a `Location` with their task, file system included.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

Kind = Literal["file", "folder"]


class Held(Exception):
    """A lock is held by another process; the text is what that one wrote into it."""


class Storage(ABC):
    """One file system. Paths are its own; a missing file is a FileNotFoundError, other OSErrors
    name the file.

    Attributes:
        local: whether it is a local disk: `create` is exclusive there, `lock` may work, and files
            that Spark reads too have Hadoop's checksum files beside them.
    """

    local: bool

    @abstractmethod
    def read(self, path: str) -> bytes:
        """A whole file."""

    @abstractmethod
    def open(self, path: str) -> Any:
        """A file for reading at any place, mapped into memory where that is possible."""

    @abstractmethod
    def output(self, path: str) -> AbstractContextManager[Any]:
        """A stream into a file of a new name; its content is durable at the end.

        The name is durable after `sync` of the folder.
        """

    @abstractmethod
    def put(self, path: str, data: bytes, *, durable: bool = True) -> None:
        """Make or replace a file, whole or not at all."""

    @abstractmethod
    def create(self, path: str, data: bytes) -> None:
        """Make a file that is not there yet, whole and durable or not at all.

        Raises:
            FileExistsError: it is there. Where `local` is not set, two callers at the same moment
                may both succeed, and the file holds what one of them wrote.
        """

    def link(self, file: str, path: str) -> None:
        """`create`, of what another file holds: on a local disk not if that one is gone by then.

        Raises:
            FileExistsError: there is something at the path.
            FileNotFoundError: there is no such file.
        """
        self.create(path, self.read(file))

    @abstractmethod
    def delete(self, path: str) -> None:
        """Delete a file; it may be missing."""

    @abstractmethod
    def delete_folder(self, path: str) -> None:
        """Delete a folder and what it holds; it may be missing."""

    @abstractmethod
    def names(self, path: str) -> list[str]:
        """The names of what a folder holds, in order; nothing if there is no such folder."""

    @abstractmethod
    def kind(self, path: str) -> Kind | None:
        """What is at a path."""

    @abstractmethod
    def sync(self, path: str) -> None:
        """Make the names in a folder durable."""

    @abstractmethod
    def lock(self, path: str, text: str) -> int | None:
        """Take a lock that ends with `unlock` or with the process; None if there are no locks here.

        Raises:
            Held: another one has it.
        """

    @abstractmethod
    def unlock(self, handle: int) -> None:
        """Let a lock go."""

    def identity(self, path: str) -> tuple[object, ...] | None:
        """What stays the same exactly as long as a file is not replaced; None: nobody knows.

        Raises:
            FileNotFoundError: there is none.
        """
        return None

    @abstractmethod
    def shown(self, path: str) -> str:
        """The path as messages show it."""


class Guard(Protocol):
    """Who may make files in a folder."""

    def create(self, location: Location, data: bytes) -> None:
        """`Storage.create`, if it is allowed."""


@dataclass(frozen=True)
class Location:
    """A file or folder on a storage: a path that knows its file system.

    Attributes:
        storage: the file system.
        path: the path on it.
        guard: asked before a file is created here or below.
    """

    storage: Storage
    path: str
    guard: Guard | None = None

    def __truediv__(self, name: str) -> Location:
        return Location(self.storage, f"{self.path.rstrip('/')}/{name}", self.guard)

    def __str__(self) -> str:
        return self.storage.shown(self.path)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> Location:
        return Location(self.storage, self.path.rpartition("/")[0] or "/", self.guard)

    def with_name(self, name: str) -> Location:
        return self.parent / name

    def read(self) -> bytes:
        return self.storage.read(self.path)

    def open(self) -> Any:
        return self.storage.open(self.path)

    def output(self) -> AbstractContextManager[Any]:
        return self.storage.output(self.path)

    def put(self, data: bytes, *, durable: bool = True) -> None:
        self.storage.put(self.path, data, durable=durable)

    def create(self, data: bytes) -> None:
        if self.guard is None:
            self.storage.create(self.path, data)
        else:
            self.guard.create(self, data)

    def delete(self) -> None:
        self.storage.delete(self.path)

    def delete_folder(self) -> None:
        self.storage.delete_folder(self.path)

    def names(self) -> list[str]:
        return self.storage.names(self.path)

    def iterdir(self) -> Iterator[Location]:
        return (self / name for name in self.names())

    def sync(self) -> None:
        self.storage.sync(self.path)

    def exists(self) -> bool:
        return self.storage.kind(self.path) is not None

    def is_dir(self) -> bool:
        return self.storage.kind(self.path) == "folder"


Place = str | Path | Location
"""A path, a URI or a location."""


@contextlib.contextmanager
def naming(path: str) -> Iterator[None]:
    """Errors of the system name the file, not a passing name of it or its folder."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError as problem:
        if problem.filename == path:
            raise
        text = problem.strerror or str(problem)
        raise OSError(problem.errno, text, path) from problem
