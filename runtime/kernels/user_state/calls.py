"""The calls of a processor in one task, over the state of the task's keys."""

from __future__ import annotations

import json
from collections import Counter, namedtuple
from collections.abc import Iterable, Iterator, Mapping
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np

from ....planner.model.schemas.ddl import parse_schema
from ...state.parts import TIMERS
from ...state.rows import Int64, Mask, take
from ..errors import KernelError
from ..kernel import Changes, Decision, Figures, Keys, StateStore, at_or_below, event_times
from .frames import Emitted, Frames
from .functions import users_code
from .groups import Groups, in_key_order, named
from .tables import REMOVED, UPDATED, Table, Timers
from .variables import Declared, Variable

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, TimerValues

    from .processor import ProcessorKernel

_NO_TIME = -1


class Run:
    """A processor's run through a task: what `handle.Task` asks for."""

    def __init__(self, kernel: ProcessorKernel, keys: Keys, stores: Mapping[str, StateStore]):
        self._kernel, self._keys, self._stores = kernel, keys, stores
        self.declared = Declared(kernel.time_mode)
        self.time_mode = kernel.time_mode
        self.state = "CREATED"
        self.place: int | None = None
        self.failure: KernelError | None = None
        self._counts: Counter[str] = Counter()
        self._tables: dict[str, Table] = {}
        self.timers: Timers | None = None
        if kernel.time_mode != "NoTime":
            self.timers = Timers(keys, stores[TIMERS], self._counts)
        function, returned = kernel.function.load()
        self._processor = processor_of(function)
        self._emitted = Emitted(kernel.emits, returned, kernel.settings)

    def fail(self, error: KernelError) -> KernelError:
        """Note an error that ends the batch, even if the user's code catches it."""
        self.failure = self.failure or error
        return error

    def table(self, variable: Variable) -> Table:
        """The rows of a variable."""
        known = self._tables.get(variable.name)
        if known is None:
            store, now_ms = self._stores[variable.part], self._kernel.now_ms
            known = Table(variable, self._keys, store, now_ms, self._counts)
            self._tables[variable.name] = known
        return known

    def begin(self) -> None:
        """Let the processor declare its variables."""
        from .handle import Handle

        with users_code(self):
            self._processor.init(Handle(self, parsed))
        self.state = "INITIALIZED"

    def with_rows(self, groups: Groups, numbers: Iterable[int], places: Int64) -> None:
        """Call the processor for keys that have rows, one after another."""
        kernel, given = self._kernel, self._kernel.function.given
        rows, starts = groups.rows, groups.starts
        with users_code(self):
            keys = _Given(named(rows, kernel.keys, kernel.names), starts, kernel)
            initial = None
            if kernel.initial is not None:
                tags = rows.column(kernel.initial.tag).to_numpy(zero_copy_only=False)
                first, first_starts = _part(rows, starts, tags)
                first = named(first, kernel.initial.columns, kernel.initial.names)
                initial = _Given(first, first_starts, kernel)
                rows, starts = _part(rows, starts, ~tags)
            data = _Given(given(rows), starts, kernel)
        for number in numbers:
            self.place = int(places[number])
            with users_code(self):
                key = keys.first_of(number)
                for one in initial.of(number) if initial is not None else ():
                    self._processor.handleInitialState(key, one, self._timer_values)
                if data.has(number):
                    values = self._timer_values
                    self._take(self._processor.handleInputRows(key, data.of(number), values))

    def expired_timers(self) -> None:
        """Call the processor for each timer that has expired."""
        from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo
        from pyspark.sql.types import Row

        self.state = "DATA_PROCESSED"
        threshold = self._kernel.threshold_ms
        if self.timers is None or threshold is None:
            return
        every = np.arange(len(self._keys))
        ranks = {place: i for i, place in enumerate(in_key_order(self._keys.columns, every))}
        as_row = Row(*self._kernel.names)
        for place, time in self.timers.expired(threshold, ranks):
            self.place = place
            with users_code(self):
                columns = self._keys.columns.slice(place, 1)
                key = as_row(*(column[0].as_py() for column in columns.columns))
                result = self._processor.handleExpiredTimer(
                    key=key,
                    timerValues=self._timer_values,
                    expiredTimerInfo=ExpiredTimerInfo(time),
                )
                self._take(result)
            self.timers.delete(place, time)

    def end(self, dropped: int) -> Decision:
        """Let the processor end; what the task emits and keeps."""
        self.state, self.place = "TIMER_PROCESSED", None
        with users_code(self):
            self._processor.close()
            output = self._emitted.batch()
        self._check_event_times(output)
        changes: dict[str, Changes] = {}
        for variable in self._kernel.variables:
            if variable.ttl_ms is not None:
                self.table(variable).remove_expired()
            if variable.name in self._tables:
                table = self._tables[variable.name]
                changes[variable.part] = table.changes(self._kernel.layouts[variable.part])
        if self.timers is not None:
            changes[TIMERS] = self.timers.changes(self._kernel.layouts[TIMERS])
        figures = Figures(
            updated=self._counts.pop(UPDATED, 0),
            removed=self._counts.pop(REMOVED, 0),
            dropped=dropped,
            added=sum(table.added for table in self._tables.values()),
            custom=dict(self._counts),
        )
        return Decision([output], figures, changes)

    def _check_event_times(self, output: Any) -> None:
        """Check that no row is late for what follows.

        Raises:
            KernelError: one is.
        """
        time, late = self._kernel.emitted_time, self._kernel.late
        if time is None or late is None:
            return
        times = event_times(output.column(time))
        if (at_or_below(times, late)).any():
            raise KernelError.of(
                "EMITTING_ROWS_OLDER_THAN_WATERMARK_NOT_ALLOWED",
                emittedRowEventTime=times.min(),
                currentWatermark=late,
            )

    @property
    def _timer_values(self) -> TimerValues:
        from pyspark.sql.streaming.stateful_processor import TimerValues

        if self.time_mode == "NoTime":
            return TimerValues(_NO_TIME, _NO_TIME)
        return TimerValues(self._kernel.now_ms, self._kernel.watermark_ms or 0)

    def _take(self, result: Iterable[Any]) -> None:
        """Take in what the processor has returned."""
        import pandas as pd
        from pyspark.errors import PySparkValueError

        if self._kernel.rows_as == "python_row":
            self._emitted.add_rows(list(result))
            return
        for frame in result:
            if not isinstance(frame, pd.DataFrame):
                raise PySparkValueError(
                    "Invalid return type. Please make sure that the UDF returns a "
                    "pandas.DataFrame when the specified return type is StructType."
                )
            self._emitted.add_frame(frame)


