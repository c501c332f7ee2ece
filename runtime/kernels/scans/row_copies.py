"""Copies of the rows that a task reads: a row is in several windows, or grouping sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..expressions.evaluator import Evaluator
from ..expressions.values.vectors import joined
from .placed_rows import passing
from .row_order import row_by_row

Order = Literal["rows", "copies", "apart"]
"""What comes first in a batch of copies: all of a row, or the first ones of all rows; or each copy
has a batch of its own. Copies that are never the same are grouped sooner apart, and copies of
neighbours that fall into the same groups together."""


@dataclass(frozen=True)
class RowCopies:
    """Each row several times.

    Attributes:
        rows: what the copies consist of, of the rows that fulfil the conditions.
        copies: for each copy which of these are its columns.
        order: which copies come first.
    """

    rows: Evaluator
    copies: tuple[tuple[int, ...], ...]
    order: Order

    def over(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The copies of some batches: for each batch one or several.

        Raises:
            KernelError: a value cannot be computed.
        """
        for batch in batches:
            yield from self.of_rows(*self.made(batch))

    def made(self, batch: Any) -> tuple[list[Any], int]:
        """What copies consist of, of the rows of a batch that fulfil the conditions; how many."""
        computation = self.rows.begin(batch)
        return computation.results(encoded=True), computation.count

    def of_rows(self, values: Sequence[Any], count: int) -> Iterator[Any]:
        """The copies of rows: one batch or several."""
        copies = [[values[place] for place in places] for places in self.copies]
        if self.order == "apart":
            yield from (passing(columns, count) for columns in copies)
            return
        by_copy = (joined(parts) for parts in zip(*copies, strict=True))
        columns = row_by_row(copies) if self.order == "rows" else by_copy
        yield passing(list(columns), count * len(copies))
