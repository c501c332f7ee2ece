"""Files of lines, in blocks of whole lines: what the readers of JSON and CSV have in common."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ..file_parts import WHOLE, FilePart
from .compressed import is_compressed, opened

BLOCK = 1 << 22
"""So many bytes are read at a time: they stay in the processor's cache."""
PART = 16 << 20
"""About so many bytes are read by a task of their own."""
BATCH = 1 << 16
"""So many rows has a record batch at most."""
_LINE = 1 << 12
"""So many bytes are read at a time where a line is looked through for its end."""
BOM = b"\xef\xbb\xbf"
"""May stand at the beginning of a file in UTF-8."""


def parts_of(path: str) -> list[FilePart]:
    """The parts in which several tasks may read a file: one if it is small, or compressed."""
    size = os.path.getsize(path)
    count = 1 if is_compressed(path) else max(1, round(size / PART))
    ends = [size * i // count for i in range(1, count)]
    return [FilePart(*bounds) for bounds in zip([0, *ends], [*ends, None], strict=True)]


def lines_before(path: str, start: int) -> int:
    """How many lines of a file begin before a byte."""
    if not start:
        return 0
    with open(path, "rb") as file:
        before = file.read(start)
    return before.count(b"\n") + (not before.endswith(b"\n"))


def content(path: str) -> bytes:
    """All bytes of a file, a compressed one's as they were before."""
    with opened(path) as file:
        return bytes(file.read())


def blocks(path: str, separator: bytes | None = None, part: FilePart = WHOLE) -> Iterator[bytes]:
    """The blocks of a file, a byte order mark at its beginning left out.

    Args:
        path: the file; compressed if its name says so.
        separator: the one byte that ends a line; None: `\\n`, `\\r\\n` or `\\r` do.
        part: which lines to read.

    Yields:
        Whole lines, each with the separator at its end; without one, each with `\\n`.

    Raises:
        KernelError: the file is compressed in a way that is not read here, or damaged.
    """
    end = separator or b"\n"
    with opened(path) as file:
        if part.start:
            file.seek(part.start - 1)
            _rest_of_line(file, end)
            rest = b""
        else:
            rest = file.read(len(BOM)).removeprefix(BOM)
            if rest and part.end is not None:
                file.seek(0)  # its first lines may be shorter
                rest = b""
        while data := _read(file, part.end, end):
            cut = data.rfind(end) + 1
            if not cut:
                rest += data
                continue
            yield _lines(rest + memoryview(data)[:cut], separator)
            rest = data[cut:]
    if rest:
        yield _lines(rest if rest.endswith(end) else rest + end, separator)


def _read(file: Any, end: int | None, separator: bytes) -> bytes:
    """The next bytes of the lines that begin before a byte; none if there are no more."""
    if end is None:
        return bytes(file.read(BLOCK))
    left = end - file.tell()
    if left <= 0:
        return b""
    data: bytes = file.read(min(left, BLOCK))
    whole = left > BLOCK or data.endswith(separator)
    return data if whole else data + _rest_of_line(file, separator)


def _rest_of_line(file: Any, separator: bytes) -> bytes:
    """The bytes up to the next separator, which is among them."""
    if separator == b"\n":
        return bytes(file.readline())
    found = b""
    while data := file.read(_LINE):
        end = data.find(separator) + 1
        if end:
            file.seek(end - len(data), os.SEEK_CUR)
            return found + bytes(data[:end])
        found += data
    return found


def _lines(block: bytes, separator: bytes | None) -> bytes:
    if separator is None and b"\r" in block:
        return block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return block