class _Given:
    """The rows of each group as a processor gets them.

    A DataFrame is made of tuples, as PySpark's worker does it: its dtypes are those of Python's
    values, its columns have names that Python knows.
    """

    def __init__(self, rows: Any, starts: Int64, kernel: ProcessorKernel) -> None:
        self._rows, self._starts = rows, starts
        self._names = rows.schema.names
        self._frames = None
        if kernel.rows_as == "pandas":
            self._frames = Frames(rows, starts, kernel.settings)
            made: Any = namedtuple("_Names", self._names, rename=True)  # type: ignore[misc]
            self._names = made._fields

    def has(self, group: int) -> bool:
        """Whether a group has rows."""
        return bool(self._starts[group] < self._starts[group + 1])

    def of(self, group: int) -> Iterator[Any]:
        """The DataFrames of a group, or its rows."""
        import pandas as pd
        from pyspark.sql.types import Row

        if self._frames is not None:
            for frame in self._frames.of(group):
                rows = list(frame.itertuples(index=False, name=None))
                yield pd.DataFrame(rows, columns=self._names)
            return
        as_row = Row(*self._names)
        start, end = int(self._starts[group]), int(self._starts[group + 1])
        yield from starmap(as_row, _tuples(self._rows.slice(start, end - start)))

    def first_of(self, group: int) -> tuple[Any, ...]:
        """The first row of a group."""
        if self._frames is not None:
            return next(next(self._frames.of(group)).itertuples(index=False, name=None))
        return next(_tuples(self._rows.slice(int(self._starts[group]), 1)))


def _part(rows: Any, starts: Int64, chosen: Mask) -> tuple[Any, Int64]:
    """Some rows of each group, and where it begins then."""
    before = np.concatenate([[0], np.cumsum(chosen)])
    return take(rows, np.flatnonzero(chosen)), before[starts]


def _tuples(rows: Any) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in rows.columns), strict=True)


def processor_of(function: Any) -> StatefulProcessor:
    """The processor of a function as PySpark's client sends it: a method bound to it."""
    found: StatefulProcessor = function.__self__._stateful_processor
    return found


def parsed(text: str) -> Any:
    """A schema in PySpark's classes of its text."""
    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(json.dumps(parse_schema(text).json)))
