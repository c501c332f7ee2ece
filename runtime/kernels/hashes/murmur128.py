"""MurmurHash3 (x64, 128 bits) of numbers and bytes, as DataSketches hashes what it counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..columns.floats import canonical
from ..columns.ordering import valid
from ..columns.texts import bytes_of
from .functions import Words64, words

SEED = 9001
"""The seed of all sketches, unless somebody says otherwise."""

_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
Bytes = npt.NDArray[np.uint8]
Int64 = npt.NDArray[np.int64]


def hashed(items: Any) -> tuple[Words64, Words64]:
    """Both halves of the hashes of whole numbers, strings or binaries, an Arrow array."""
    if pa.types.is_integer(items.type):
        return _hash_words(np.asarray(items.to_numpy(zero_copy_only=False)).astype(np.int64))
    if pa.types.is_floating(items.type):
        floats = np.asarray(items.to_numpy(zero_copy_only=False)).astype(np.float64)
        return _hash_words(canonical(floats))
    return _hash(*sized(items))


def sized(items: Any) -> tuple[Bytes, Int64, Int64]:
    """All bytes of strings or binaries, and per row where its own begin and how many they are."""
    content, ends = bytes_of(items.cast(pa.binary()))
    lengths = np.where(valid(items), np.diff(ends), 0)
    return content, ends[:-1].astype(np.int64), lengths.astype(np.int64)


def _hash_words(numbers: Any) -> tuple[Words64, Words64]:
    """Of numbers of 64 bits."""
    return _hash(numbers.view(np.uint8), np.arange(len(numbers)) * 8, np.full(len(numbers), 8))


def _rotated(word: Words64, bits: int) -> Words64:
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


def _first(word: Words64) -> Words64:
    return _rotated(word * _C1, 31) * _C2


def _second(word: Words64) -> Words64:
    return _rotated(word * _C2, 33) * _C1


def _hash(content: Bytes, starts: Int64, lengths: Int64) -> tuple[Words64, Words64]:
    one = np.full(len(starts), SEED, np.uint64)
    other = one.copy()
    rows = np.flatnonzero(lengths >= 16)
    done = np.zeros(len(starts), np.int64)
    while len(rows):
        at = starts[rows] + done[rows]
        low, high = words(content, at, np.uint64), words(content, at + 8, np.uint64)
        first = _rotated(one[rows] ^ _first(low), 27) + other[rows]
        one[rows] = first * np.uint64(5) + np.uint64(0x52DCE729)
        second = _rotated(other[rows] ^ _second(high), 31) + one[rows]
        other[rows] = second * np.uint64(5) + np.uint64(0x38495AB5)
        done[rows] += 16
        rows = rows[lengths[rows] - done[rows] >= 16]
    left = lengths - done
    tail = starts + done
    other ^= _second(_rest(content, tail + 8, np.clip(left - 8, 0, 8)))
    one ^= _first(_rest(content, tail, np.clip(left, 0, 8)))
    one ^= lengths.astype(np.uint64)
    other ^= lengths.astype(np.uint64)
    one += other
    other += one
    one, other = _ended(one), _ended(other)
    one += other
    other += one
    return one, other


def _rest(content: Bytes, at: Int64, sizes: Int64) -> Words64:
    """The little-endian number of fewer than nine bytes a row."""
    word = np.zeros(len(at), np.uint64)
    for i in range(8):
        rows = np.flatnonzero(sizes > i)
        word[rows] |= content[at[rows] + i].astype(np.uint64) << np.uint64(8 * i)
    return word


def _ended(word: Words64) -> Words64:
    word = word ^ (word >> np.uint64(33))
    word *= np.uint64(0xFF51AFD7ED558CCD)
    word ^= word >> np.uint64(33)
    word *= np.uint64(0xC4CEB9FE1A85EC53)
    word ^= word >> np.uint64(33)
    return word
