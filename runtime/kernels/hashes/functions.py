"""The two hash functions of Spark, over numpy arrays: a hash for each value and its seed.

Each has `ints` and `longs` (one value a row), `texts` (values of varying length) and `word`, the
unsigned type of its hashes and seeds. Seeds are never changed in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...state.rows import Int32, Int64

Words32 = NDArray[np.uint32]
Words64 = NDArray[np.uint64]

_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_P1, _P2 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F)
_P3, _P4 = np.uint64(0x165667B19E3779F9), np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)


@dataclass(frozen=True)
class Texts:
    """Values of varying length, the longest first.

    Attributes:
        content: the bytes of all.
        starts: where each begins.
        lengths: how many bytes each has, descending.
    """

    content: NDArray[np.uint8]
    starts: Int64
    lengths: Int64

    def longer(self, least: int) -> int:
        """How many of the first values have at least so many bytes."""
        return len(self.lengths) - int(np.searchsorted(self.lengths[::-1], least))

    def words(self, at: Int64, kind: Any) -> Any:
        """The little-endian numbers from some places on."""
        return words(self.content, at, kind)


def words(content: NDArray[np.uint8], at: Int64, kind: Any) -> Any:
    """The little-endian numbers of some type that begin at some bytes."""
    size = np.dtype(kind).itemsize
    whole = max(len(content) - size + 1, 0)
    return np.ndarray((whole,), np.dtype(kind).newbyteorder("<"), content, 0, (1,))[at]


def _rotated(values: Any, bits: int, width: int) -> Any:
    kind = values.dtype.type
    right = values >> kind(width - bits)
    values = values << kind(bits)
    values |= right
    return values


def _tails(texts: Texts, done: Int64) -> Iterator[tuple[Int64, Int64]]:
    """The bytes behind those that are done, at most three: the values that have one, and where."""
    for byte in range(3):
        rows = np.flatnonzero(texts.lengths - done > byte)
        yield rows, texts.starts[rows] + done[rows] + byte


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
    def texts(cls, texts: Texts, seeds: Words32) -> Words32:
        state = seeds.copy()
        whole = texts.lengths >> 2
        for word in range(int(whole.max(initial=0))):
            count = texts.longer(4 * word + 4)
            words = texts.words(texts.starts[:count] + 4 * word, np.uint32)
            state[:count] = cls._mixed(state[:count], words)
        for rows, at in _tails(texts, 4 * whole):
            words = texts.words(at, np.int8).astype(np.int32).view(np.uint32)
            state[rows] = cls._mixed(state[rows], words)
        return cls._ended(state, texts.lengths.astype(np.uint32))

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


def _taken(state: Words64, word: Words64, bits: int, factor: np.uint64, more: np.uint64) -> Words64:
    """What becomes of states with a word each; the words are changed in place."""
    word ^= state
    word = _rotated(word, bits, 64)
    word *= factor
    word += more
    return word


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
    def texts(cls, texts: Texts, seeds: Words64) -> Words64:
        state = seeds + _P5
        long = texts.longer(32)
        if long:
            state[:long] = cls._stripes(texts, seeds[:long])
        state += texts.lengths.astype(np.uint64)
        done = texts.lengths & ~np.int64(31)
        for word in range(3):
            rows = np.flatnonzero(texts.lengths - done >= 8 * word + 8)
            words = texts.words(texts.starts[rows] + done[rows] + 8 * word, np.uint64)
            state[rows] = cls._eight(state[rows], words)
        done = texts.lengths & ~np.int64(7)
        rows = np.flatnonzero(texts.lengths - done >= 4)
        words = texts.words(texts.starts[rows] + done[rows], np.uint32)
        state[rows] = cls._four(state[rows], words.astype(np.uint64))
        for rows, at in _tails(texts, texts.lengths & ~np.int64(3)):
            state[rows] = cls._one(state[rows], texts.content[at].astype(np.uint64))
        return cls._ended(state)

    @classmethod
    def _stripes(cls, texts: Texts, seeds: Words64) -> Words64:
        """What becomes of all whole 32 bytes of the first values."""
        lanes = [(seeds + _P1) + _P2, seeds + _P2, seeds.copy(), seeds - _P1]
        for stripe in range(int(texts.lengths[0]) >> 5):
            count = texts.longer(32 * stripe + 32)
            at = texts.starts[:count] + 32 * stripe
            for i, lane in enumerate(lanes):
                words = texts.words(at + 8 * i, np.uint64)
                lane[:count] = _rotated(lane[:count] + words * _P2, 31, 64) * _P1
        turns = zip(lanes, (1, 7, 12, 18), strict=True)
        state: Words64 = np.zeros(len(seeds), np.uint64)
        for lane, bits in turns:
            state += _rotated(lane, bits, 64)
        for lane in lanes:
            state ^= _rotated(lane * _P2, 31, 64) * _P1
            state = state * _P1 + _P4
        return state

    @staticmethod
    def _eight(state: Words64, words: Words64) -> Words64:
        word = _rotated(words * _P2, 31, 64)
        word *= _P1
        return _taken(state, word, 27, _P1, _P4)

    @staticmethod
    def _four(state: Words64, words: Words64) -> Words64:
        return _taken(state, words * _P1, 23, _P2, _P3)

    @staticmethod
    def _one(state: Words64, words: Words64) -> Words64:
        return _taken(state, words * _P5, 11, _P1, np.uint64(0))

    @staticmethod
    def _ended(state: Words64) -> Words64:
        state = state ^ (state >> np.uint64(33))
        state *= _P2
        state ^= state >> np.uint64(29)
        state *= _P3
        state ^= state >> np.uint64(32)
        return state
