"""State files of Spark's HDFSBackedStateStoreProvider, read and written without Java.

A store's directory has `N.delta`, what batch N - 1 changed, and now and then `N.snapshot`, all rows
of that version. Both are streams, compressed, of length and bytes of a key, length and bytes of a
value (both big-endian); the length -1 of a value says that the key is gone, that of a key ends the
file.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator, Mapping

import pyarrow as pa

from ...planner.model.errors import RuntimeFailure
from ..files import AnyPath, corrupt, read_whole, write_new
from ..state import Location

WRITTEN_CODEC = "zstd"
"""Spark's name of the codec that `write_snapshot` uses: the checkpoint has to pin it."""
Rows = dict[bytes, bytes]
"""UnsafeRows of values by those of their keys."""

_FILE = re.compile(r"(\d+)\.(delta|snapshot)")
_LENGTH = struct.Struct(">i")
_LZ4 = b"LZ4Block"
_LZ4_HEAD = struct.Struct("<8sBiii")  # magic, method, bytes, bytes of the content, checksum
_LZ4_STORED = 0x10
_SNAPPY = b"\x82SNAPPY\x00"
_SNAPPY_HEAD = 16  # the magic, and twice a version
_ZSTD = b"\x28\xb5\x2f\xfd"


def versions(store: Location) -> dict[int, str]:
    """The versions that a store's directory has a file of, `snapshot` where there is one."""
    found: dict[int, str] = {}
    for match in filter(None, map(_FILE.fullmatch, store.names())):
        number, kind = int(match[1]), match[2]
        if found.get(number) != "snapshot":
            found[number] = kind
    return found


def read_version(store: Location, version: int) -> Rows:
    """All rows of a store at a version: the last snapshot, and the changes since.

    Raises:
        RuntimeFailure: a file is missing or cannot be used.
    """
    kept = versions(store)
    first = version
    while first > 0 and kept.get(first) == "delta":
        first -= 1
    if first > 0 and first not in kept:
        raise RuntimeFailure.of(
            "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS",
            fileToRead=store / f"{first}.delta",
            clazz=f"HDFSStateStoreProvider[dir = {store}]",
            hint=f"Version {version} needs it, or {first}.snapshot. Take the checkpoint "
            "with all its files, as the query's last commit left it.",
        )
    rows: Rows = {}
    for number in range(max(first, 1), version + 1):
        _apply(store / f"{number}.{kept[number]}", rows)
    return rows


def _apply(path: AnyPath, rows: Rows) -> None:
    """Bring rows up to date with a file."""
    try:
        for key, value in _records(_plain(path, read_whole(path))):
            if value is None:
                rows.pop(key, None)
            else:
                rows[key] = value
    except (struct.error, ValueError, OSError) as problem:
        raise corrupt(path, str(problem)) from None


def _records(content: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    at = 0
    while True:
        (length,) = _LENGTH.unpack_from(content, at)
        if length < 0:
            return
        key, at = content[at + 4 : at + 4 + length], at + 4 + length
        (length,) = _LENGTH.unpack_from(content, at)
        value = None if length < 0 else content[at + 4 : at + 4 + length]
        at += 4 + max(length, 0)
        yield key, value


def _plain(path: AnyPath, data: bytes) -> bytes:
    """What a file holds, whatever codec it was compressed with."""
    if data.startswith(_LZ4):
        return b"".join(_lz4_blocks(data))
    if data.startswith(_ZSTD):
        return bytes(pa.CompressedInputStream(pa.py_buffer(data), "zstd").read())
    if data.startswith(_SNAPPY):
        return b"".join(_snappy_blocks(data))
    raise corrupt(path, "it is not compressed with lz4, zstd or snappy")


def _lz4_blocks(data: bytes) -> Iterator[bytes]:
    codec, at = pa.Codec("lz4_raw"), 0
    while at < len(data):
        magic, method, packed, size, _ = _LZ4_HEAD.unpack_from(data, at)
        if magic != _LZ4:
            raise ValueError("a block begins in another way")
        at += _LZ4_HEAD.size
        block, at = data[at : at + packed], at + packed
        if size:
            stored = method & 0xF0 == _LZ4_STORED
            yield block if stored else codec.decompress(block, size, asbytes=True)


def _snappy_blocks(data: bytes) -> Iterator[bytes]:
    codec, at = pa.Codec("snappy"), _SNAPPY_HEAD
    while at < len(data):
        (packed,) = _LENGTH.unpack_from(data, at)
        block, at = data[at + 4 : at + 4 + packed], at + 4 + packed
        yield codec.decompress(block, _size_before(block), asbytes=True)


def _size_before(block: bytes) -> int:
    """The length of a snappy block's content: what stands first, seven bits a byte."""
    size = 0
    for i, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            break
    return size


def write_snapshot(store: Location, version: int, rows: Mapping[bytes, bytes]) -> None:
    """Write all rows of a store at a version.

    Raises:
        RuntimeFailure: the file cannot be written.
    """
    out = io.BytesIO()
    for key, value in rows.items():
        out.write(_LENGTH.pack(len(key)) + key + _LENGTH.pack(len(value)) + value)
    out.write(_LENGTH.pack(-1))
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, WRITTEN_CODEC) as stream:
        stream.write(out.getvalue())
    write_new(store / f"{version}.snapshot", packed.getvalue().to_pybytes())
