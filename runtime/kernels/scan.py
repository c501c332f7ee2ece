"""Rows that a task reads from Parquet files for itself: they never are rows of the JVM's.

Every task of an operator reads all files and keeps the rows whose place is its own. There is no
exchange, and with few tasks reading twice takes a tenth of the time of exchanging once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from ..state.rows import Int32, Int64, Mask, concat
from ..state.version import task_of
from .hashing import hashes_of, places_of
from .kernel import Input
from .windows import Windows, packed

CHUNK = 65_536
"""Rows that are hashed at a time: their columns stay in the processor's cache."""

Formula = tuple[Any, ...]
"""`("column", i)`, `("literal", n)`, or an operation of 64-bit numbers and its formulas: `+ - % <`,
`("case", condition, then, otherwise)`; `("valid", i)` is 1 where a column has a value, else 0;
`("double", i)` a column of doubles without -0.0. Sums wrap around; a remainder has its dividend's
sign."""


class SourceError(Exception):
    """A file cannot be read; the text names the condition and the file."""


@dataclass(frozen=True)
class ScanFile:
    """A file of a batch.

    Attributes:
        path: where it is, for every worker.
        rows: how many rows it has.
        origin: the number of Spark's partition that would read it.
    """

    path: str
    rows: int
    origin: int = 0


@dataclass(frozen=True)
class Scan:
    """What each task of an operator reads.

    Attributes:
        files: in the order of their rows.
        schema: the columns to read, by their names in the files, under their exact types.
        made: the formulas of the columns that a kernel's rows travel in (see `windows.packed`).
        hashed: the formulas of what is hashed.
        required: columns of which rows have no null: others are left out.
        time: the column whose values an EventTimeWatermark observes, of all rows; None: none does.
        origins: whether the kernel asks where rows come from.
    """

    files: tuple[ScanFile, ...]
    schema: Any
    made: tuple[Formula, ...]
    hashed: tuple[Formula, ...]
    required: tuple[int, ...] = ()
    time: int | None = None
    origins: bool = False


@dataclass(frozen=True)
class SeenTimes:
    """Event times in milliseconds, null ones as 0: how many, least, greatest and sum."""

    count: int = 0
    min_ms: int = 0
    max_ms: int = 0
    sum_ms: int = 0

    def with_times(self, column: Any) -> SeenTimes:
        """These and the times of a timestamp column."""
        times = column.view(pa.int64())
        if times.null_count:
            times = times.fill_null(0)
        if not len(times):
            return self
        millis = times.to_numpy() // 1000
        low, high = int(millis.min()), int(millis.max())
        return self.with_seen(SeenTimes(len(millis), low, high, _exact_sum(millis, low, high)))

    def with_seen(self, other: SeenTimes) -> SeenTimes:
        """These and others."""
        if not self.count or not other.count:
            return self if self.count else other
        return SeenTimes(
            self.count + other.count,
            min(self.min_ms, other.min_ms),
            max(self.max_ms, other.max_ms),
            self.sum_ms + other.sum_ms,
        )


def _exact_sum(numbers: Int64, low: int, high: int) -> int:
    if max(abs(low), abs(high)) * len(numbers) < 1 << 63:
        return int(numbers.sum())
    return sum(map(int, numbers))


