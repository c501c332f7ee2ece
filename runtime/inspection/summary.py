"""Figures of a state: rows, keys, bytes, the oldest event time, how even its stores are."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np

from ..state import NEVER, first_rows
from ..state.rows import Int64
from ..state.version import task_of
from .stored import StoredState


@dataclass(frozen=True, kw_only=True)
class StateSummary:
    """The figures of one operator's state.

    Attributes:
        operator_id, operator_name: which operator.
        version: n is the state after batch n - 1.
        stores: the logical stores.
        rows, keys: a session key may have several rows.
        bytes, files: of the version's runs.
        oldest, newest: the least and greatest event time, of the rows that have one.
        keys_per_store: least, median and most keys of a store.
        empty_stores: how many have none.
        largest_share: the part of all keys that the largest store has.
    """

    operator_id: int
    operator_name: str
    version: int
    stores: int
    rows: int
    keys: int
    bytes: int
    files: int
    oldest: dt.datetime | None
    newest: dt.datetime | None
    keys_per_store: tuple[int, float, int]
    empty_stores: int
    largest_share: float

    def as_dict(self) -> dict[str, object]:
        """The figures in Spark's spelling, for JSON."""
        least, median, most = self.keys_per_store
        return {
            "operatorId": self.operator_id,
            "operatorName": self.operator_name,
            "version": self.version,
            "numPartitions": self.stores,
            "numRows": self.rows,
            "numKeys": self.keys,
            "sizeBytes": self.bytes,
            "numFiles": self.files,
            "oldestEventTime": None if self.oldest is None else self.oldest.isoformat(),
            "newestEventTime": None if self.newest is None else self.newest.isoformat(),
            "keysPerPartition": {"min": least, "median": median, "max": most},
            "emptyPartitions": self.empty_stores,
            "largestPartitionShare": round(self.largest_share, 6),
        }


def summarise(state: StoredState) -> StateSummary:
    """The figures of a state, from all its rows.

    Raises:
        RuntimeFailure: a file is missing or corrupt.
    """
    per_store = np.zeros(state.stores, np.int64)
    rows, oldest, newest = 0, NEVER, -NEVER
    for _, found in state.rows():
        rows += len(found)
        first = first_rows(found.keys) == np.arange(len(found))
        stores = task_of(found.keys.places[first], state.stores)
        per_store += np.bincount(stores, minlength=state.stores)
        times = found.times[found.times != NEVER]
        if len(times):
            oldest, newest = min(oldest, int(times.min())), max(newest, int(times.max()))
    keys = int(per_store.sum())
    return StateSummary(
        operator_id=state.operator_id,
        operator_name=state.operator_name,
        version=state.version.version,
        stores=state.stores,
        rows=rows,
        keys=keys,
        bytes=state.version.size,
        files=len(state.version.runs),
        oldest=None if oldest == NEVER else moment(oldest),
        newest=None if newest == -NEVER else moment(newest),
        keys_per_store=_spread(per_store),
        empty_stores=int((per_store == 0).sum()),
        largest_share=int(per_store.max()) / keys if keys else 0.0,
    )


def _spread(per_store: Int64) -> tuple[int, float, int]:
    return int(per_store.min()), float(np.median(per_store)), int(per_store.max())


def moment(micros: int) -> dt.datetime | None:
    """A time in microseconds since 1970; None beyond Python's calendar."""
    try:
        return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=micros)
    except OverflowError:
        return None
