"""Rows that some tasks deal out, packed, to the tasks of an operator.

They read them from files, each part of a file in one task, or another operator has given them. What
a task has for one of the operator's goes there as one value, an Arrow stream: few and large rows
for the engine, whose order is known again behind the exchange.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ...state.rows import columns_of
from ..hashes.rows import places_of
from .early_groups import EarlyGroups
from .parquet_files import ScanFile
from .placed_rows import PlacedRows
from .scan import Chunk, RowsOnTheWay, Scan, SeenTimes, chunks_of, scan_part

TO, SCAN, NUMBER, ROWS, SEEN = "to", "scan", "number", "rows", "seen"
SCHEMA = pa.schema(
    [
        *((TO, pa.int32()), (SCAN, pa.int32()), (NUMBER, pa.int64())),
        *((ROWS, pa.binary()), (SEEN, pa.string())),
    ]
)
"""The columns of packed rows: what Spark hashes to find the task; which scan they are of, or which
other operator, and in which order; the rows, and what was observed of them and of all others of the
chunk.
"""
_CHUNKS = 1 << 20  # of a part or a task, at most


@dataclass(frozen=True)
class _Dealing:
    """What tasks do that deal rows out.

    Attributes:
        to: per task of the operator a number that Spark's hash sends there.
        early: what groups rows on the way, where that leaves few; None: nothing.
    """

    to: tuple[int, ...]
    early: EarlyGroups | None

    def _dealt(self, scan: int, number: int, chunk: Chunk) -> Any:
        """The packed rows of a chunk: at least one, which says what was observed."""
        tasks = len(self.to)
        dealt: list[list[PlacedRows]] = [[] for _ in range(tasks)]
        if chunk.count:
            dealt = list(chunk.placed(self.early).by_task(tasks))
        found = [(self.to[task], _packed(rows)) for task, own in enumerate(dealt) for rows in own]
        found = found or [(self.to[0], None)]
        seen = [json.dumps(asdict(chunk.seen)), *[None] * (len(found) - 1)]
        count = len(found)
        columns = [
            pa.array([to for to, _ in found], pa.int32()),
            pa.array([scan] * count, pa.int32()),
            pa.array([number] * count, pa.int64()),
            pa.array([rows for _, rows in found], pa.binary()),
            pa.array(seen, pa.string()),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


@dataclass(frozen=True)
class Dealing(_Dealing):
    """What tasks do that read files.

    Attributes:
        scans: what is read, by its number.
        units: the parts of files to read, with the number of their scan.
    """

    scans: Mapping[int, Scan]
    units: tuple[tuple[int, ScanFile, Any], ...]

    @classmethod
    def of(cls, scans: Mapping[int, Scan], tasks: int, early: EarlyGroups | None) -> Dealing:
        """What is to be read by all scans, in its parts."""
        units = (
            (number, file, part)
            for number, scan in scans.items()
            for file in scan.files
            for part in scan.reader.parts(file)
        )
        return cls(sent_to(tasks), early, scans, tuple(units))

    def packed(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The packed rows of some units.

        Args:
            batches: record batches of one column, the numbers of units.

        Raises:
            SourceError, KernelError: as `scan_part`.
        """
        for batch in batches:
            for unit in batch.column(0).to_pylist():
                number, file, part = self.units[unit]
                scan = self.scans[number]
                chunks = scan_part(scan, file, part, self.early)
                for place, chunk in enumerate(chunks):
                    yield self._dealt(number, unit * _CHUNKS + place, chunk)


@dataclass(frozen=True)
class Forwarding(_Dealing):
    """What an operator's tasks do with the rows that it gives to another one.

    Attributes:
        number: of these rows among all that the other one takes.
        rows: what becomes of them.
    """

    number: int
    rows: RowsOnTheWay

    def packed(self, batches: Iterable[Any], task: int) -> Iterator[Any]:
        """The packed rows of a task.

        Args:
            batches: the operator's rows, as they would travel.
            task: its number.

        Raises:
            KernelError: a value cannot be computed.
        """
        chunks = (chunk for batch in batches for chunk in chunks_of(self.rows, batch, self.early))
        for place, chunk in enumerate(chunks):
            yield self._dealt(self.number, task * _CHUNKS + place, chunk)


def received(batches: Iterable[Any], count: int) -> tuple[list[PlacedRows], tuple[SeenTimes, ...]]:
    """The rows that have been dealt out to a task, in the order of files, tasks and rows.

    Args:
        batches: packed rows.
        count: how many scans and other rows there are.

    Returns:
        The rows, and per scan what was observed.
    """
    found: list[tuple[int, int, PlacedRows]] = []
    seen = [SeenTimes() for _ in range(count)]
    for batch in batches:
        for row in batch.to_pylist():
            if row[SEEN] is not None:
                one = SeenTimes(**json.loads(row[SEEN]))
                seen[row[SCAN]] = seen[row[SCAN]].with_seen(one)
            if row[ROWS] is not None:
                found.append((row[SCAN], row[NUMBER], _unpacked(row[ROWS])))
    found.sort(key=lambda one: one[:2])
    return [rows for *_, rows in found], tuple(seen)


def _packed(rows: PlacedRows) -> Any:
    """Rows as an Arrow stream."""
    columns = [pa.array(rows.places), pa.array(rows.hashes), *rows.columns.columns]
    metadata = {"origin": str(rows.origin), "grouped": str(int(rows.grouped))}
    schema = pa.schema([(str(i), column.type) for i, column in enumerate(columns)], metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
    return sink.getvalue().to_pybytes()


def _unpacked(data: bytes) -> PlacedRows:
    (batch,) = pa.ipc.open_stream(data)
    metadata = batch.schema.metadata
    places, hashes, *columns = batch.columns
    schema = pa.schema([(str(i), column.type) for i, column in enumerate(columns)])
    return PlacedRows(
        places.to_numpy(),
        hashes.to_numpy(),
        columns_of(columns, schema, batch.num_rows),
        int(metadata[b"origin"]),
        grouped=metadata[b"grouped"] == b"1",
    )


def sent_to(tasks: int) -> tuple[int, ...]:
    """For each task a number that Spark's hash partitioning sends to it."""
    numbers = np.arange(64 * tasks, dtype=np.int32)
    while True:
        to = np.mod(places_of([pa.array(numbers)], len(numbers)), tasks)
        found, first = np.unique(to, return_index=True)
        if len(found) == tasks:
            return tuple(numbers[first].tolist())
        numbers = np.arange(2 * len(numbers), dtype=np.int32)
