"""Strings that are chosen from several columns and constants, as words with numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .vectors import Value, is_encoded

_ROWS_A_WORD = 4
"""With fewer rows for each word these are not chosen by their numbers."""


@dataclass(frozen=True)
class CommonWords:
    """The words of several encoded columns and constants, each once.

    Attributes:
        words: all of them, an Arrow array.
        places: per column or constant the numbers that its own words have among them.
    """

    words: Any
    places: Sequence[Any]

    @classmethod
    def of(cls, values: Sequence[Value], rows: int) -> CommonWords | None:
        """The words of some values; None: one of them is not encoded, or there are too many."""
        parts = [_words(value) for value in values]
        known = [part for part in parts if part is not None]
        ends = [0, *accumulate(map(len, known))]
        if len(known) < len(parts) or ends[-1] * _ROWS_A_WORD > rows:
            return None
        coded = pa.concat_arrays(known).dictionary_encode(null_encoding="encode")
        places = [coded.indices.slice(start, end - start) for start, end in pairwise(ends)]
        return cls(coded.dictionary, places)

    def numbers(self, values: Sequence[Value]) -> list[Value]:
        """The numbers of other rows of the same columns, and of the constants."""
        pairs = zip(values, self.places, strict=True)
        return [p[0] if isinstance(v, pa.Scalar) else p.take(v.indices) for v, p in pairs]

    def column(self, numbers: Any) -> Any:
        """The encoded column that has some numbers."""
        return pa.DictionaryArray.from_arrays(numbers, self.words)

    def first(self, values: Sequence[Value]) -> Any:
        """Of each row the first value that is not null, encoded; the first one is a column."""
        result, *others = self.numbers(values)
        null = pc.index(self.words.is_null(), True).cast(pa.int32())
        for other in others:
            result = pc.if_else(pc.equal(result, null), other, result)
        return self.column(result)


def _words(value: Value) -> Any:
    """The words that a value may be; None: that is not known."""
    if isinstance(value, pa.Scalar):
        return pa.repeat(value, 1)
    return value.dictionary if is_encoded(value) else None
