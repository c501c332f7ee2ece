"""Rows that a task reads from Parquet files for itself: they never are rows of an engine's.

Every task of an operator reads all files and keeps the rows whose place is its own. There is no
exchange, and with few tasks reading twice takes a tenth of the time of exchanging once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from ..state.rows import Int64, columns_of
from ..state.version import task_of
from .early_groups import EarlyGroups, encoded_where_repeated
from .errors import failed_read
from .expressions.evaluator import Evaluator
from .expressions.vectors import decoded, is_encoded
from .hashing import hashes_of, places_of
from .placed_rows import PlacedRows, batch_of, placed_by_codes, taken

CHUNK = 1 << 18
"""Rows that are read and grouped at a time: of more of them, fewer groups a row are left."""
_ENCODED = pa.dictionary(pa.int32(), pa.string())
_DICTIONARY, _NUMBER = 1 << 20, 2.5
"""The bytes of a dictionary, and of each number of one of its words, that Parquet's writers allow.
"""


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
        keys: of the rows that fulfil all conditions, what is hashed.
        columns: of such rows, what travels to the kernel and is no key.
        places: per column that travels, which key it is, or which of `columns` behind all keys.
        time: of the rows that an EventTimeWatermark observes, their event times; None: none does.
        origins: whether the kernel asks where rows come from.
    """

    files: tuple[ScanFile, ...]
    schema: Any
    keys: Evaluator
    columns: Evaluator
    places: tuple[int, ...]
    time: Evaluator | None = None
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
    batches = ((file, batch) for file in scan.files for batch in file_batches(scan.schema, file))
    for number, (file, batch) in enumerate(batches):
        if scan.time is not None and number % tasks == task:
            (times,) = scan.time.evaluate(batch)
            seen = seen.with_times(times)
        if early is not None:
            batch = _with_words(scan, batch)
        keys, kept = scan.keys.select(batch, encoded=True)
        count = batch.num_rows if kept is None else kept.true_count
        if early is not None:
            columns = _travelling(scan, batch, kept, keys)
            coded = early.codes(columns, count)
            if coded is not None:
                placed = placed_by_codes(early, coded, columns, taken(keys), file.origin)
                found.append(placed.of_task(tasks, task))
                continue
            early = None if count else early  # nor will it pay in the next chunk
        rows = _scanned(scan, file, batch, (keys, kept, count), tasks, task)
        if rows is not None:
            found.append(rows)
    return found, seen


def _scanned(
    scan: Scan, file: ScanFile, batch: Any, keyed: tuple[list[Any], Any, int], tasks: int, task: int
) -> PlacedRows | None:
    """A task's rows of a chunk, of which the keys are known; None if there are none."""
    keys, kept, count = [decoded(key) for key in keyed[0]], *keyed[1:]
    places = places_of(keys, count)
    if tasks > 1:
        own = np.flatnonzero(task_of(places, tasks) == task)
        if len(own) < count:
            passed = np.arange(count) if kept is None else np.flatnonzero(kept)
            batch, kept = batch.take(pa.array(passed[own])), None
            keys, places = [key.take(pa.array(own)) for key in keys], places[own]
            count = len(own)
    if not count:
        return None
    columns = batch_of(_travelling(scan, batch, kept, keys), count)
    return PlacedRows(places, hashes_of(keys, count), columns, file.origin)


def _travelling(scan: Scan, batch: Any, kept: Any, keys: list[Any]) -> list[Any]:
    """What travels to the kernel of the rows that are kept, which have these keys."""
    if kept is not None:
        batch = batch.filter(kept)
    given = [*keys, *scan.columns.evaluate(batch)]
    return [given[place] for place in scan.places]


def _with_words(scan: Scan, batch: Any) -> Any:
    """A chunk whose strings, where keys are made of them, are encoded if that pays."""
    read = scan.keys.program.read_by_results
    columns = [encoded_where_repeated(c) if i in read else c for i, c in enumerate(batch.columns)]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names) if columns else batch


def row_groups(file: ScanFile) -> int:
    """How many parts of a file can be read apart; 1 where that cannot be told."""
    with contextlib.suppress(OSError, pa.ArrowException):
        return int(parquet.read_metadata(file.path).num_row_groups)
    return 1


