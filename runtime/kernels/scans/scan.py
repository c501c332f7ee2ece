"""Rows that a task reads from files for itself: they never are rows of an engine's.

Every task of an operator reads all files and keeps the rows whose place is its own. There is no
exchange, and with few tasks reading twice takes a tenth of the time of exchanging once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa

from ...state.rows import Int64
from ...state.version import task_of
from ..expressions.evaluator import Computation, Evaluator
from ..hashes.rows import hashes_of, places_of
from .early_groups import EarlyGroups
from .grouped_copies import GroupedCopies, Groups
from .parquet_files import ScanFile
from .placed_rows import (
    PlacedRows,
    batch_of,
    in_one_place,
    placed,
    placed_by_codes,
    placed_groups,
    taken,
)
from .row_copies import RowCopies
from .row_lists import RowLists
from .table_look_up import TableLookUp
from .words import with_words


class RowReader(Protocol):
    """Reads the files of a source."""

    def parts(self, file: ScanFile) -> Sequence[Any]:
        """The parts in which several tasks may read a file."""

    def batches(self, file: ScanFile, part: Any = None) -> Iterator[Any]:
        """The rows of a file, or of a part, as record batches.

        Raises:
            SourceError, KernelError: it cannot be read.
        """


ScanStep = TableLookUp | RowCopies | RowLists
"""Makes other rows of those that are read."""


@dataclass(frozen=True, kw_only=True)
class RowsOnTheWay:
    """What becomes of rows on their way to the tasks of an operator.

    Attributes:
        steps: what becomes of the rows on the way, one after the other.
        values: of the rows that fulfil all conditions by then, what is hashed, and behind it what
            travels to the kernel besides.
        hashed: how many of them are hashed.
        places: per column that travels, which of the values it is.
        origins: whether the kernel asks where rows come from.
    """

    values: Evaluator
    hashed: int
    places: tuple[int, ...]
    origins: bool = False
    steps: tuple[ScanStep, ...] = ()

    @cached_property
    def _keys(self) -> Evaluator:
        return Evaluator(self.values.program.only(0, self.hashed))

    @cached_property
    def _others(self) -> Evaluator:
        return Evaluator(self.values.program.only(self.hashed, conditions=False))

    def seen(self, count: int, begun: Computation) -> SeenTimes:
        """What is observed of rows as they come.

        Args:
            count: how many they are.
            begun: see `begun`.
        """
        return SeenTimes()

    def begun(self, batch: Any, early: EarlyGroups | None) -> Computation:
        """What is computed first of rows.

        Args:
            batch: the rows.
            early: what groups rows as they are read, where that leaves few.
        """
        first = self.steps[0].rows if self.steps else self.values
        # Keys may be made of strings that repeat.
        keys = self.steps[0].rows if self.steps else self._keys
        read = frozenset() if early is None else keys.program.read_by_word
        return first.begin(with_words(read, batch))

    def made(self, begun: Computation, early: EarlyGroups | None) -> Iterator[Any]:
        """What the steps make of rows, some at a time: batches, or `Groups` of rows."""
        batches: Iterator[Any] = iter([begun])
        for step in self.steps[:-1]:
            batches = step.over(batches)
        if not self.steps:
            return batches
        last = self.steps[-1]
        grouping = GroupedCopies.of(last, self._keys, self._others, self.places, early)
        return last.over(batches) if grouping is None else grouping.over(batches)


@dataclass(frozen=True, kw_only=True)
class Scan(RowsOnTheWay):
    """What each task of an operator reads.

    Attributes:
        files: in the order of their rows.
        reader: reads them.
        counted: whether the rows that the reader gives are counted.
    """

    files: tuple[ScanFile, ...]
    reader: RowReader
    counted: bool = False

    def seen(self, count: int, begun: Computation) -> SeenTimes:
        """What is observed of rows of a file, and how many they are."""
        seen = SeenTimes(rows=count if self.counted else 0)
        for times in begun.observed:
            seen = seen.with_times(times)
        return seen


@dataclass(frozen=True)
class SeenTimes:
    """Event times in milliseconds, null ones as 0: how many, least, greatest and sum.

    Attributes:
        rows: how many rows were read, where these are counted.
    """

    count: int = 0
    min_ms: int = 0
    max_ms: int = 0
    sum_ms: int = 0
    rows: int = 0

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
        rows = self.rows + other.rows
        if not self.count or not other.count:
            return replace(self if self.count else other, rows=rows)
        return SeenTimes(
            self.count + other.count,
            min(self.min_ms, other.min_ms),
            max(self.max_ms, other.max_ms),
            self.sum_ms + other.sum_ms,
            rows,
        )


def _exact_sum(numbers: Int64, low: int, high: int) -> int:
    if max(abs(low), abs(high)) * len(numbers) < 1 << 63:
        return int(numbers.sum())
    return sum(map(int, numbers))


def scan_rows(
    scan: Scan, tasks: int, task: int, early: EarlyGroups | None = None
) -> tuple[list[PlacedRows], SeenTimes]:
    """A task's rows of the files, in the order of files and rows.

    Args:
        scan: what to read.
        tasks, task: rows of places `p` with `pmod(p, tasks) == task` are read. What is observed is
            observed by one of the tasks.
        early: what groups rows as they are read, where that leaves few.

    Raises:
        SourceError: a file is gone, damaged, or another one than when the batch was planned.
        KernelError: a value cannot be computed.
    """
    seen = SeenTimes()
    found: list[PlacedRows] = []
    batches = ((file, batch) for file in scan.files for batch in scan.reader.batches(file))
    for number, (file, batch) in enumerate(batches):
        begun = scan.begun(batch, early)
        if number % tasks == task:
            seen = seen.with_seen(scan.seen(batch.num_rows, begun))
        for rows in scan.made(begun, early):
            if isinstance(rows, Groups):
                assert early is not None
                keyed = taken(rows.keys)
                groups = placed_groups(early, rows.columns, rows.count, keyed, file.origin)
                found.append(groups.of_task(tasks, task))
                continue
            values = scan.values.begin(rows)
            keys = values.results(0, scan.hashed, encoded=True)
            count = values.count
            if early is not None:
                columns = _travelling(scan, values, keys)
                coded = early.codes(columns, count)
                if coded is not None:
                    own_keys = taken(keys)
                    rows_by_code = placed_by_codes(early, coded, columns, own_keys, file.origin)
                    found.append(rows_by_code.of_task(tasks, task))
                    continue
                early = None if count else early  # nor will it pay in the next chunk
            own = _scanned(scan, file, values, keys, tasks, task)
            if own is not None:
                found.append(own)
    return found, seen


def _scanned(
    scan: Scan, file: ScanFile, values: Computation, keys: list[Any], tasks: int, task: int
) -> PlacedRows | None:
    """A task's rows of a chunk, of which the keys are known; None if there are none."""
    count = values.count
    if not keys:
        columns = batch_of(_travelling(scan, values, keys), count)
        return PlacedRows(*in_one_place(count), columns, file.origin) if count else None
    places = places_of(keys, count)
    if tasks > 1:
        own = task_of(places, tasks) == task
        if not own.all():
            mask = pa.array(own)
            values, keys, places = values.where(mask), [k.filter(mask) for k in keys], places[own]
            count = len(places)
    if not count:
        return None
    columns = batch_of(_travelling(scan, values, keys), count)
    return PlacedRows(places, hashes_of(keys, count), columns, file.origin)


