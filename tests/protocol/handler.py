"""A file system of one's own behind `pyarrow.fs`, whose operations can be made to fail."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs


@dataclass
class FailFrom:
    """Operations fail, from one on.

    Attributes:
        first: the first one to fail, counted from 0.
        errno: what the system says.
        last: the last one to fail; None: all of them do.
        failed: what failed so far.
    """

    first: int
    errno: int
    last: int | None = None
    failed: list[str] = field(default_factory=list)
    _count: int = 0

    def __call__(self, what: str, path: str) -> None:
        number = self._count
        self._count += 1
        if number >= self.first and (self.last is None or number <= self.last):
            self.failed.append(path)
            raise OSError(self.errno, os.strerror(self.errno))


@dataclass
class FailWhile:
    """Operations on some files fail as long as a file is there, in all processes.

    Attributes:
        switch: the file; it holds a pattern of `what path`.
        errno: what the system says.
    """

    switch: str
    errno: int

    def __call__(self, what: str, path: str) -> None:
        try:
            with open(self.switch) as file:
                pattern = file.read()
        except FileNotFoundError:
            return
        if re.search(pattern, f"{what} {path}"):
            raise OSError(self.errno, os.strerror(self.errno))


class Handler(pafs.FileSystemHandler):  # type: ignore[misc]
    """A folder on a local disk as a file system of its own.

    Args:
        folder: where the files are.
        fail: asked before every operation with its kind and its path; may raise.
        atomic_uploads: whether a file appears whole when it is closed, as on an object store; else
            it appears when it is opened, and grows.
    """

    def __init__(
        self,
        folder: str,
        fail: Callable[[str, str], None] = lambda what, path: None,
        atomic_uploads: bool = False,
    ) -> None:
        self.atomic_uploads = atomic_uploads
        self._folder = folder
        self._fail = fail
        self._inner = pafs.SubTreeFileSystem(folder, pafs.LocalFileSystem())

    def __reduce__(self) -> Any:
        return Handler, (self._folder, self._fail, self.atomic_uploads)

    def get_type_name(self) -> str:
        return "folder"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> Any:
        self._fail("info", paths[0])
        return self._inner.get_file_info(paths)

    def get_file_info_selector(self, selector: Any) -> Any:
        self._fail("list", selector.base_dir)
        return self._inner.get_file_info(selector)

    def create_dir(self, path: str, recursive: bool) -> None:
        self._fail("create", path)
        self._inner.create_dir(path, recursive=recursive)

    def delete_dir(self, path: str) -> None:
        self._fail("delete", path)
        self._inner.delete_dir(path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool) -> None:
        raise NotImplementedError

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError

    def delete_file(self, path: str) -> None:
        self._fail("delete", path)
        self._inner.delete_file(path)

    def move(self, src: str, dest: str) -> None:
        self._fail("move", dest)
        self._inner.move(src, dest)
        self._fail("moved", dest)

    def copy_file(self, src: str, dest: str) -> None:
        raise NotImplementedError

    def open_input_stream(self, path: str) -> Any:
        self._fail("read", path)
        return self._inner.open_input_stream(path)

    def open_input_file(self, path: str) -> Any:
        self._fail("read", path)
        return self._inner.open_input_file(path)

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        raise NotImplementedError

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        self._fail("open", path)
        if self.atomic_uploads:
            return pa.PythonFile(_Upload(self._inner, path, self._fail), "w")
        return pa.PythonFile(_Growing(self._inner.open_output_stream(path), path, self._fail), "w")


class _Growing:
    """A file that is there while it is written; half of what fails to be written is there too."""

    closed = False

    def __init__(self, stream: Any, path: str, fail: Callable[[str, str], None]) -> None:
        self._stream, self._path, self._fail = stream, path, fail

    def write(self, data: Any) -> int:
        data = bytes(data)
        try:
            self._fail("write", self._path)
        except OSError:
            self._stream.write(data[: len(data) // 2])
            raise
        self._stream.write(data)
        return len(data)

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._stream.close()
            self._fail("close", self._path)


class _Upload:
    """A file that is there once it is closed, and not at all if a part of it failed."""

    closed = False

    def __init__(self, system: Any, path: str, fail: Callable[[str, str], None]) -> None:
        self._system, self._path, self._fail = system, path, fail
        self._parts: list[bytes] | None = []

    def write(self, data: Any) -> int:
        parts, self._parts = self._parts, None
        self._fail("write", self._path)
        self._parts = [*(parts or []), bytes(data)]
        return len(self._parts[-1])

    def flush(self) -> None:
        """Nothing is there before the end."""

    def close(self) -> None:
        if self.closed or self._parts is None:
            return
        self.closed = True
        self._fail("close", self._path)
        staged = f".uploads/{uuid.uuid4()}"
        for path in (staged, self._path):
            self._system.create_dir(path.rpartition("/")[0], recursive=True)
        with self._system.open_output_stream(staged) as stream:
            stream.write(b"".join(self._parts))
        self._system.move(staged, self._path)
        self._fail("closed", self._path)
