"""Columns of which each distinct value is computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

_SAMPLE = 16
"""Of one in so many rows it is seen whether values repeat."""


def few(column: Any) -> Any | None:
    """A column as numbers of its distinct values, a dictionary array, where values repeat.

    None: most of them are different, as the first rows show.
    """
    first = column.slice(0, len(column) // _SAMPLE).dictionary_encode()
    return column.dictionary_encode() if 2 * len(first.dictionary) < len(first) else None


def each(column: Any, function: Callable[[Any], Any], kind: Any) -> Any:
    """What a function makes of each value that is not null, called once for equal ones.

    Args:
        column: an Arrow array.
        function: takes a Python value; gives one of the type `kind`, or None for null.
        kind: the Arrow type of the results.
    """
    coded = column.dictionary_encode()
    results = [None if one is None else function(one) for one in coded.dictionary.to_pylist()]
    return pa.array(results, kind).take(coded.indices)
