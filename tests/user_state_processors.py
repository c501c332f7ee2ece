"""Functions with state that do what the rows say: each row's `ops` is a list of words.

They travel to workers whole, as nobody there can import them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
START_MS = 1_767_225_600_000
HOUR_MS = 3_600_000


def grouped(key: Any, frames: Any, state: Any) -> Iterator[pd.DataFrame]:
    """A function of applyInPandasWithState."""
    said = [f"timed out {state.hasTimedOut}", f"state {state.getOption}"]
    rows, total = 0, 0
    for frame in frames:
        rows += len(frame)
        total += int(frame["qty"].fillna(0).sum())
        for op in " ".join(filter(None, frame["ops"])).split():
            word, _, number = op.partition(":")
            try:
                match word:
                    case "update":
                        before = state.getOption or (0, None)
                        state.update((before[0] + int(number), str(key[0])))
                    case "remove":
                        state.remove()
                    case "at":
                        state.setTimeoutTimestamp(START_MS + 1000 * int(number))
                    case "after":
                        state.setTimeoutDuration(int(number))
            except Exception as error:
                said.append(f"{op} {type(error).__name__}")
    yield pd.DataFrame({"key": [key[0]], "said": ["; ".join(said)], "n": [rows], "total": [total]})


class Actor(StatefulProcessor):
    """A processor with a variable of each kind.

    Args:
        rows: whether it gets rows, or DataFrames.
        ttl_ms: the time to live of its list and map.
        values: whether its value has that too.
        timed: whether what it emits has a time.
    """

    def __init__(
        self,
        rows: bool = False,
        ttl_ms: int | None = None,
        values: bool = False,
        timed: bool = False,
    ) -> None:
        self._rows, self._ttl_ms, self._value_ttl_ms = rows, ttl_ms, ttl_ms if values else None
        self._timed = timed

    def init(self, handle: Any) -> None:
        self._handle = handle
        self._count = handle.getValueState("count", "n INT, at TIMESTAMP", self._value_ttl_ms)
        self._list = handle.getListState("list", "x DOUBLE, s STRING", self._ttl_ms)
        self._map = handle.getMapState("map", "k STRING, i INT", "v LONG", self._ttl_ms)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        ops: list[str] = []
        times = []
        for part in rows:
            ops += [part.ops or ""] if self._rows else list(part["ops"].fillna(""))
            times += [part.ts] if self._rows else list(part["ts"])
        said = self._told(ops, times, timerValues)
        known = [time for time in times if not pd.isna(time)]
        yield self._given(key[0], f"{len(times)} rows", said, max(known, default=None))

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Any]:
        expiry = expiredTimerInfo.getExpiryTimeInMs()
        now = timerValues.getCurrentProcessingTimeInMs()
        what = str(expiry - START_MS) if expiry < START_MS + HOUR_MS else str(expiry <= now)
        said = self._told(
            ["value list map", "timer:5"][: 1 + (expiry % 2000 == 0)], [], timerValues
        )
        # A row that is not late: the watermark has passed the timer.
        time = pd.Timestamp(expiry + HOUR_MS, unit="ms")
        yield self._given(key[0], f"timer {what}", said, time.to_pydatetime())

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        rows = [initialState] if self._rows else list(initialState.itertuples(index=False))
        for row in rows:
            self._list.appendValue((float(row.qty or 0), row.user))

    def _given(self, key: Any, what: str, said: list[str], time: Any) -> Any:
        row = {"key": key, "what": what, "said": "; ".join(said), "t": time}
        if not self._timed:
            del row["t"]
        return Row(**row) if self._rows else pd.DataFrame({n: [v] for n, v in row.items()})

    def _told(self, ops: list[str], times: list[Any], timers: Any) -> list[str]:
        said = []
        for op in " ".join(ops).split():
            word, _, text = op.partition(":")
            number = int(text or 0)
            match word:
                case "value":
                    said.append(f"{self._count.exists()} {_plain(self._count.get())}")
                case "count":
                    before = self._count.get() or (0, None)
                    at = times[0] if times else None
                    self._count.update((before[0] + number, None if pd.isna(at) else at))
                case "forget":
                    self._count.clear()
                case "list":
                    said.append(f"{self._list.exists()} {list(self._list.get())}")
                case "append":
                    self._list.appendValue((number / 2, f"s{number}"))
                case "extend":
                    self._list.appendList([(float(i), None) for i in range(number + 1)])
                case "put":
                    self._list.put([(1.5, text), (float(number), "é")])
                case "clear":
                    self._list.clear()
                case "map":
                    said.append(f"{self._map.exists()} {list(self._map.iterator())}")
                case "set":
                    self._map.updateValue((f"k{number % 4}" * (number % 3), number), (number * 7,))
                case "get":
                    said.append(str(self._map.getValue((f"k{number % 4}" * (number % 3), number))))
                case "unset":
                    self._map.removeKey((f"k{number % 4}" * (number % 3), number))
                case "empty":
                    self._map.clear()
                case "timer":
                    self._handle.registerTimer(START_MS + 1000 * number)
                case "untimer":
                    self._handle.deleteTimer(START_MS + 1000 * number)
                case "soon":
                    self._handle.registerTimer(timers.getCurrentProcessingTimeInMs() + number)
                case "timers":
                    shown = [t - START_MS for t in self._handle.listTimers()]
                    said.append(str([t for t in shown if t < HOUR_MS]))
        return said


def _plain(value: Any) -> Any:
    """Times without what a zone's own text differs in."""
    return None if value is None else tuple(str(v)[:19] if hasattr(v, "year") else v for v in value)


def with_one_state(events: Any, timeout: str) -> Any:
    """A query with applyInPandasWithState."""
    return events.groupBy("user").applyInPandasWithState(
        grouped, "key STRING, said STRING, n INT, total LONG", "n INT, s STRING", "update", timeout
    )


def with_processor(
    events: Any,
    time_mode: str,
    *,
    rows: bool = False,
    ttl_ms: int | None = None,
    values: bool = False,
    timed: bool = False,
    initial: Any = None,
) -> Any:
    """A query with transformWithState, or transformWithStateInPandas."""
    groups = events.groupBy("user")
    run = groups.transformWithState if rows else groups.transformWithStateInPandas
    schema = "key STRING, what STRING, said STRING" + ", t TIMESTAMP" * timed
    given = None if initial is None else initial.groupBy("user")
    mode, time = ("append", "t") if timed else ("update", "")
    actor = Actor(rows, ttl_ms, values, timed)
    return run(actor, schema, mode, time_mode, initialState=given, eventTimeColumnName=time)
