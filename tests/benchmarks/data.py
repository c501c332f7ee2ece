"""Data of a seed: parquet files, one batch after the other in the order of their times."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = "key BIGINT, ts TIMESTAMP, value BIGINT"
_START_US = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
_FIRST_FILE_TIME = 1_700_000_000
_BATCH_US = 60_000_000  # the event time that a batch covers
_REPEATED = 0.1
_SEED = 20_260_101


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What the rows of a stream look like.

    Attributes:
        kind: `events`: keys at random, 60 s of event time a batch, in no order;
            `repeats`: new keys, a tenth of which come twice, in the batch or the one before;
            `changes`: first every key once, in batches of `preload` rows, then keys at random.
        rows: rows of a batch.
        keys: how many keys there are; `repeats` needs none.
        preload: for `changes`, rows of the batches that make the state.
        parts: files of a batch, so that both cores read.
    """

    kind: Literal["events", "repeats", "changes"]
    rows: int
    keys: int
    preload: int = 0
    parts: int = 2

    @property
    def preload_batches(self) -> int:
        """The batches that come before those of `rows` rows."""
        return -(-self.keys // self.preload) if self.preload else 0

    def path(self, root: Path, batches: int) -> Path:
        """The directory of so many batches; made if it is not there."""
        name = f"{self.kind}-{self.rows}-{self.keys}-{self.preload}-{self.parts}-{batches}"
        directory = root / name
        if not directory.exists():
            hidden = root / f".{name}-{os.getpid()}"
            shutil.rmtree(hidden, ignore_errors=True)
            hidden.mkdir(parents=True)
            for number in range(batches):
                self._write(hidden, number)
            hidden.rename(directory)
        return directory

    def _write(self, directory: Path, number: int) -> None:
        table = self._table(number)
        size = -(-table.num_rows // self.parts)
        for part in range(self.parts):
            path = directory / f"batch-{number:05d}-{part}.parquet"
            pq.write_table(table.slice(part * size, size), path)
            seconds = _FIRST_FILE_TIME + number * self.parts + part
            os.utime(path, (seconds, seconds))

    def _table(self, number: int) -> pa.Table:
        random = np.random.default_rng([_SEED, number])
        keys, times = getattr(self, f"_{self.kind}")(random, number)
        values = random.integers(0, 1000, len(keys))
        return pa.table(
            {
                "key": pa.array(keys, pa.int64()),
                "ts": pa.array(_START_US + times, pa.timestamp("us", "UTC")),
                "value": pa.array(values, pa.int64()),
            }
        )

    def _events(self, random: np.random.Generator, number: int) -> tuple[Any, Any]:
        keys = random.integers(0, self.keys, self.rows)
        return keys, number * _BATCH_US + random.integers(0, _BATCH_US, self.rows)

    def _repeats(self, random: np.random.Generator, number: int) -> tuple[Any, Any]:
        first = number * self.rows
        keys = np.arange(first, first + self.rows)
        again = random.random(self.rows) < _REPEATED
        oldest = max(0, first - self.rows // 4)
        keys[again] = random.integers(oldest, first + self.rows, int(again.sum()))
        random.shuffle(keys)
        return keys, keys * _BATCH_US // self.rows

    def _changes(self, random: np.random.Generator, number: int) -> tuple[Any, Any]:
        if number < self.preload_batches:
            first = number * self.preload
            keys = np.arange(first, min(first + self.preload, self.keys))
            random.shuffle(keys)
        else:
            keys = random.integers(0, self.keys, self.rows)
        return keys, number * _BATCH_US + random.integers(0, _BATCH_US, len(keys))


def file_sizes(directory: Path) -> Iterator[int]:
    """The bytes of every file below a directory."""
    for folder, _, names in os.walk(directory):
        for name in names:
            yield os.path.getsize(os.path.join(folder, name))
