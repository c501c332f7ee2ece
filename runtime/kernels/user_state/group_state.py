"""`applyInPandasWithState`: a function with one state a key, which may time out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ...state import NEVER
from ...state.rows import Int64
from ..kernel import (
    Figures,
    Input,
    Keys,
    Layout,
    OneStoreKernel,
    Outcome,
    StateRows,
    StateStore,
)
from .frames import Emitted, Frames
from .functions import users_code
from .groups import Groups, in_key_order, together
from .kernel import UserStateKernel
from .values import arrow_of, from_arrow, internal, to_arrow

NO_TIMESTAMP = -1
"""GroupState's word for no timeout, and for no watermark."""
_LAST_MS = (NEVER - 1) // 1000


@dataclass(frozen=True, kw_only=True)
class GroupStateKernel(UserStateKernel, OneStoreKernel):
    """Calls the function once for each key that has rows, then for each whose timeout has passed.

    What is in the state of a key: its value, or null, and its timeout. A call that neither updates
    nor removes the state and sets no timeout leaves both as they were, so a key that has timed out
    does so again in the next batch.

    Attributes:
        state: the schema of the state, as PySpark's JSON.
        timeout: NoTimeout, ProcessingTimeTimeout or EventTimeTimeout.
    """

    state: str
    timeout: str

    @property
    def _schema(self) -> Any:
        from pyspark.sql.types import StructType

        return StructType.fromJson(json.loads(self.state))

    @property
    def _times_out(self) -> bool:
        return self.timeout != "NoTimeout"

    @property
    def layout(self) -> Layout:
        values = [pa.field("v0", arrow_of(self._schema))]
        if self._times_out:
            values.append(pa.field("v1", pa.int64()))
        return Layout(self.key_schema, pa.schema(values), self._times_out)

    @property
    def in_event_time(self) -> bool:
        return self.timeout == "EventTimeTimeout"

    @property
    def evicts(self) -> int | None:
        # A key leaves when the function says so: its timeout may even move to an earlier time.
        return None

    @property
    def _threshold_ms(self) -> int | None:
        """Timeouts before it have passed."""
        return self.watermark_ms if self.in_event_time else self.now_ms

    def run(self, rows: Input, store: StateStore) -> Outcome:
        kept, dropped = self.without_late(rows)
        groups = Groups.of(kept, self.keys, self.key_schema)
        past = self._past(store)
        keys, (with_rows, _) = together([groups.keys, past])
        called = _Calls(self, keys, store)
        with users_code():
            frames = Frames(self.function.given(groups.rows), groups.starts, self.settings)
        for number in in_key_order(groups.keys.columns, np.arange(len(groups.keys))):
            called.with_rows(int(with_rows[number]), frames.of(number))
        for place in in_key_order(keys.columns, called.timed_out(self._threshold_ms)):
            called.after_timeout(place)
        return called.outcome(dropped)

    def _past(self, store: StateStore) -> Keys:
        """The keys whose timeout has passed."""
        none, threshold = self.layout.empty_keys(), self._threshold_ms
        if not self._times_out or threshold is None:
            return none
        return store.expired(threshold * 1000 - 1, none).keys