def scan_rows(
    scan: Scan, tasks: int, task: int, schema: Any, windows: Windows
) -> tuple[Input, SeenTimes]:
    """A task's rows of the files, in the order of files and rows.

    Args:
        scan: what to read.
        tasks, task: rows of places `p` with `pmod(p, tasks) == task` are read.
        schema, windows: the kernel's input and which of its columns travel in parts.

    Raises:
        SourceError: a file is gone, damaged, or another one than when the batch was planned.
    """
    seen = SeenTimes()
    places: list[Int32] = [np.empty(0, np.int32)]
    hashes: list[Int64] = [np.empty(0, np.int64)]
    origins: list[Int32] = [np.empty(0, np.int32)]
    parts: list[Any] = []
    for file in scan.files:
        for batch in _batches(scan, file):
            chunk = _Chunk(batch)
            place = places_of([chunk.column(f) for f in scan.hashed], len(batch))
            mine = None if tasks == 1 else task_of(place, tasks) == task
            if scan.time is not None:
                times = batch.column(scan.time)
                seen = seen.with_times(times if mine is None else times.filter(pa.array(mine)))
            kept = _required(scan, batch, mine)
            if kept is not None:
                own = np.flatnonzero(kept)
                chunk, place = _Chunk(batch.take(pa.array(own))), place[own]
            count = len(place)
            if not count:
                continue
            places.append(place)
            hashes.append(hashes_of([chunk.column(f) for f in scan.hashed], count))
            if scan.origins:
                origins.append(np.full(count, file.origin, np.int32))
            made = [chunk.column(f) for f in scan.made]
            parts.append(
                pa.RecordBatch.from_arrays(list(packed(made, schema, windows)), schema=schema)
            )
    if not parts:
        parts = [pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)]
    rows = Input(
        np.concatenate(hashes),
        np.concatenate(places),
        concat(parts),
        np.concatenate(origins) if scan.origins else None,
    )
    return rows, seen


def _required(scan: Scan, batch: Any, mine: Mask | None) -> Mask | None:
    """Which rows stay; None: all."""
    for i in scan.required:
        if batch.column(i).null_count:
            valid = batch.column(i).is_valid().to_numpy(zero_copy_only=False)
            mine = valid if mine is None else mine & valid
    return mine


def _batches(scan: Scan, file: ScanFile) -> Iterator[Any]:
    """A file's rows, some at a time."""
    count = 0
    try:
        with parquet.ParquetFile(file.path, memory_map=True, pre_buffer=False) as opened:
            for group in range(opened.num_row_groups):
                table = opened.read_row_group(group, columns=scan.schema.names, use_threads=False)
                count += table.num_rows
                table = table.select(scan.schema.names).cast(scan.schema)
                yield from _chunks(table)
    except (OSError, KeyError, pa.ArrowException) as problem:
        text = " ".join(str(problem).split())
        raise SourceError(
            f"[FAILED_READ_FILE.NO_HINT] Encountered error while reading file {file.path}. {text}"
        ) from problem
    if count != file.rows:
        raise SourceError(
            f"[FAILED_READ_FILE.NO_HINT] Encountered error while reading file {file.path}. It has "
            f"{count} rows, and had {file.rows} when the batch was planned."
        )


def _chunks(table: Any) -> Iterator[Any]:
    for batch in table.to_batches():
        for start in range(0, batch.num_rows, CHUNK):
            yield batch.slice(start, CHUNK)


class _Chunk:
    """Some rows, and what formulas make of their columns, each once."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self._known: dict[Formula, Any] = {}

    def column(self, formula: Formula) -> Any:
        """What a formula makes, an Arrow array."""
        if formula[0] == "column":
            return self._batch.column(formula[1])
        if formula[0] == "valid":
            return pc.is_valid(self._batch.column(formula[1])).cast(pa.int64())
        if formula[0] == "double":  # a sum begins with 0.0: that of one -0.0 is 0.0
            return pc.add(self._batch.column(formula[1]).cast(pa.float64()), 0.0)
        return pa.array(self._number(formula))

    def _number(self, formula: Formula) -> Any:
        if formula not in self._known:
            self._known[formula] = self._computed(formula)
        return self._known[formula]

    def _computed(self, formula: Formula) -> Any:
        match formula:
            case ("column", i):
                # A row without a value is left out afterwards.
                return self._batch.column(i).view(pa.int64()).fill_null(0).to_numpy()
            case ("literal", number):
                return np.int64(number)
            case ("+", one, other):
                return self._number(one) + self._number(other)
            case ("-", one, other):
                return self._number(one) - self._number(other)
            case ("%", one, other):
                return np.fmod(self._number(one), self._number(other))
            case ("<", one, other):
                return self._number(one) < self._number(other)
            case ("case", condition, then, otherwise):
                return np.where(*map(self._number, (condition, then, otherwise)))
        raise ValueError(f"no formula: {formula[0]}")
