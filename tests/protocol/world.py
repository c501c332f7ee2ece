"""A file system as a value: what there is, what would outlive a loss of power, and a sink."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa
import pyarrow.fs as pafs

from stateplan.runtime.state.storage import Kind
from stateplan.runtime.state.storage_local import Disk

Step = tuple[Any, ...]  # (what, path, ...)
Loss = Literal["process", "names", "contents"]


@dataclass
class World:
    """All that outlives a process.

    A file is a name for a content; both are durable once they are synced. Folders are durable.

    Attributes:
        names: path to content number.
        kept: the names as they were at the last sync of their folder.
        contents: by number, which is the path a content was first written to and a count.
        synced: the contents that are durable.
        folders: paths.
        sink: the rows of each batch, written once.
        locks: path to the process that has it; None: this file system has no locks.
    """

    names: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    synced: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset({"/"})
    sink: dict[int, Any] = field(default_factory=dict)
    locks: dict[str, str] | None = None

    def copy(self) -> World:
        locks = None if self.locks is None else dict(self.locks)
        return World(
            dict(self.names),
            dict(self.kept),
            dict(self.contents),
            self.synced,
            self.folders,
            dict(self.sink),
            locks,
        )

    def key(self) -> Any:
        """Equal for equal worlds."""
        used = {*self.names.values(), *self.kept.values()}
        return (
            frozenset(self.names.items()),
            frozenset(self.kept.items()),
            frozenset((n, c) for n, c in self.contents.items() if n in used),
            self.synced & used,
            self.folders,
            frozenset(self.sink.items()),
            None if self.locks is None else frozenset(self.locks.items()),
        )

    def is_durable(self, folder: str) -> bool:
        """Whether a loss of power would change no name in a folder."""
        changed = self.names.items() ^ self.kept.items()
        return all(path.rpartition("/")[0] != folder for path, _ in changed)

    def after(self, loss: Loss, who: str) -> World:
        """The world after a process died, or all of them (who is empty), or the machine did.

        `process`: what it wrote is there. `names`: what was not synced is gone. `contents`: names
        are there, but contents that were not synced are cut short.
        """
        world = self.copy()
        if world.locks is not None:
            gone = [p for p, holder in world.locks.items() if who in (holder, "")]
            for path in gone:
                del world.locks[path]
        if loss == "process":
            return world
        if loss == "names":
            world.names = dict(world.kept)
        for number, content in world.contents.items():
            if number not in world.synced:
                world.contents[number] = content[: len(content) // 2]
        world.kept = dict(world.names)
        world.synced = frozenset(world.contents)
        return world

    # ------------------------------------------------------------------------------------- steps

    def do(self, who: str, step: Step) -> Any:
        """Take a step: its result, or an exception as a value."""
        try:
            return getattr(self, f"_{step[0]}")(who, *step[1:])
        except OSError as problem:
            return problem

    def _read(self, who: str, path: str) -> bytes:
        return self.contents[self._number(path)]

    def _write(self, who: str, path: str, data: bytes, durable: bool = False) -> None:
        self._check_folder(path)
        count = 0
        while f"{path}#{count}" in self.contents:
            count += 1
        number = f"{path}#{count}"
        self.contents[number] = data
        self.names[path] = number
        if durable:
            self.synced |= {number}
            self.kept[path] = number

    def _open(self, who: str, path: str) -> None:
        self._check_folder(path)

    def _sync(self, who: str, path: str) -> None:
        if path in self.folders:
            mine = {p for p in {*self.names, *self.kept} if p.rpartition("/")[0] == path}
            for name in mine:
                if name in self.names:
                    self.kept[name] = self.names[name]
                else:
                    del self.kept[name]
            return
        self.synced |= {self._number(path)}

    def _link(self, who: str, path: str, new: str) -> None:
        if new in self.names:
            raise FileExistsError(errno.EEXIST, "exists", new)
        self.names[new] = self._number(path)

    def _rename(self, who: str, path: str, new: str) -> None:
        self.names[new] = self._number(path)
        del self.names[path]

    def _unlink(self, who: str, path: str) -> None:
        self._number(path)
        del self.names[path]

    def _delete(self, who: str, path: str) -> None:
        self._unlink(who, path)
        self.kept.pop(path, None)

    def _folder(self, who: str, path: str) -> None:
        self._check_folder(path)
        if path in self.folders:
            raise FileExistsError(errno.EEXIST, "exists", path)
        self.folders |= {path}

    def _names(self, who: str, path: str) -> tuple[str, ...]:
        """Passing names and checksums are left out: no code looks at them in a listing."""
        if path not in self.folders:
            raise FileNotFoundError(errno.ENOENT, "no folder", path)
        inside = [p for p in (*self.names, *self.folders) if p.rpartition("/")[0] == path]
        found = {p.rpartition("/")[2] for p in inside if p != path}
        return tuple(sorted(n for n in found if not n.startswith(".")))

    def _kind(self, who: str, path: str) -> Kind | None:
        if path in self.folders:
            return "folder"
        return "file" if path in self.names else None

    def _lock(self, who: str, path: str) -> str:
        if self.locks is None:
            raise OSError(errno.ENOLCK, "no locks", path)
        if self.locks.setdefault(path, who) != who:
            raise BlockingIOError(errno.EWOULDBLOCK, "")
        return path

    def _unlock(self, who: str, path: str) -> None:
        if self.locks is not None:
            self.locks.pop(path, None)

    def _emit(self, who: str, batch: int, rows: Any) -> None:
        """A sink that writes each batch once, under its number; who comes later has the same."""
        assert self.sink.setdefault(batch, rows) == rows, (batch, rows, self.sink[batch])

    def _number(self, path: str) -> str:
        if path not in self.names:
            raise FileNotFoundError(errno.ENOENT, "no file", path)
        return self.names[path]

    def _check_folder(self, path: str) -> None:
        folder = path.rpartition("/")[0] or "/"
        if folder not in self.folders:
            raise FileNotFoundError(errno.ENOENT, "no folder", folder)


Take = Callable[..., Any]
"""Takes a step: `take("read", path)` gives its result or raises."""


class Sink:
    """A file being written; it is there once it is closed."""

    def __init__(self, close: Callable[[bytes], None]) -> None:
        self._close = close
        self._stream = pa.BufferOutputStream()

    def __enter__(self) -> Any:
        return self._stream

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self._close(self._stream.getvalue().to_pybytes())


class MemoryDisk(Disk):
    """A local disk in a world."""

    def __init__(self, take: Take) -> None:
        self._take = take

    def read(self, path: str) -> bytes:
        data: bytes = self._take("read", path)
        return data

    def source(self, path: str) -> Any:
        return pa.BufferReader(self._take("read", path))

    def sink(self, path: str) -> Any:
        self._take("open", path)
        return Sink(lambda data: self._take("write", path, data))

    def write(self, path: str, data: bytes) -> None:
        self._take("write", path, data)

    def sync(self, path: str) -> None:
        self._take("sync", path)

    def link(self, path: str, new: str) -> None:
        self._take("link", path, new)

    def rename(self, path: str, new: str) -> None:
        self._take("rename", path, new)

    def unlink(self, path: str) -> None:
        self._take("unlink", path)

    def make_folder(self, path: str) -> None:
        self._take("folder", path)

    def names(self, path: str) -> list[str]:
        return list(self._take("names", path))

    def kind(self, path: str) -> Kind | None:
        kind: Kind | None = self._take("kind", path)
        return kind

    def identity(self, path: str) -> None:
        return None

    def lock(self, path: str, text: str) -> Any:
        return self._take("lock", path)

    def unlock(self, handle: Any) -> None:
        self._take("unlock", handle)


class ObjectStore:
    """As much of a `pyarrow.fs.FileSystem` as a checkpoint needs: an object store in a world."""

    type_name = "s3"

    def __init__(self, take: Take) -> None:
        self._take = take

    def open_input_stream(self, path: str) -> Any:
        return pa.BufferReader(self._take("read", path))

    open_input_file = open_input_stream

    def open_output_stream(self, path: str) -> Any:
        self._take("open", path)
        return _Upload(Sink(lambda data: self._take("write", path, data, True)))

    def create_dir(self, path: str, recursive: bool) -> None:
        parts = path.split("/")
        for end in range(2, len(parts) + 1):
            try:
                self._take("folder", "/".join(parts[:end]))
            except FileExistsError:
                continue

    def delete_file(self, path: str) -> None:
        self._take("delete", path)

    def get_file_info(self, asked: Any) -> Any:
        if isinstance(asked, str):
            kinds = {None: pafs.FileType.NotFound, "folder": pafs.FileType.Directory}
            return pafs.FileInfo(asked, kinds.get(self._take("kind", asked), pafs.FileType.File))
        try:
            names = self._take("names", asked.base_dir)
        except FileNotFoundError:
            return []
        return [pafs.FileInfo(f"{asked.base_dir}/{name}", pafs.FileType.File) for name in names]


class _Upload:
    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def __enter__(self) -> Any:
        return self._sink.__enter__()

    def __exit__(self, *problem: Any) -> None:
        self._sink.__exit__(*problem)