def _travelling(scan: RowsOnTheWay, values: Computation, keys: list[Any]) -> list[Any]:
    """What travels to the kernel of the rows that are kept, which have these keys."""
    given = [*keys, *values.results(scan.hashed)]
    return [given[place] for place in scan.places]


@dataclass(frozen=True)
class Chunk:
    """Rows of a file that fulfil all conditions, not placed yet.

    Attributes:
        keys: what is hashed.
        columns: what travels to the kernel.
        count: how many rows they are.
        seen: the event times that were observed.
        origin: see `PlacedRows`.
        grouped: whether the rows are groups of rows already.
    """

    keys: list[Any]
    columns: list[Any]
    count: int
    seen: SeenTimes
    origin: int
    grouped: bool = False

    def placed(self, early: EarlyGroups | None) -> PlacedRows:
        """The rows in their places, grouped where that leaves few.

        Raises:
            KernelError: a partial result does not fit its type.
        """
        keys = taken(self.keys)
        if self.grouped and early is not None:
            return placed_groups(early, self.columns, self.count, keys, self.origin)
        return placed(early, self.columns, self.count, keys, self.origin)


def scan_part(scan: Scan, file: ScanFile, part: Any, early: EarlyGroups | None) -> Iterator[Chunk]:
    """The rows of one part of a file: where all tasks are in one process.

    Args:
        scan: what to read.
        file, part: where.
        early: what groups rows as they are read, where that leaves few.

    Raises:
        SourceError, KernelError: as `scan_rows`.
    """
    for batch in scan.reader.batches(file, part):
        yield from chunks_of(scan, batch, early, file.origin)


def chunks_of(
    scan: RowsOnTheWay, batch: Any, early: EarlyGroups | None, origin: int = 0
) -> Iterator[Chunk]:
    """What becomes of some rows.

    Args:
        scan: what is made of them.
        batch: the rows.
        early: what groups them on the way, where that leaves few.
        origin: see `PlacedRows`.

    Raises:
        KernelError: a value cannot be computed.
    """
    begun = scan.begun(batch, early)
    seen = scan.seen(batch.num_rows, begun)
    for rows in scan.made(begun, early):
        if isinstance(rows, Groups):
            yield Chunk(rows.keys, rows.columns, rows.count, seen, origin, grouped=True)
        else:
            values = scan.values.begin(rows)
            keys = values.results(0, scan.hashed, encoded=True)
            columns = _travelling(scan, values, keys)
            yield Chunk(keys, columns, values.count, seen, origin)
        seen = SeenTimes()
