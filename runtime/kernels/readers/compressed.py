"""Files of lines as Hadoop opens them: compressed or not by the end of their names."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import failed_read, not_exact

_CHUNK = 1 << 20


class _Inflating(io.RawIOBase):
    """The content of a zlib stream, or of several on end."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._stream = zlib.decompressobj()
        self._rest = b""
        self._began = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            given = self._rest or self._file.read(_CHUNK)
            if not given:
                if self._began and not self._stream.eof:
                    raise EOFError("the data ends too early")
                return 0
            self._began = True
            if self._stream.eof:
                self._stream = zlib.decompressobj()
            found = self._stream.decompress(given, len(buffer))
            self._rest = self._stream.unconsumed_tail or self._stream.unused_data
            if found:
                buffer[: len(found)] = found
                return len(found)


def _zstandard(file: BinaryIO) -> Any:
    import zstandard

    return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)


def _damaged(suffix: str) -> tuple[type[Exception], ...]:
    """What is raised for data that cannot be decompressed."""
    if _CONTENT[suffix] is _zstandard:
        import zstandard

        return (zstandard.ZstdError,)
    return EOFError, zlib.error, OSError


_CONTENT: dict[str, Callable[[BinaryIO], Any]] = {
    **dict.fromkeys((".gz", ".gzip"), lambda file: gzip.GzipFile(fileobj=file)),
    ".bz2": bz2.BZ2File,
    ".deflate": lambda file: io.BufferedReader(_Inflating(file)),
    **dict.fromkeys((".zst", ".zstd"), _zstandard),
}
_NOT_READ = (".lz4", ".snappy")  # in blocks of Hadoop's own


def is_compressed(path: str) -> bool:
    """Whether a file's name says that it is compressed."""
    suffix = Path(path).suffix.lower()
    return suffix in _CONTENT or suffix in _NOT_READ


@contextmanager
def opened(path: str) -> Iterator[Any]:
    """The bytes of a file, decompressed, as a binary file.

    Raises:
        KernelError: the file is compressed in a way that is not read here
            (`STATEPLAN_NOT_EXACT`), or its data is damaged.
    """
    suffix = Path(path).suffix.lower()
    if suffix in _NOT_READ:
        raise not_exact(f"The embedded engine reads no files that end with '{suffix}': '{path}'.")
    with open(path, "rb") as file:
        if suffix not in _CONTENT:
            yield file
            return
        try:
            yield _CONTENT[suffix](file)
        except _damaged(suffix) as error:
            raise failed_read(path, f"{error}.") from error
