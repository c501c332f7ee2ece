"""The elements of lists, or of maps, as rows, beside what is kept of the row: `explode`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...state.rows import Int64
from ..columns.lists import elements_of
from ..columns.ordering import spread
from ..expressions.evaluator import Evaluator
from ..expressions.values.vectors import decoded, is_encoded
from .placed_rows import passing


@dataclass(frozen=True)
class RowLists:
    """A row for each element of a row's list, or for each key and value of its map.

    Attributes:
        rows: what is kept of a row, then its list or map; of the rows that fulfil the conditions.
        numbered: whether the position of an element comes before it.
        outer: whether a row without elements stays, with nulls.
    """

    rows: Evaluator
    numbered: bool
    outer: bool

    def over(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The rows of the elements of some batches' lists: for each batch one.

        Raises:
            KernelError: a value cannot be computed.
        """
        for batch in batches:
            values = self.rows.begin(batch).results(encoded=True, encoded_lists=True)
            *kept, lists = values
            elements, lengths = _elements(lists)
            counts = np.maximum(lengths, 1) if self.outer else lengths
            total = int(counts.sum())
            columns = []
            if kept:
                parents = pa.array(np.repeat(np.arange(len(counts)), counts))
                columns = [column.take(parents) for column in kept]
            missing = np.repeat(lengths == 0, counts) if self.outer else np.zeros(total, np.bool_)
            if self.numbered:
                numbers = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
                columns.append(pa.array(numbers.astype(np.int32), mask=missing))
            if missing.any():
                places = pa.array(np.cumsum(~missing) - 1, mask=missing)
                elements = [decoded(part).take(places) for part in elements]
            yield passing([*columns, *elements], total)


def _elements(lists: Any) -> tuple[list[Any], Int64]:
    """The elements of all lists one behind the other, and how many each list has.

    Those of encoded lists are encoded if they are strings; of maps they are keys and values.
    """
    if pa.types.is_map(lists.type):
        entries, counts = elements_of(lists)
        return entries.flatten(), counts
    own = lists.dictionary if is_encoded(lists) else lists
    lengths = pc.list_value_length(own).fill_null(0).to_numpy().astype(np.int64)
    elements = pc.list_flatten(own)
    if own is lists:
        return [elements], lengths
    if pa.types.is_string(elements.type):
        elements = elements.dictionary_encode(null_encoding="encode")
    numbers, starts = lists.indices.to_numpy(), np.cumsum(lengths) - lengths
    own_lengths = lengths[numbers]
    return [elements.take(pa.array(spread(starts[numbers], own_lengths)))], own_lengths