@dataclass(frozen=True)
class Chunk:
    """Rows of a file that fulfil all conditions, not placed yet.

    Attributes:
        keys: what is hashed.
        columns: what travels to the kernel.
        count: how many rows they are.
        seen: the event times that were observed.
        origin: see `ScannedRows`.
    """

    keys: list[Any]
    columns: list[Any]
    count: int
    seen: SeenTimes
    origin: int


def scan_part(scan: Scan, file: ScanFile, part: int, *, grouped: bool) -> Iterator[Chunk]:
    """The rows of one row group of a file: where all tasks are in one process.

    Args:
        scan: what to read.
        file, part: where.
        grouped: whether the rows are to be grouped as they are read.

    Raises:
        SourceError, KernelError: as `scan_rows`.
    """
    for batch in file_batches(scan.schema, file, part):
        seen = SeenTimes()
        if scan.time is not None:
            (times,) = scan.time.evaluate(batch)
            seen = seen.with_times(times)
        if grouped:
            batch = _with_words(scan, batch)
        keys, kept = scan.keys.select(batch, encoded=True)
        count = batch.num_rows if kept is None else kept.true_count
        columns = _travelling(scan, batch, kept, keys)
        yield Chunk(keys, columns, count, seen, file.origin)


def file_batches(schema: Any, file: ScanFile, part: int | None = None) -> Iterator[Any]:
    """A file's rows, some at a time; `part`: those of one row group.

    Raises:
        SourceError: the file is gone, damaged, or another one than when the batch was planned.
    """
    whole = 0
    try:
        metadata = parquet.read_metadata(file.path, memory_map=True)
        whole = metadata.num_rows
        groups = range(metadata.num_row_groups) if part is None else [part]
        encoded = _encoded_columns(metadata, groups, schema)
        with parquet.ParquetFile(
            file.path,
            metadata=metadata,
            memory_map=True,
            pre_buffer=False,
            read_dictionary=encoded,
        ) as opened:
            for group in groups:
                table = opened.read_row_group(group, columns=schema.names, use_threads=False)
                yield from _chunks(_typed(table.select(schema.names), schema))
    except (OSError, KeyError, pa.ArrowException) as problem:
        text = " ".join(str(problem).split())
        raise SourceError(failed_read(file.path, text).message) from problem
    if whole != file.rows:
        why = f"It has {whole} rows, and had {file.rows} when the batch was planned."
        raise SourceError(failed_read(file.path, why).message)


def _encoded_columns(metadata: Any, groups: Sequence[int], schema: Any) -> list[str]:
    """The columns of strings that are numbers of words in a file, in some of its row groups."""
    strings = {field.name for field in schema if pa.types.is_string(field.type)}

    def is_encoded(place: int) -> bool:
        return all(_has_numbers(metadata.row_group(group).column(place)) for group in groups)

    return [
        column.path
        for place, column in ((i, metadata.schema.column(i)) for i in range(metadata.num_columns))
        if column.path in strings and column.logical_type.type == "STRING" and is_encoded(place)
    ]


def _has_numbers(chunk: Any) -> bool:
    """Whether a column chunk holds numbers of words and nothing else.

    Writers give up a dictionary of more than a mebibyte and go on with the strings themselves,
    which no metadata say: those take more room than numbers.
    """
    if not any(encoding.endswith("DICTIONARY") for encoding in chunk.encodings):
        return False
    return bool(chunk.total_uncompressed_size <= _DICTIONARY + _NUMBER * chunk.num_values)


def _typed(table: Any, schema: Any) -> Any:
    """The columns under the types of a schema; encoded strings stay so."""
    fields = [
        f.with_type(_ENCODED) if c.type == _ENCODED else f
        for f, c in zip(schema, table.columns, strict=True)
    ]
    return table.cast(pa.schema(fields))


def _chunks(table: Any) -> Iterator[Any]:
    if not table.num_columns:
        yield columns_of([], table.schema, table.num_rows)
        return
    for batch in table.to_batches():
        columns = [_null_as_word(column) for column in batch.columns]
        batch = pa.RecordBatch.from_arrays(columns, batch.schema.names)
        for start in range(0, batch.num_rows, CHUNK):
            yield batch.slice(start, CHUNK)


def _null_as_word(column: Any) -> Any:
    """A column whose nulls, if it is encoded, are a word as the others are."""
    if not is_encoded(column) or not column.null_count:
        return column
    words = pa.concat_arrays([column.dictionary, pa.nulls(1, column.dictionary.type)])
    return pa.DictionaryArray.from_arrays(column.indices.fill_null(len(words) - 1), words)
