"""Columns of which each distinct value is computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa


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
