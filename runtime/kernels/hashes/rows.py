"""Spark's `hash` and `xxhash64` of Arrow columns: the same numbers for the same values.

`hash` is MurmurHash3, `xxhash64` is XXH64, both with seed 42. A row's columns are hashed one after
the other, each with the hash so far as its seed; a null leaves it as it is. So are the fields of a
struct, the elements of a list, and a map's entries, first key, then value, in their order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import numpy as np
import pyarrow as pa

from ...state.rows import Int32, Int64
from ..columns.floats import is_list
from ..columns.words import combinations, numbers_of
from .columns import HashedColumn, hashed_column, is_hashed_flat
from .functions import XXH64, Murmur3

SEED = 42
_ROWS_A_WORD = 2
"""With fewer rows for each word, or combination of words, these are hashed row by row."""
_BLOCK = 1 << 15
"""Rows that are hashed at a time: what lies between the steps stays in the processor's cache."""


def can_hash(kind: Any) -> bool:
    """Whether columns of an Arrow type are hashed here: all that Spark's types travel in.

    Floats are hashed in Spark's one form of zero and of NaN, as its `hash` does. Rows whose keys
    are equal have one hash, but the keys themselves may differ: see `floats.normalised`.
    """
    if pa.types.is_dictionary(kind) or is_list(kind):
        return can_hash(kind.value_type)
    if pa.types.is_map(kind):
        return can_hash(kind.key_type) and can_hash(kind.item_type)
    if pa.types.is_struct(kind):
        return all(can_hash(field.type) for field in kind)
    return is_hashed_flat(kind)


def places_of(columns: Sequence[Any], count: int) -> Int32:
    """Spark's `hash` of rows.

    Args:
        columns: Arrow arrays of types that `can_hash` knows.
        count: how many rows there are.
    """
    (places,) = _hashes(columns, count, Murmur3)
    return np.asarray(places.view(np.int32))


def hashes_of(columns: Sequence[Any], count: int) -> Int64:
    """Spark's `xxhash64` of rows; see `places_of`."""
    (hashes,) = _hashes(columns, count, XXH64)
    return np.asarray(hashes.view(np.int64))


def places_and_hashes(columns: Sequence[Any], count: int) -> tuple[Int32, Int64]:
    """Both of rows; see `places_of`."""
    places, hashes = _hashes(columns, count, Murmur3, XXH64)
    return places.view(np.int32), hashes.view(np.int64)


def _hashes(columns: Sequence[Any], count: int, *functions: Any) -> list[Any]:
    """What some functions give: of first columns of few words for the words, once."""
    coded = list(takewhile(_has_words, columns))
    while coded and _ROWS_A_WORD * math.prod(len(c.dictionary) for c in coded) > count:
        coded.pop()
    seeds = [np.full(count, SEED, function.word) for function in functions]
    if coded:
        words = combinations([column.dictionary for column in coded])
        numbers = numbers_of(coded)
        seeds = [of_words[numbers] for of_words in _hashes(words, len(words[0]), *functions)]
    rest = columns[len(coded) :]
    if not rest:
        return seeds
    for begin in range(0, count, _BLOCK):
        block = slice(begin, begin + _BLOCK)
        hashed = [hashed_column(column[block]) for column in rest]
        for function, so_far in zip(functions, seeds, strict=True):
            so_far[block] = _folded(hashed, function, so_far[block])
    return seeds


def _has_words(column: Any) -> bool:
    return pa.types.is_dictionary(column.type) and not column.indices.null_count


def _folded(columns: Sequence[HashedColumn], function: Any, seeds: Any) -> Any:
    for column in columns:
        seeds = column.folded(function, seeds)
    return seeds
