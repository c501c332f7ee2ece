"""Groups the rows of an aggregation before they are dealt out, where a key has several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...state.rows import Int64, columns_of
from ..aggregates.aggregate import AggregateKernel
from ..aggregates.key_runs import CodedRuns, KeyCodes
from ..expressions.values.vectors import is_encoded
from ..kernel import Kernel
from ..windows import Windows

Codes = npt.NDArray[np.int64]

LEAST = 4_096  # rows that are grouped sooner than hashed
_SAMPLE = 1_024
_LOOK = 16_384  # rows among which most keys are looked for
REPEATED = 2  # rows a key that make numbers of keys worth while
_MOST_CODES = 1 << 20


@dataclass(frozen=True)
class EarlyGroups:
    """An aggregation whose rows come one by one, and may come as partial results instead.

    Attributes:
        kernel: it, of rows.
        width: how many of the columns that travel make its keys.
    """

    kernel: AggregateKernel
    width: int

    @staticmethod
    def of(kernel: Kernel, windows: Windows) -> EarlyGroups | None:
        """What groups the rows of a kernel early; None: they are no aggregation's.

        Args:
            kernel: what takes them.
            windows: those of its input's columns that travel in parts.
        """
        if not isinstance(kernel, AggregateKernel) or kernel.rows is None:
            return None
        keys = len(kernel.keys)
        if any(place >= keys for place in windows):
            return None  # a value travels in parts
        return EarlyGroups(kernel, keys + sum(size is None for size in windows.values()))

    def kernel_of_groups(self) -> AggregateKernel:
        """The kernel that takes groups."""
        return replace(self.kernel, rows=None)

    def codes(self, columns: Sequence[Any], count: int, *, looked: bool = True) -> KeyCodes | None:
        """Numbers of the rows' keys; None where these are many; see `key_codes`."""
        return key_codes(columns[: self.width], count, looked=looked)

    def group(self, columns: Sequence[Any], count: int, coded: KeyCodes) -> list[Any]:
        """The columns of the groups of some rows, in the order of their numbers.

        Raises:
            KernelError: a partial result does not fit its type.
        """
        rows = self.buffers(columns[self.width :], count)
        sizes = np.bincount(coded.codes, minlength=len(coded.first))
        return self._folded(columns, rows, sizes, coded, of_rows=True)

    def merge(self, columns: Sequence[Any], count: int, coded: KeyCodes) -> list[Any]:
        """The columns of the groups of some groups, in the order of their numbers.

        Raises:
            KernelError: as `group`.
        """
        *buffers, sizes = columns[self.width :]
        rows = columns_of(buffers, self.kernel.buffers.travelling, count)
        runs = CodedRuns(coded.codes, len(coded.first))
        sizes = runs.reduce(np.add, sizes.to_numpy(), 0)
        return self._folded(columns, rows, sizes, coded, of_rows=False)

    def _folded(
        self, columns: Sequence[Any], rows: Any, sizes: Int64, coded: KeyCodes, *, of_rows: bool
    ) -> list[Any]:
        """Groups of buffers, and of how many rows they are."""
        folded = self.kernel.buffers.collected_by_code(rows, coded, of_rows=of_rows)
        keys = _at(columns[: self.width], coded.first)
        return [*keys, *folded.columns, pa.array(sizes)]

    def singles(self, columns: Sequence[Any], count: int) -> list[Any]:
        """Rows as groups of one row each."""
        rows = self.buffers(columns[self.width :], count)
        return [*columns[: self.width], *rows.columns, pa.array(np.ones(count, np.int64))]

    def buffers(self, columns: Sequence[Any], count: int) -> Any:
        """The buffers of single rows, of the columns that travel behind their keys."""
        rows, schema = self.kernel.rows, self.kernel.buffers.travelling
        assert rows is not None
        kinds = [field.type for field in rows.columns]
        typed = [c if c.type == k else c.cast(k) for c, k in zip(columns, kinds, strict=True)]
        return rows.make(typed, schema, count)


def key_codes(columns: Sequence[Any], count: int, *, looked: bool = True) -> KeyCodes | None:
    """Numbers of keys, given by their columns; None where it is not worth while to have them.

    Args:
        columns: the keys'.
        count: how many rows there are.
        looked: whether to have a look at the first ones, which may say that keys do not repeat.
    """
    columns = _parts(columns)
    if count < LEAST or any(pa.types.is_nested(column.type) for column in columns):
        return None
    if looked and not seem_repeated(columns):
        return None
    codes, space = _codes(columns, count)
    if space > _MOST_CODES:
        return None
    dense, number = _dense(codes, space)
    if REPEATED * number > count:
        return None
    return _numbered(dense, number)


def _parts(columns: Sequence[Any]) -> list[Any]:
    """Columns, and in place of structs their fields and whether they are null."""
    parts = []
    for column in columns:
        if not pa.types.is_struct(column.type):
            parts.append(column)
            continue
        parts += _parts(column.flatten())
        if column.null_count:
            parts.append(column.is_null())
    return parts


def codes_of_all(columns: Sequence[Any], count: int) -> KeyCodes | None:
    """Numbers of keys, however many times each is there; None where there may be too many."""
    columns = _parts(columns)
    codes, space = _codes(columns, count)
    return None if space > _MOST_CODES else _numbered(*_dense(codes, space))


def _numbered(codes: npt.NDArray[Any], number: int) -> KeyCodes:
    first = np.full(number, -1, np.int64)
    for size in (_LOOK, len(codes)):  # most keys are there early
        early = codes[:size]
        first[early[::-1]] = np.arange(len(early) - 1, -1, -1)  # of several the last one stays
        if (first >= 0).all():
            break
    return KeyCodes(codes, first)


def _at(columns: Sequence[Any], places: Int64) -> list[Any]:
    positions = pa.array(places)
    return [column.take(positions) for column in columns]


def _dense(codes: Codes, space: int) -> tuple[npt.NDArray[Any], int]:
    """The same numbers without gaps, and how many there are."""
    present = np.zeros(space, np.bool_)
    present[codes] = True
    number = int(np.count_nonzero(present))
    kind = np.uint16 if number <= 1 << 16 else np.int32
    return (np.cumsum(present) - 1).astype(kind)[codes], number


def seem_repeated(columns: Sequence[Any]) -> bool:
    """Whether the first rows of columns say that most rows are like others."""
    sample, _ = _codes([column.slice(0, _SAMPLE) for column in columns], _SAMPLE)
    # Of so many in a sample at random there are about ten times as many in all.
    return len(np.unique(sample)) <= 0.95 * _SAMPLE


def _codes(columns: Sequence[Any], count: int) -> tuple[Codes, int]:
    """Numbers of rows, and how many there may be; too many of these: the numbers say nothing."""
    codes, space = np.zeros(count, np.int64), 1
    for column in columns:
        coded = column if is_encoded(column) else column.dictionary_encode(null_encoding="encode")
        if space * len(coded.dictionary) > _MOST_CODES:
            codes, space = _dense(codes, space)
        space *= len(coded.dictionary)
        if space > _MOST_CODES:
            break
        codes = codes.astype(np.int64, copy=False) * len(coded.dictionary)
        codes += coded.indices.to_numpy()
    return codes, space
