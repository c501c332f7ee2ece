"""A file system behind `pyarrow.fs`: object stores, HDFS, a handler of the user's own.

Nothing is asked of it but that a listing shows what was written before: there is no file that only
one of two writers can make, no lock, and where a finished upload appears at once no rename.
"""

from __future__ import annotations

import contextlib
import errno
import uuid
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

from .storage import Kind, Storage, naming

_OBJECT_STORES = ("s3", "gcs", "abfs")


class RemoteStorage(Storage):
    """Files of a `pyarrow.fs.FileSystem`.

    Args:
        system: the file system; it must pickle. A handler with a true `atomic_uploads` says that a
            file appears whole when its stream is closed, as on object stores, and not at all if a
            write failed.
        prefix: what stands before a path in a URI, for messages.
    """

    local = False

    def __init__(self, system: Any, prefix: str) -> None:
        self._system = system
        self._prefix = prefix
        handler = getattr(system, "handler", None)
        self._atomic = system.type_name in _OBJECT_STORES or getattr(
            handler, "atomic_uploads", False
        )

    def read(self, path: str) -> bytes:
        with self._naming(path), self._system.open_input_stream(path) as stream:
            data: bytes = stream.read()
            return data

    def open(self, path: str) -> Any:
        with self._naming(path):
            return self._system.open_input_file(path)

    @contextlib.contextmanager
    def output(self, path: str) -> Iterator[Any]:
        with self._naming(path), self._stream(path) as stream:
            yield stream

    def put(self, path: str, data: bytes, *, durable: bool = True) -> None:
        folder, _, name = path.rpartition("/")
        target = path if self._atomic else f"{folder}/.{name}.{uuid.uuid4()}.tmp"
        with self._naming(path):
            try:
                with self._stream(target) as stream:
                    stream.write(data)
                if target != path:
                    self._system.move(target, path)
            except OSError:
                if target != path:
                    with contextlib.suppress(OSError):
                        self._system.delete_file(target)
                raise

    def create(self, path: str, data: bytes) -> None:
        if self.kind(path):
            raise FileExistsError(errno.EEXIST, "exists", self.shown(path))
        self.put(path, data)

    def delete(self, path: str) -> None:
        with self._naming(path), contextlib.suppress(FileNotFoundError):
            self._system.delete_file(path)

    def delete_folder(self, path: str) -> None:
        with contextlib.suppress(OSError):
            self._system.delete_dir(path)

    def names(self, path: str) -> list[str]:
        with self._naming(path):
            try:
                found = self._system.get_file_info(pafs.FileSelector(path, allow_not_found=True))
            except NotADirectoryError:
                return []
            return sorted(info.base_name for info in found)

    def kind(self, path: str) -> Kind | None:
        with self._naming(path):
            match self._system.get_file_info(path).type:
                case pafs.FileType.NotFound:
                    return None
                case pafs.FileType.Directory:
                    return "folder"
                case _:
                    return "file"

    def sync(self, path: str) -> None:
        """A finished upload is durable."""

    def lock(self, path: str, text: str) -> int | None:
        return None

    def unlock(self, handle: int) -> None:
        raise NotImplementedError

    def shown(self, path: str) -> str:
        return f"{self._prefix}{path}"

    def _stream(self, path: str) -> Any:
        try:
            return self._system.open_output_stream(path)
        except FileNotFoundError:
            self._system.create_dir(path.rpartition("/")[0], recursive=True)
            return self._system.open_output_stream(path)

    @contextlib.contextmanager
    def _naming(self, path: str) -> Iterator[None]:
        with naming(self.shown(path)):
            try:
                yield
            except pa.ArrowException as problem:  # what a file system reports without a number
                raise OSError(errno.EIO, str(problem)) from problem
