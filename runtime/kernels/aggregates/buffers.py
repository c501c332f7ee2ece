"""The buffer columns of all functions of one aggregation, merged function by function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ....planner.model.registry import Finish
from ...state.rows import Int64, Mask, columns_of
from ..columns.floats import is_list
from ..columns.lists import lists_of
from .fold import fold_columns, fold_unsorted
from .key_runs import CodedRuns, KeyCodes, SortedRuns
from .merge import finish_column, merge_columns, start_column
from .moments import MOMENTS

_SUMS = ("sum", "sum_wrap")
_IN_ANY_ORDER = (*_SUMS, "min", "max", "bit_and", "bit_or", "bit_xor")


@dataclass(frozen=True)
class MergeStep:
    """One merge operation on some columns, by position among all buffer columns."""

    operation: str
    columns: tuple[int, ...]
    constants: tuple[object, ...] = ()


@dataclass(frozen=True)
class OutputColumn:
    """A column as it is emitted: a buffer as it is, or what a finishing kernel makes of some."""

    columns: tuple[int, ...]
    finish: Finish | None = None


@dataclass(frozen=True)
class BufferStart:
    """A kernel that makes a buffer of a list of a batch's values.

    Attributes:
        kernel: its name (`merge.py: start_column`).
        constants: what it needs besides the lists.
        type: the Arrow type of the lists.
    """

    kernel: str
    constants: tuple[object, ...]
    type: Any


@dataclass(frozen=True)
class RowBuffers:
    """How the buffers of single rows come from the columns that the rows bring.

    Attributes:
        columns: their Arrow schema.
        sources: per buffer the position of its column; None: it is 1 for every row.
        empty: the buffers of no rows, plain values.
    """

    columns: Any
    sources: tuple[int | None, ...]
    empty: tuple[Any, ...] = ()

    def make(self, columns: Sequence[Any], schema: Any, count: int) -> Any:
        """The buffers, or what they start from, row by row, under their schema.

        A list of one element, or of none, comes as the element, or null.
        """
        ones = pa.array(np.ones(count, np.int64)) if None in self.sources else None
        arrays = [
            ones if source is None else _as_buffer(columns[source], field.type)
            for source, field in zip(self.sources, schema, strict=True)
        ]
        return columns_of(arrays, schema, count)

    def of_no_rows(self, schema: Any) -> Any:
        """The buffers of a group without rows: one row."""
        arrays = [pa.array([value], f.type) for value, f in zip(self.empty, schema, strict=True)]
        return columns_of(arrays, schema, 1)


def _as_buffer(column: Any, kind: Any) -> Any:
    if _depth(column.type) == _depth(kind):
        return column
    lengths = column.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
    values = column.drop_null() if column.null_count else column
    if values.type != kind.value_type:
        values = values.cast(kind.value_type)
    return lists_of(values, lengths, kind)


def _depth(kind: Any) -> int:
    """How many lists stand around each value."""
    return 1 + _depth(kind.value_type) if is_list(kind) else 0


@dataclass(frozen=True)
class Buffers:
    """Buffer columns and how they merge.

    Attributes:
        schema: their Arrow schema.
        merges: the operations; every column belongs to one.
        outputs: the columns that are emitted.
        output: their Arrow schema.
        starts: which columns a kernel makes of lists of a batch's values.
    """

    schema: Any
    merges: tuple[MergeStep, ...]
    outputs: tuple[OutputColumn, ...]
    output: Any
    starts: Mapping[int, BufferStart] = field(default_factory=dict)

    @property
    def rounds(self) -> bool:
        """Whether the last digits depend on which rows become one first: doubles add up."""
        inexact = ("product", *MOMENTS)
        return any(step.operation in inexact or self._adds_floats(step) for step in self.merges)

    def float_sums(self) -> list[int] | None:
        """The columns that are sums of floats, added up row by row; None: others see an order."""
        sums = [step.columns[0] for step in self.merges if self._adds_floats(step)]
        others = [step for step in self.merges if not self._adds_floats(step)]
        return sums if all(step.operation in _IN_ANY_ORDER for step in others) else None

    def _adds_floats(self, step: MergeStep) -> bool:
        return step.operation in _SUMS and pa.types.is_floating(
            self.schema.field(step.columns[0]).type
        )

    @property
    def travelling(self) -> Any:
        """The Arrow schema of the columns as they come: lists of values, and buffers."""
        schema = self.schema
        for i, start in self.starts.items():
            schema = schema.set(i, schema.field(i).with_type(start.type))
        return schema

    def started(self, rows: Any) -> Any:
        """The buffers that columns make as they come: one row for each of theirs."""
        if not self.starts:
            return rows
        columns = list(rows.columns)
        for i, start in self.starts.items():
            made = start_column(start.kernel, columns[i], start.constants)
            columns[i] = _typed(made, self.schema.field(i).type)
        return columns_of(columns, self.schema, rows.num_rows)

    def gathered(self, rows: Any, heads: Mask, *, of_rows: bool) -> Any:
        """The buffers of runs of what comes, as a batch has them; a run starts at each of `heads`.

        Args:
            rows: buffers as they travel.
            heads: where a run starts, which is one key's.
            of_rows: whether they are of single rows, which one task of Spark's would take in; else
                they are of tasks.
        """
        collected = _folded(rows, heads, self._collecting, self.travelling, of_rows=of_rows)
        return self.started(collected)

    def collected_by_code(self, rows: Any, keys: KeyCodes, *, of_rows: bool) -> Any:
        """What comes in any order as one row for each key, which goes on like what came.

        These rows are in the order of the keys' numbers.

        Args:
            rows: buffers as they travel.
            keys: their keys.
            of_rows: see `gathered`.
        """
        number = len(keys.first)
        runs = CodedRuns(keys.codes, number)
        columns: list[Any] = list(rows.columns)
        left = []
        for step in self._collecting:
            own = [columns[i] for i in step.columns]
            folded = fold_unsorted(step.operation, own, runs, of_rows=of_rows)
            if folded is None:
                left.append(step)
                continue
            for i, column in zip(step.columns, folded, strict=True):
                columns[i] = _typed(column, self.travelling.field(i).type)
        if left:
            order, codes = pa.array(keys.order), keys.codes[keys.order]
            for i in (i for step in left for i in step.columns):
                columns[i] = columns[i].take(order)
            heads = np.append(True, codes[1:] != codes[:-1])
            _fold(columns, heads, left, self.travelling, of_rows=of_rows)
        return columns_of(columns, self.travelling, number)

    @property
    def _collecting(self) -> list[MergeStep]:
        return [
            MergeStep("concat", step.columns) if step.columns[0] in self.starts else step
            for step in self.merges
        ]

    def merge(self, earlier: Any, later: Any) -> Any:
        """Two record batches of buffers, merged row by row."""
        columns = list(later.columns)
        for step in self.merges:
            before = [earlier.column(i) for i in step.columns]
            after = [later.column(i) for i in step.columns]
            merged = merge_columns(step.operation, before, after, step.constants)
            for i, column in zip(step.columns, merged, strict=True):
                columns[i] = _typed(column, self.schema.field(i).type)
        return columns_of(columns, self.schema, later.num_rows)

    def fold(self, rows: Any, heads: Mask) -> Any:
        """Merge runs of rows into one row each, in order; a run starts where `heads` is True."""
        return _folded(rows, heads, self.merges, self.schema, of_rows=False)

    def finish(self, rows: Any) -> Any:
        """The buffers as they are emitted."""
        columns = []
        for i, column in enumerate(self.outputs):
            inputs = [rows.column(c) for c in column.columns]
            if column.finish is None:
                columns.append(inputs[0])
            else:
                kind = self.output.field(i).type
                columns.append(_typed(finish_column(column.finish, inputs, kind), kind))
        return columns_of(columns, self.output, rows.num_rows)


def _folded(
    rows: Any, heads: Mask, merges: Sequence[MergeStep], schema: Any, *, of_rows: bool
) -> Any:
    if heads.all():
        return rows
    columns = list(rows.columns)
    _fold(columns, heads, merges, schema, of_rows=of_rows)
    return columns_of(columns, schema, int(np.count_nonzero(heads)))


def _fold(
    columns: list[Any], heads: Mask, merges: Sequence[MergeStep], schema: Any, *, of_rows: bool
) -> None:
    """Put what some operations make of runs of rows in the place of their columns."""
    runs = SortedRuns(np.flatnonzero(heads), len(heads))
    rounds: list[Round] | None = None
    for step in merges:
        own = [columns[i] for i in step.columns]
        folded = fold_columns(step.operation, own, runs, step.constants, of_rows=of_rows)
        if folded is None:
            rounds = _rounds(heads) if rounds is None else rounds
            folded = _pairwise(step, own, rounds)
        for i, column in zip(step.columns, folded, strict=True):
            columns[i] = _typed(column, schema.field(i).type)


class Round(NamedTuple):
    """Neighbours of a run that merge: `second` into the row before it; then `source` is kept.

    Attributes:
        second: the rows at odd positions of their runs.
        source: positions in the rows with the merged ones behind them.
    """

    second: Int64
    source: Int64


def _rounds(heads: Mask) -> list[Round]:
    """How runs of rows merge pairwise: as many rounds as the longest run has doublings."""
    rounds = []
    while not heads.all():
        starts = np.flatnonzero(heads)
        number = np.arange(len(heads)) - starts[np.cumsum(heads) - 1]
        second = np.flatnonzero(number % 2 == 1)
        kept = np.flatnonzero(number % 2 == 0)
        source = kept.copy()
        source[np.searchsorted(kept, second - 1)] = len(heads) + np.arange(len(second))
        rounds.append(Round(second, source))
        heads = heads[kept]
    return rounds


def _pairwise(step: MergeStep, columns: list[Any], rounds: list[Round]) -> list[Any]:
    for second, source in rounds:
        first, other, kept = pa.array(second - 1), pa.array(second), pa.array(source)
        before, after = [c.take(first) for c in columns], [c.take(other) for c in columns]
        merged = merge_columns(step.operation, before, after, step.constants)
        columns = [
            pa.concat_arrays([column, _typed(one, column.type)]).take(kept)
            for column, one in zip(columns, merged, strict=True)
        ]
    return columns


def _typed(column: Any, kind: Any) -> Any:
    return column if column.type == kind else column.cast(kind)
