"""The two hash functions of Spark, over numpy arrays: a hash for each value and its seed.

Each has `ints` and `longs` (one value a row), `texts` (the bytes of a row lie in `content` from
`starts` on, `lengths` of them) and `word`, the unsigned type of its hashes and seeds. Seeds are
never changed in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..state.rows import Int32, Int64

Words32 = NDArray[np.uint32]
Words64 = NDArray[np.uint64]

_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_P1, _P2 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F)
_P3, _P4 = np.uint64(0x165667B19E3779F9), np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)


def _words(content: NDArray[np.uint8], starts: Int64, size: int, kind: Any) -> Any:
    """The little-endian number of `size` bytes from each start on."""
    found = content[starts].astype(kind)
    for i in range(1, size):
        found |= content[starts + i].astype(kind) << kind(8 * i)
    return found


def _rotated(values: Any, bits: int, width: int) -> Any:
    kind = values.dtype.type
    right = values >> kind(width - bits)
    values = values << kind(bits)
    values |= right
    return values


class Murmur3:
    """Spark's `hash`: MurmurHash3 (x86, 32 bits).

    Spark takes the bytes behind the last whole word one by one, each as a word of its own: that is
    not MurmurHash3's way with a tail (Murmur3_x86_32.hashUnsafeBytes).
    """

    word = np.uint32

    @classmethod
    def ints(cls, values: Int32, seeds: Words32) -> Words32:
        return cls._ended(cls._mixed(seeds, values.view(np.uint32)), np.uint32(4))

    @classmethod
    def longs(cls, values: Int64, seeds: Words32) -> Words32:
        bits = values.view(np.uint64)
        mixed = cls._mixed(seeds, bits.astype(np.uint32))
        mixed = cls._mixed(mixed, (bits >> np.uint64(32)).astype(np.uint32))
        return cls._ended(mixed, np.uint32(8))

    @classmethod
    def texts(
        cls, content: NDArray[np.uint8], starts: Int64, lengths: Int64, seeds: Words32
    ) -> Words32:
        state = seeds.copy()
        done = np.zeros(len(starts), np.int64)
        for size in (4, 1):
            rows = np.flatnonzero(lengths - done >= size)
            while len(rows):
                at = starts[rows] + done[rows]
                if size == 4:
                    words = _words(content, at, 4, np.uint32)
                else:
                    words = content[at].view(np.int8).astype(np.int32).view(np.uint32)
                state[rows] = cls._mixed(state[rows], words)
                done[rows] += size
                rows = rows[lengths[rows] - done[rows] >= size]
        return cls._ended(state, lengths.astype(np.uint32))

    @staticmethod
    def _mixed(state: Words32, words: Words32) -> Words32:
        word: Words32 = words * _C1
        word = _rotated(word, 15, 32)
        word *= _C2
        word ^= state
        word = _rotated(word, 13, 32)
        word *= np.uint32(5)
        word += np.uint32(0xE6546B64)
        return word

    @staticmethod
    def _ended(state: Words32, length: Any) -> Words32:
        state = state ^ length
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            state ^= state >> np.uint32(shift)
            state *= np.uint32(factor)
        state ^= state >> np.uint32(16)
        return state


class XXH64:
    """Spark's `xxhash64`."""

    word = np.uint64

    @classmethod
    def ints(cls, values: Int32, seeds: Words64) -> Words64:
        state = seeds + (_P5 + np.uint64(4))
        return cls._ended(cls._four(state, values.view(np.uint32).astype(np.uint64)))

    @classmethod
    def longs(cls, values: Int64, seeds: Words64) -> Words64:
        state = seeds + (_P5 + np.uint64(8))
        return cls._ended(cls._eight(state, values.view(np.uint64)))

    @classmethod
    def texts(
        cls, content: NDArray[np.uint8], starts: Int64, lengths: Int64, seeds: Words64
    ) -> Words64:
        done = np.zeros(len(starts), np.int64)
        state = seeds + _P5
        long = np.flatnonzero(lengths >= 32)
        if len(long):
            state[long] = cls._stripes(content, starts, lengths, seeds, long, done)
        state += lengths.astype(np.uint64)
        for size, step in ((8, cls._eight), (4, cls._four), (1, cls._one)):
            rows = np.flatnonzero(lengths - done >= size)
            while len(rows):
                words = _words(content, starts[rows] + done[rows], size, np.uint64)
                state[rows] = step(state[rows], words)
                done[rows] += size
                rows = rows[lengths[rows] - done[rows] >= size]
        return cls._ended(state)

    @classmethod
    def _stripes(
        cls,
        content: NDArray[np.uint8],
        starts: Int64,
        lengths: Int64,
        seeds: Words64,
        rows: Int64,
        done: Int64,
    ) -> Words64:
        """What becomes of all whole 32 bytes of some rows; `done` is moved behind them."""
        own = seeds[rows]
        lanes = [(own + _P1) + _P2, own + _P2, own.copy(), own - _P1]
        left = np.arange(len(rows))
        while len(left):
            at = starts[rows[left]] + done[rows[left]]
            for i, lane in enumerate(lanes):
                words = _words(content, at + 8 * i, 8, np.uint64)
                lane[left] = _rotated(lane[left] + words * _P2, 31, 64) * _P1
            done[rows[left]] += 32
            left = left[lengths[rows[left]] - done[rows[left]] >= 32]
        turns = zip(lanes, (1, 7, 12, 18), strict=True)
        state: Words64 = np.zeros(len(rows), np.uint64)
        for lane, bits in turns:
            state += _rotated(lane, bits, 64)
        for lane in lanes:
            state ^= _rotated(lane * _P2, 31, 64) * _P1
            state = state * _P1 + _P4
        return state

    @staticmethod
    def _eight(state: Words64, words: Words64) -> Words64:
        word: Words64 = words * _P2
        word = _rotated(word, 31, 64)
        word *= _P1
        word ^= state
        word = _rotated(word, 27, 64)
        word *= _P1
        word += _P4
        return word

    @staticmethod
    def _four(state: Words64, words: Words64) -> Words64:
        word: Words64 = words * _P1
        word ^= state
        word = _rotated(word, 23, 64)
        word *= _P2
        word += _P3
        return word

    @staticmethod
    def _one(state: Words64, words: Words64) -> Words64:
        word: Words64 = words * _P5
        word ^= state
        word = _rotated(word, 11, 64)
        word *= _P1
        return word

    @staticmethod
    def _ended(state: Words64) -> Words64:
        state = state ^ (state >> np.uint64(33))
        state *= _P2
        state ^= state >> np.uint64(29)
        state *= _P3
        state ^= state >> np.uint64(32)
        return state
