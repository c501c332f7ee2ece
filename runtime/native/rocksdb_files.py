"""State files of Spark's RocksDBStateStoreProvider, written without Java.

A store's directory has `N.zip`: a database of RocksDB as it is on disk at version N, and
`metadata`, which says which of its files lie elsewhere, how many rows it has, and the numbers of
its column families. Here the database has no tables yet: all rows are in its write-ahead log, which
RocksDB takes in when it is opened. The files are those of RocksDB's format, each form seen in live
runs.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...physical.state import KeyForm
from ...planner.model.schemas.types import BINARY, StructField, StructType
from ..files import write_new
from ..state import Location
from .unsafe_writing import write_rows

ROCKSDB_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_VERSION = b"\0"
"""What stands before each row: the version of the encoding."""
_SIZE = struct.Struct("<i")
_FAMILY = struct.Struct("<h")


def write_keys(
    columns: Sequence[Any], schema: StructType, count: int, form: KeyForm
) -> list[bytes]:
    """Keys as RocksDB has them, without the number of the column family."""
    if not form.prefix:
        return [_VERSION + row for row in write_rows(columns, schema, count)]
    first, rest = (
        StructType(schema.fields[: form.prefix]),
        StructType(schema.fields[form.prefix :]),
    )
    before = columns[: form.prefix]
    if form.ranged:
        before = [pa.array(map(_sortable, before[0].to_pylist()), pa.binary())]
        first = StructType((StructField("range", BINARY),))
    prefixes = (_VERSION + row for row in write_rows(before, first, count))
    if not rest.fields:
        return [_SIZE.pack(len(prefix)) + prefix for prefix in prefixes]
    rows = write_rows(columns[form.prefix :], rest, count)
    return [
        _SIZE.pack(len(prefix)) + prefix + _VERSION + row
        for prefix, row in zip(prefixes, rows, strict=True)
    ]


def _sortable(number: int) -> bytes:
    """A long whose bytes sort as it does: a sign, and the most significant byte first."""
    return struct.pack(">bq", number >= 0, number)


def write_values(columns: Sequence[Any], schema: StructType, count: int) -> list[bytes]:
    """Values as RocksDB has them."""
    return [_VERSION + row for row in write_rows(columns, schema, count)]


def as_elements(values: Iterable[bytes]) -> list[bytes]:
    """Values of lists, of which a key may have several."""
    return [_SIZE.pack(len(value)) + value for value in values]


@dataclass(frozen=True, kw_only=True)
class FamilyRows:
    """The rows of a column family in one store.

    Attributes:
        name: the family's; None: the store has no families.
        keys, values: as `write_keys` and `write_values` give them.
        merged: whether values of one key are put behind each other.
    """

    name: str | None
    keys: Sequence[bytes]
    values: Sequence[bytes]
    merged: bool = False

    @property
    def is_internal(self) -> bool:
        """Whether Spark counts its rows apart."""
        return (self.name or "").startswith("$")


def write_database(store: Location, version: int, families: Sequence[FamilyRows]) -> None:
    """Write all rows of a store at a version.

    Raises:
        RuntimeFailure: the file cannot be written.
    """
    numbers = {
        name: i for i, name in enumerate(("default", *(f.name for f in families if f.name)), 1)
    }
    if all(family.name is None for family in families):
        numbers = {}
    content = {
        "CURRENT": b"MANIFEST-000005\n",
        "MANIFEST-000005": b"".join(_log([_MANIFEST])),
        "000004.log": b"".join(_log(_batches(families, numbers))),
        "metadata": _metadata(families, numbers),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    write_new(store / f"{version}.zip", out.getvalue())


def _metadata(families: Sequence[FamilyRows], numbers: Mapping[str, int]) -> bytes:
    counts = [0, 0]
    for family in families:
        counts[family.is_internal] += len(set(family.keys))
    described = {
        "sstFiles": [],
        "numKeys": counts[False],
        "numInternalKeys": counts[True],
        "columnFamilyMapping": dict(numbers),
        "columnFamilyTypeMap": {name: name.startswith("$") for name in numbers},
        "maxColumnFamilyId": len(numbers),
    }
    return b"v1\n" + json.dumps(described, separators=(",", ":"), ensure_ascii=False).encode()


# ------------------------------------------------------------------------- files of the database

_BLOCK, _HEAD = 32768, 7
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_PUT, _MERGE = b"\1", b"\2"
_BATCH_BYTES = 1 << 20
_COMPARATOR = b"leveldb.BytewiseComparator"
# The comparator (1); the number of the first log that counts (2), of the next new file (3), of the
# last change (4).
_MANIFEST = b"\1" + bytes([len(_COMPARATOR)]) + _COMPARATOR + b"\2\4\3\6\4\0"


def _batches(families: Sequence[FamilyRows], numbers: Mapping[str, int]) -> Iterator[bytes]:
    """Changes of the database, in batches: the number of the first one, how many, and these."""
    done, count, size, parts = 0, 0, 0, []
    for family in families:
        tag = _MERGE if family.merged else _PUT
        prefix = b"" if family.name is None else _FAMILY.pack(numbers[family.name])
        for key, value in zip(family.keys, family.values, strict=True):
            length = _varint(len(prefix) + len(key))
            parts.append(tag + length + prefix + key + _varint(len(value)) + value)
            count, size = count + 1, size + len(parts[-1])
            if size > _BATCH_BYTES:
                yield struct.pack("<qi", done + 1, count) + b"".join(parts)
                done, count, size, parts = done + count, 0, 0, []
    if parts:
        yield struct.pack("<qi", done + 1, count) + b"".join(parts)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def _log(records: Iterable[bytes]) -> Iterator[bytes]:
    """Records as a log has them: in pieces that never cross the bounds of its blocks."""
    at = 0
    for record in records:
        pieces: list[bytes] = []
        gaps: list[bytes] = []
        start = 0
        while start < len(record) or not pieces:
            left = _BLOCK - at % _BLOCK
            gap = left if left < _HEAD else 0
            room = (left - gap or _BLOCK) - _HEAD
            piece = record[start : start + room]
            ends, begins = start + len(piece) == len(record), start == 0
            kind = (_WHOLE if ends else _FIRST) if begins else (_LAST if ends else _MIDDLE)
            pieces.append(bytes([kind]) + piece)
            gaps.append(bytes(gap))
            start, at = start + len(piece), at + gap + _HEAD + len(piece)
        for gap_bytes, piece, crc in zip(gaps, pieces, _checksums(pieces), strict=True):
            yield gap_bytes + struct.pack("<IH", crc, len(piece) - 1) + piece


# ------------------------------------------------------------------------------------- checksums

_Words = NDArray[np.uint32]
_ONES = bytes.fromhex("54641f64")
"""Makes a register of ones, with which a checksum starts, of one of zeros."""
_LANE = 128
"""How many bytes are looked at one by one; all lanes of all pieces go side by side."""


def _checksums(pieces: Sequence[bytes]) -> list[int]:
    """CRC-32C of some pieces, masked as RocksDB does."""
    width = -(-(len(_ONES) + max(map(len, pieces))) // _LANE) * _LANE
    content = np.zeros((len(pieces), width), np.uint8)
    for row, piece in zip(content, pieces, strict=True):
        # Zeros in front change nothing as long as the register is zero.
        row[width - len(piece) - len(_ONES) :] = np.frombuffer(_ONES + piece, np.uint8)
    lanes = content.reshape(len(pieces), -1, _LANE)
    table, shifts = _table(), _shifts()
    crc = np.zeros(lanes.shape[:2], np.uint32)
    for i in range(_LANE):
        crc = table[(crc ^ lanes[:, :, i]) & 255] ^ (crc >> 8)
    whole = np.zeros(len(pieces), np.uint32)
    for i in range(crc.shape[1]):
        shifted = np.zeros_like(whole)
        for number, shift in enumerate(shifts):
            shifted ^= shift[(whole >> (8 * number)) & 255]
        whole = shifted ^ crc[:, i]
    whole = ~whole
    masked = ((whole >> 15) | (whole << 17)) + np.uint32(0xA282EAD8)
    return [int(one) for one in masked]


@cache
def _table() -> _Words:
    found = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        found = np.where(found & 1, (found >> 1) ^ np.uint32(0x82F63B78), found >> 1)
    return found.astype(np.uint32)


@cache
def _shifts() -> list[_Words]:
    """What a lane of zeros makes of each byte of the register."""
    table, found = _table(), []
    for number in range(4):
        words = np.arange(256, dtype=np.uint32) << np.uint32(8 * number)
        for _ in range(_LANE):
            words = table[words & 255] ^ (words >> 8)
        found.append(words)
    return found
