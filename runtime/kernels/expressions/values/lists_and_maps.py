"""Arrays and maps as columns, made of the columns of their elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...columns.lists import lists_of
from ...columns.ordering import list_parts, spread, valid
from ...columns.texts import ends_of
from ..programs.program import Kind
from .vectors import plain_type


def lists(kind: Kind, values: Any, lengths: npt.NDArray[np.int64], *sources: Any) -> Any:
    """Lists of values one behind the other, so many each; null where a source is."""
    wanted = plain_type(kind)
    values = values if values.type == wanted.value_type else values.cast(wanted.value_type)
    return lists_of(values, lengths, wanted, missing=_nulls(sources))


def maps(kind: Kind, keys: Any, items: Any, lengths: npt.NDArray[np.int64], *sources: Any) -> Any:
    """Maps of keys and values one behind the other, likewise."""
    wanted = plain_type(kind)
    keys, items = keys.cast(wanted.key_type), items.cast(wanted.item_type)
    offsets, nulls = pa.array(ends_of(lengths), pa.int32()), _nulls(sources)
    mask = None if nulls is None else pa.array(nulls)
    return pa.MapArray.from_arrays(offsets, keys, items, type=wanted, mask=mask)


def side_by_side(columns: Sequence[Any]) -> tuple[Any, npt.NDArray[np.int64]]:
    """The elements of each row's lists one behind the other; none where one of these is null."""
    known = np.logical_and.reduce([valid(column) for column in columns])
    parts = [list_parts(column) for column in columns]
    before = np.cumsum([0, *(len(values) for values, _, _ in parts)])[:-1]
    pairs = zip(parts, before, strict=True)
    starts = np.column_stack([start + shift for (_, start, _), shift in pairs]).ravel()
    sizes = np.column_stack([np.where(known, lengths, 0) for _, _, lengths in parts])
    items = pa.concat_arrays([values for values, _, _ in parts])
    return items.take(pa.array(spread(starts, sizes.ravel()))), sizes.sum(axis=1)


def _nulls(sources: Sequence[Any]) -> Any:
    masks = [~valid(source) for source in sources if source.null_count]
    return np.logical_or.reduce(masks) if masks else None