class _Calls:
    """The calls of a task, and the states of its keys as they change."""

    def __init__(self, kernel: GroupStateKernel, keys: Keys, store: StateStore) -> None:
        self._kernel, self._keys = kernel, keys
        starts = np.arange(len(keys) + 1)
        self._given_keys = Frames(keys.columns, starts, kernel.settings).first_rows()
        self._function, returned = kernel.function.load()
        self._returned = returned
        self._emitted = Emitted(kernel.emits, returned, kernel.settings)
        self._schema = kernel._schema
        found = store.get(keys)
        values = from_arrow(found.rows.values.column(0), self._schema)
        timeouts = [NO_TIMESTAMP] * len(values)
        if kernel._times_out:
            timeouts = found.rows.values.column(1).to_pylist()
        states = zip(values, timeouts, strict=True)
        self._states: dict[int, tuple[Any, int]] = dict(
            zip(map(int, found.queries), states, strict=True)
        )
        self._before = set(self._states)
        self._changed: set[int] = set()
        self._updated = self._removed = 0

    def with_rows(self, place: int, frames: Iterator[Any]) -> None:
        """Call the function for a key that has rows."""
        self._call(place, frames, timed_out=False)

    def timed_out(self, threshold_ms: int | None) -> Int64:
        """The keys whose timeout has passed by now."""
        found = [
            place
            for place, (_, timeout) in self._states.items()
            if threshold_ms is not None and timeout != NO_TIMESTAMP and timeout < threshold_ms
        ]
        return np.array(found if self._kernel._times_out else [], np.int64)

    def after_timeout(self, place: int) -> None:
        """Call the function for a key whose timeout has passed."""
        import pandas as pd

        empty = pd.DataFrame(columns=list(self._kernel.function.names))
        self._call(place, iter([empty]), timed_out=True)

    def _call(self, place: int, frames: Iterator[Any], *, timed_out: bool) -> None:
        from pyspark.sql.streaming.state import GroupState

        kernel = self._kernel
        value, _ = self._states.get(place, (None, NO_TIMESTAMP))
        watermark = kernel.watermark_ms if kernel.time is not None else None
        make: Callable[..., Any] = GroupState
        state = make(
            optionalValue=None if value is None else self._schema.fromInternal(value),
            batchProcessingTimeMs=kernel.now_ms,
            eventTimeWatermarkMs=NO_TIMESTAMP if watermark is None else watermark,
            timeoutConf=kernel.timeout,
            hasTimedOut=timed_out,
            watermarkPresent=kernel.time is not None,
            defined=value is not None,
            updated=False,
            removed=False,
            timeoutTimestamp=NO_TIMESTAMP,
            keyAsUnsafe=b"",
            valueSchema=self._schema,
        )
        with users_code():
            result = self._function(self._given_keys[place], frames, state)
            for frame in checked(result, self._returned):
                self._emitted.add_frame(frame)
            self._keep(place, state)

    def _keep(self, place: int, state: Any) -> None:
        """Take in what a call has made of the state."""
        timeout = int(state._timeout_timestamp)
        if state._removed and timeout == NO_TIMESTAMP:
            self._states.pop(place, None)
            self._removed += 1
        elif state._updated or timeout != NO_TIMESTAMP:
            value = internal(state._value, self._schema) if state.exists else None
            self._states[place] = (value, timeout)
            self._updated += 1
        else:
            return
        self._changed.add(place)

    def outcome(self, dropped: int) -> Outcome:
        """What the task emits and keeps."""
        # A key that was not there, and is not, needs no mark.
        changed = sorted(p for p in self._changed if p in self._before or p in self._states)
        numbers = np.array(changed, np.int64)
        live = np.array([place in self._states for place in changed], np.bool_)
        states = [self._states.get(place, (None, NO_TIMESTAMP)) for place in changed]
        timeouts = np.array([timeout for _, timeout in states], np.int64)
        columns = [to_arrow([value for value, _ in states], self._schema)]
        if self._kernel._times_out:
            columns.append(pa.array(timeouts))
        schema = self._kernel.layout.values
        changes = StateRows(
            self._keys.take(numbers),
            np.where(live, times_of_timeouts(timeouts), NEVER),
            pa.RecordBatch.from_arrays(columns, schema=schema),
            None if live.all() else live,
        )
        figures = Figures(
            updated=self._updated,
            removed=self._removed,
            dropped=dropped,
            added=len(self._states) - len(self._before),
        )
        with users_code():
            return Outcome(self._emitted.batch(), changes, figures)


def times_of_timeouts(timeouts: Int64) -> Int64:
    """By which times keys are found whose timeouts, in milliseconds, have passed."""
    capped = np.minimum(timeouts, _LAST_MS) * 1000
    times: Int64 = np.where(timeouts == NO_TIMESTAMP, NEVER, capped)
    return times


def checked(result: Any, returned: Any) -> Iterator[Any]:
    """What a function has returned, one DataFrame after another.

    Raises:
        PySparkTypeError: it is no iterable of DataFrames.
        PySparkRuntimeError: a DataFrame has another number of columns than the type.
    """
    import pandas as pd
    from pyspark.errors import PySparkRuntimeError, PySparkTypeError

    if isinstance(result, pd.DataFrame):
        raise _not_returned(PySparkTypeError, "iterable of pandas.DataFrame", "DataFrame")
    if not hasattr(result, "__iter__"):
        raise _not_returned(PySparkTypeError, "iterable", type(result).__name__)
    for frame in result:
        if not isinstance(frame, pd.DataFrame):
            actual = f"iterator of {type(frame).__name__}"
            raise _not_returned(PySparkTypeError, "iterator of pandas.DataFrame", actual)
        width = len(frame.columns)
        if width != len(returned) and not (width == 0 and frame.empty):
            raise PySparkRuntimeError(
                errorClass="RESULT_COLUMN_SCHEMA_MISMATCH",
                messageParameters={"expected": str(len(returned)), "actual": str(width)},
            )
        yield frame


def _not_returned(kind: Any, expected: str, actual: str) -> Any:
    parameters = {"expected": expected, "actual": actual}
    return kind(errorClass="UDF_RETURN_TYPE", messageParameters=parameters)
