"""Checksums of a file's blocks: what is read of a mapped file is what was written.

A sealed file is its content, then the CRC-32 of each block of it, then its length; whoever names
the file keeps the CRC-32 of that seal. A block is compared when something of it is needed for the
first time in a process, and not again as long as the file stays as it is: the work grows with what
was written and read, not with what is there, and costs 0.25 s a GB.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import pyarrow as pa

from .storage import Location

BLOCK = 1 << 18
"""Bytes of a block: the seal of a file of 1 GB has 16 kB."""

ENDS = 1 << 20
"""Bytes at both ends that are compared before anything is parsed: Arrow's metadata lies there."""

_LENGTH = struct.Struct("<Q")
_KEPT = 4096
_verified: dict[tuple[object, ...], bytearray] = {}


class Damaged(Exception):
    """A file does not hold what was written; the text says where."""


class Sealing:
    """A stream that passes on what is written and sums it up; `seal` ends the file.

    Attributes:
        check: the CRC-32 of the seal.
        size: the bytes of the whole file.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._sums: list[int] = []
        self._sum = 0
        self._length = 0
        self.check = 0
        self.size = 0

    closed = False

    def write(self, data: Any) -> int:
        self._stream.write(data)
        rest = memoryview(data).cast("B")
        count = len(rest)
        while len(rest):
            room = BLOCK - self._length % BLOCK
            self._sum = zlib.crc32(rest[:room], self._sum)
            self._length += min(room, len(rest))
            rest = rest[room:]
            if self._length % BLOCK == 0:
                self._sums.append(self._sum)
                self._sum = 0
        return count

    def tell(self) -> int:
        return self._length

    def flush(self) -> None:
        """Nothing: the stream below is closed by its owner."""

    def close(self) -> None:
        """Nothing either."""

    def seal(self) -> None:
        """Write the checksums behind the content."""
        sums = self._sums + ([self._sum] if self._length % BLOCK else [])
        seal = np.array(sums, "<u4").tobytes() + _LENGTH.pack(self._length)
        self._stream.write(seal)
        self.check = zlib.crc32(seal)
        self.size = self._length + len(seal)


class Sealed:
    """A sealed file, opened.

    Attributes:
        path: where it is.
        content: the file without its seal, a pyarrow Buffer; mapped where the file system can.
        hits, misses: blocks that were asked for and had been compared before, and that had not.

    Raises:
        FileNotFoundError: it is missing.
        Damaged: its size, its seal, or one of its ends are not what was written.
    """

    def __init__(self, path: Location, size: int, check: int) -> None:
        self.path = path
        identity = path.storage.identity(path.path)
        source = path.open()
        if source.size() != size:
            raise Damaged(f"it has {source.size()} bytes instead of {size}")
        whole = source.read_buffer(size)
        length = _length(whole, size)
        if zlib.crc32(whole.slice(length)) != check:
            raise Damaged("its checksums are not those that the state's version names")
        self.content = whole.slice(0, length)
        self._sums = np.frombuffer(whole, "<u4", -(-length // BLOCK), length)
        self._done = _known(path, identity, len(self._sums))
        self.hits = self.misses = 0
        self._verify(0, ENDS)
        self._verify(length - ENDS, length)

    def verify(self, array: Any) -> None:
        """Compare all blocks that an Arrow array of the content lies in.

        Raises:
            Damaged: one of them is not what was written.
        """
        for buffer in array.buffers():
            if buffer is not None and buffer.size:
                start = buffer.address - self.content.address
                self._verify(start, start + buffer.size)

    def _verify(self, start: int, end: int) -> None:
        first = max(0, start) // BLOCK
        last = -(-min(end, self.content.size) // BLOCK)
        missing = self._done.count(0, first, last)
        self.misses += missing
        self.hits += last - first - missing
        if not missing:
            return
        view = memoryview(self.content)
        for block in range(first, last):
            if not self._done[block]:
                if zlib.crc32(view[block * BLOCK : (block + 1) * BLOCK]) != self._sums[block]:
                    raise Damaged(f"its content from byte {block * BLOCK} on is damaged")
                self._done[block] = 1


def _length(whole: Any, size: int) -> int:
    """The length of the content, if the seal is as long as that of such a content."""
    if size >= _LENGTH.size:
        (length,) = _LENGTH.unpack(memoryview(whole)[size - _LENGTH.size :])
        if length + 4 * -(-length // BLOCK) + _LENGTH.size == size:
            return int(length)
    raise Damaged("its checksums are cut off or damaged")


def _known(path: Location, identity: tuple[object, ...] | None, blocks: int) -> bytearray:
    """Which blocks of a file this process has compared; a file that changed is another one."""
    if identity is None:  # what a remote file system gives may differ from one time to the next
        return bytearray(blocks)
    key = (path.path, *identity)
    if key not in _verified:
        while len(_verified) >= _KEPT:
            del _verified[next(iter(_verified))]
        _verified[key] = bytearray(blocks)
    return _verified[key]


def open_batch(sealed: Sealed) -> Any:
    """The one record batch of a sealed Arrow IPC file."""
    return pa.ipc.open_file(pa.BufferReader(sealed.content)).get_batch(0)
