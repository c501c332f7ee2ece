"""The buffer columns of all functions of one aggregation, merged function by function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..state.rows import Int64, Mask, concat, take
from .merge import finish_column, merge_columns


@dataclass(frozen=True)
class MergeStep:
    """One merge operation on some columns, by position among all buffer columns."""

    operation: str
    columns: tuple[int, ...]


@dataclass(frozen=True)
class OutputColumn:
    """A column as it is emitted: a buffer as it is, or what a finishing kernel makes of some."""

    columns: tuple[int, ...]
    finish: str | None = None


@dataclass(frozen=True)
class Buffers:
    """Buffer columns and how they merge.

    Attributes:
        schema: their Arrow schema.
        merges: the operations; every column belongs to one.
        outputs: the columns that are emitted.
        output: their Arrow schema.
    """

    schema: Any
    merges: tuple[MergeStep, ...]
    outputs: tuple[OutputColumn, ...]
    output: Any

    def merge(self, earlier: Any, later: Any) -> Any:
        """Two record batches of buffers, merged row by row."""
        columns = list(later.columns)
        for step in self.merges:
            before = [earlier.column(i) for i in step.columns]
            after = [later.column(i) for i in step.columns]
            merged = merge_columns(step.operation, before, after)
            for i, column in zip(step.columns, merged, strict=True):
                columns[i] = _typed(column, self.schema.field(i).type)
        return _batch(columns, self.schema, later)

    def fold(self, rows: Any, heads: Mask) -> Any:
        """Merge runs of rows into one row each, in order; a run starts where `heads` is True.

        Neighbours merge pairwise, so the rounds are as many as the longest run has doublings.
        """
        while not heads.all():
            number = _position_in_run(heads)
            # A row at an odd position of its run merges into the one before it.
            second = np.flatnonzero(number % 2 == 1)
            merged = self.merge(take(rows, second - 1), take(rows, second))
            kept = np.flatnonzero(number % 2 == 0)
            source = kept.copy()
            source[np.searchsorted(kept, second - 1)] = len(number) + np.arange(len(second))
            rows = take(concat([rows, merged]), source)
            heads = heads[kept]
        return rows

    def finish(self, rows: Any) -> Any:
        """The buffers as they are emitted."""
        columns = []
        for i, column in enumerate(self.outputs):
            inputs = [rows.column(c) for c in column.columns]
            if column.finish is None:
                columns.append(inputs[0])
            else:
                done = finish_column(column.finish, inputs)
                columns.append(_typed(done, self.output.field(i).type))
        return _batch(columns, self.output, rows)


def _position_in_run(heads: Mask) -> Int64:
    starts = np.flatnonzero(heads)
    number: Int64 = np.arange(len(heads)) - starts[np.cumsum(heads) - 1]
    return number


def _typed(column: Any, kind: Any) -> Any:
    return column if column.type == kind else column.cast(kind)


def _batch(columns: list[Any], schema: Any, like: Any) -> Any:
    if not columns:
        return take(
            pa.RecordBatch.from_arrays([], schema=schema), np.zeros(like.num_rows, np.int64)
        )
    return pa.RecordBatch.from_arrays(columns, schema=schema)
