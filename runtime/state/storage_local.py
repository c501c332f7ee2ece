"""A local disk: reads by memory map, files made by link, all durable before they can be seen."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from .storage import Held, Kind, Storage, naming

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK)
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


class Disk:
    """What the operating system does, one step a method; tests put another one in its place."""

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def source(self, path: str) -> Any:
        return pa.memory_map(path)

    def sink(self, path: str) -> Any:
        return pa.OSFile(path, "wb")

    def write(self, path: str, data: bytes) -> None:
        """Make a file, content not durable."""
        with open(path, "xb", buffering=0) as file:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]

    def sync(self, path: str) -> None:
        """Make a file's content, or a folder's names, durable."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def link(self, path: str, new: str) -> None:
        os.link(path, new)

    def rename(self, path: str, new: str) -> None:
        os.replace(path, new)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def make_folder(self, path: str) -> None:
        os.mkdir(path)

    def delete_folder(self, path: str) -> None:
        shutil.rmtree(path, ignore_errors=True)

    def names(self, path: str) -> list[str]:
        return os.listdir(path)

    def kind(self, path: str) -> Kind | None:
        if os.path.isdir(path):
            return "folder"
        return "file" if os.path.exists(path) else None

    def identity(self, path: str) -> tuple[object, ...] | None:
        status = os.stat(path)
        times = status.st_mtime_ns, status.st_ctime_ns
        return status.st_dev, status.st_ino, status.st_size, *times

    def lock(self, path: str, text: str) -> int:
        """Take a lock file; BlockingIOError, with the holder's text, if another one has it."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            holder = os.pread(descriptor, 4096, 0).decode(errors="replace")
            os.close(descriptor)
            if problem.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise BlockingIOError(problem.errno, holder) from None
            raise
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
        return descriptor

    def unlock(self, handle: int) -> None:
        os.close(handle)


class LocalStorage(Storage):
    """Files of a local or mounted disk.

    Before a file's name appears its content is durable, and the name is before `create` returns.
    """

    local = True

    def __init__(self, disk: Disk | None = None) -> None:
        self._disk = Disk() if disk is None else disk

    def read(self, path: str) -> bytes:
        with naming(path):
            return self._disk.read(path)

    def open(self, path: str) -> Any:
        with naming(path):
            return self._disk.source(path)

    @contextlib.contextmanager
    def output(self, path: str) -> Iterator[Any]:
        with naming(path):
            with self._in_folder(path, lambda: self._disk.sink(path)) as sink:
                yield sink
            self._disk.sync(path)

    def put(self, path: str, data: bytes, *, durable: bool = True) -> None:
        staged = self._stage(path, data, durable)
        with naming(path):
            try:
                self._disk.rename(staged, path)
            except OSError:
                self.delete(staged)
                raise
            if durable:
                self._disk.sync(_folder(path))

    def create(self, path: str, data: bytes) -> None:
        staged = self._stage(path, data, True)
        try:
            with naming(path):
                self._link(staged, path)
        finally:
            with contextlib.suppress(OSError):
                self.delete(staged)
        self.sync(_folder(path))

    def link(self, file: str, path: str) -> None:
        with naming(path):
            self._in_folder(path, lambda: self._link(file, path))
        self.sync(_folder(path))

    def delete(self, path: str) -> None:
        with naming(path), contextlib.suppress(FileNotFoundError):
            self._disk.unlink(path)

    def delete_folder(self, path: str) -> None:
        self._disk.delete_folder(path)

    def names(self, path: str) -> list[str]:
        try:
            with naming(path):
                return sorted(self._disk.names(path))
        except FileNotFoundError:
            return []

    def kind(self, path: str) -> Kind | None:
        return self._disk.kind(path)

    def identity(self, path: str) -> tuple[object, ...] | None:
        return self._disk.identity(path)

    def sync(self, path: str) -> None:
        with naming(path):
            self._disk.sync(path)

    def lock(self, path: str, text: str) -> int | None:
        try:
            with naming(path):
                handle: int = self._in_folder(path, lambda: self._disk.lock(path, text))
                return handle
        except BlockingIOError as problem:
            raise Held(problem.strerror or "") from None
        except OSError as problem:
            if problem.errno in _NO_LOCKS:
                return None
            raise

    def unlock(self, handle: int) -> None:
        self._disk.unlock(handle)

    def shown(self, path: str) -> str:
        return path

    def _stage(self, path: str, data: bytes, durable: bool) -> str:
        """Write a file under a passing name beside its place."""
        folder, _, name = path.rpartition("/")
        staged = f"{folder}/.{name.lstrip('.')}.{uuid.uuid4()}.tmp"
        with naming(path):
            try:
                self._in_folder(staged, lambda: self._disk.write(staged, data))
                if durable:
                    self._disk.sync(staged)
            except OSError:
                with contextlib.suppress(OSError):
                    self.delete(staged)
                raise
        return staged

    def _link(self, staged: str, path: str) -> None:
        try:
            self._disk.link(staged, path)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # A disk without hard links: not safe against a second query at the same instant.
            if self._disk.kind(path):
                raise FileExistsError(errno.EEXIST, "exists", path) from None
            self._disk.rename(staged, path)

    def _in_folder(self, path: str, step: Callable[[], Any]) -> Any:
        """Do something with a file, after making its folder where that is missing."""
        try:
            return step()
        except FileNotFoundError:
            self._make_folder(_folder(path))
            return step()

    def _make_folder(self, path: str) -> None:
        parent = _folder(path)
        if self._disk.kind(path) == "folder" or parent == path:
            return
        self._make_folder(parent)
        with contextlib.suppress(FileExistsError):  # another one made it at the same moment
            self._disk.make_folder(path)
        self._disk.sync(parent)


def _folder(path: str) -> str:
    return path.rpartition("/")[0] or "/"
