"""Strings as words with numbers, where it pays to compute something once for each word."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from .early_groups import LEAST, REPEATED, seem_repeated


def with_words(read: frozenset[int], batch: Any) -> Any:
    """A batch whose strings in some columns, of which words are read, are encoded if that pays."""
    if not read:
        return batch
    columns = [encoded_where_repeated(c) if i in read else c for i, c in enumerate(batch.columns)]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def encoded_where_repeated(column: Any) -> Any:
    """Strings, encoded if that leaves few words; other columns as they are."""
    if not pa.types.is_string(column.type) or len(column) < LEAST or not seem_repeated([column]):
        return column
    coded = column.dictionary_encode(null_encoding="encode")
    return coded if REPEATED * len(coded.dictionary) <= len(column) else column
