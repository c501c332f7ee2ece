"""Queries with state of the user's own: by event time, or by a clock that the batches move.

What the functions keep and emit is independent of the order of a batch's rows. They travel to
workers whole, as nobody there can import them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark import cloudpickle
from pyspark.sql.streaming import StatefulProcessor

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CONF = {"spark.sql.streaming.stateStore.providerClass": ROCKS}
START_MS = 1_800_000_000_000
BATCH_MS = 60_000
"""A batch starts so long after the one before, by the clock of these lives."""
SCHEMA = "user STRING, what STRING, n LONG, total LONG"


def clock(commits: Path) -> int:
    """The time at which the batch behind the commits starts, whenever that is."""
    numbers = [int(path.name) for path in commits.glob("[0-9]*") if path.name.isdigit()]
    return START_MS + BATCH_MS * (max(numbers, default=-1) + 1)


def _row(key: str, what: str, count: int, total: int) -> pd.DataFrame:
    return pd.DataFrame({"user": [key], "what": [what], "n": [count], "total": [total]})


def _milliseconds(times: pd.Series[Any]) -> int:
    return int(times.max().value // 1_000_000)


def grouped(by_time: bool, key: Any, frames: Any, state: Any) -> Iterator[pd.DataFrame]:
    """A function of applyInPandasWithState: counts until a time-out, then begins anew."""
    count, total = state.getOption or (0, 0)
    if state.hasTimedOut:
        state.remove()
        yield _row(key[0], "timed out", count, total)
        return
    latest = 0
    for frame in frames:
        count += len(frame)
        total += int(frame["n"].sum())
        latest = max(latest, _milliseconds(frame["ts"]))
    state.update((count, total))
    if by_time:
        state.setTimeoutTimestamp(max(latest + 20_000, state.getCurrentWatermarkMs() + 1))
    else:
        state.setTimeoutDuration(BATCH_MS + BATCH_MS // 2)
    yield _row(key[0], "counted", count, total)


class Processor(StatefulProcessor):
    """A variable of each kind, timers, and a time to live of the list and the map by the clock."""

    def __init__(self, by_time: bool) -> None:
        self._by_time = by_time

    def init(self, handle: Any) -> None:
        live = None if self._by_time else BATCH_MS + BATCH_MS // 2
        self._handle = handle
        self._count = handle.getValueState("count", "n LONG, total LONG")
        self._list = handle.getListState("list", "n INT", live)
        self._map = handle.getMapState("map", "k INT", "v LONG", live)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        frame = pd.concat(list(rows))
        count, total = self._count.get() or (0, 0)
        count, total = count + len(frame), total + int(frame["n"].sum())
        self._count.update((count, total))
        self._list.appendList([(n,) for n in sorted(frame["n"].tolist())])
        for k, part in sorted(frame.groupby(frame["n"] % 3)["n"]):
            before = self._map.getValue((int(k),)) or (0,)
            self._map.updateValue((int(k),), (before[0] + int(part.sum()),))
        if total % 5 == 0:
            self._map.removeKey((0,))
        if self._by_time:
            self._handle.registerTimer(_milliseconds(frame["ts"]) + 20_000)
        else:
            now = timerValues.getCurrentProcessingTimeInMs()
            self._handle.registerTimer(now + BATCH_MS + BATCH_MS // 2)
        yield self._said(key, "counted")

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[pd.DataFrame]:
        yield self._said(key, f"timer {expiredTimerInfo.getExpiryTimeInMs()}")
        if not list(self._handle.listTimers()):
            self._count.clear()
            self._list.clear()

    def _said(self, key: Any, what: str) -> pd.DataFrame:
        kept = [n for (n,) in self._list.get()]
        sums = sorted((k, v) for (k,), (v,) in self._map.iterator())
        count, total = self._count.get() or (0, 0)
        return _row(key[0], f"{what} {sorted(kept)} {sums}", count, total)


def _group_state(events: Any, *, by_time: bool, mode: str) -> Any:
    timeout = "EventTimeTimeout" if by_time else "ProcessingTimeTimeout"
    function = partial(grouped, by_time)
    users = (events.withWatermark("ts", "10 seconds") if by_time else events).groupBy("user")
    return users.applyInPandasWithState(function, SCHEMA, "c LONG, t LONG", mode, timeout)


def _processor(events: Any, *, by_time: bool, mode: str) -> Any:
    users = (events.withWatermark("ts", "10 seconds") if by_time else events).groupBy("user")
    time = "EventTime" if by_time else "ProcessingTime"
    return users.transformWithStateInPandas(Processor(by_time), SCHEMA, mode, time)


USER_STATE: dict[str, Callable[..., Any]] = {
    "group state": partial(_group_state, by_time=True),
    "group state by the clock": partial(_group_state, by_time=False),
    "processor": partial(_processor, by_time=True),
    "processor by the clock": partial(_processor, by_time=False),
}
"""From the stream `events` to the query, by the names of cases."""
