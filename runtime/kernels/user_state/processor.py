"""`transformWithState`: a processor with state variables and timers of its own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....planner.model.ddl import parse_schema
from ...state.parts import TIMERS
from ...state.rows import Mask
from ..errors import KernelError
from ..kernel import (
    Changes,
    Decision,
    Figures,
    Input,
    Kernel,
    Keys,
    Layout,
    StateStore,
    at_or_below,
    event_times,
)
from .frames import Emitted, PandasSettings, series_of, slices
from .functions import UserFunction, users_code
from .groups import Groups, in_key_order, named, together
from .tables import REMOVED, UPDATED, Table, Timers
from .variables import Declared, Variable, layouts

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, TimerValues

Rows = Literal["pandas", "python_row"]
_NO_TIME = -1
_PER_STORE = {"value": "numValueState", "list": "numListState", "map": "numMapState"}


@dataclass(frozen=True, kw_only=True)
class InitialColumns:
    """The columns of an initial state's rows among those of all rows.

    Attributes:
        tag: says whether a row is one.
        columns: which of the columns it has.
        names: how the processor knows them.
    """

    tag: int
    columns: tuple[int, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ProcessorKernel(Kernel):
    """Calls a processor for each key that has rows, then for each timer that has expired.

    Timers that expire while timers are handled wait for the next batch; those registered while rows
    are handled do not.

    Attributes:
        rows, keys, emits, function, settings, now_ms, watermark_ms, time, late: as for
            `GroupStateKernel`; rows are late only where timers go by event time.
        names: how the processor knows the keys.
        rows_as: what it gets.
        variables: those that it declares.
        deleted: names of variables that it deletes.
        time_mode: NoTime, ProcessingTime or EventTime.
        initial: where the initial state's rows are, in the first batch.
    """

    rows: Any
    keys: tuple[int, ...]
    names: tuple[str, ...]
    emits: Any
    function: UserFunction
    rows_as: Rows
    variables: tuple[Variable, ...]
    deleted: tuple[str, ...]
    time_mode: str
    settings: PandasSettings
    now_ms: int
    watermark_ms: int | None = None
    time: int | None = None
    late: int | None = None
    initial: InitialColumns | None = None

    @property
    def key_schema(self) -> Any:
        """The Arrow schema of the keys."""
        return pa.schema([self.rows.field(i) for i in self.keys])

    @property
    def layouts(self) -> Mapping[str, Layout]:
        return layouts(self.variables, self.key_schema, self.time_mode)

    @property
    def input(self) -> Any:
        return self.rows

    @property
    def output(self) -> Any:
        return self.emits

    @property
    def evictions(self) -> Mapping[str, int | None]:
        # Timers may be deleted, and times to live be set anew: all changes are written.
        return dict.fromkeys(self.layouts)

    @property
    def per_store(self) -> Mapping[str, int]:
        found: Counter[str] = Counter()
        for variable in self.variables:
            suffix = "Vars" if variable.ttl_ms is None else "WithTTLVars"
            found[_PER_STORE[variable.kind] + suffix] += 1
        found["numDeletedStateVars"] += len(self.deleted)
        return +found

    @property
    def threshold_ms(self) -> int | None:
        """Up to which time timers have expired."""
        match self.time_mode:
            case "ProcessingTime":
                return self.now_ms
            case "EventTime":
                return self.watermark_ms
        return None

    def decide(self, rows: Input, stores: Mapping[str, StateStore]) -> Decision:
        kept, dropped = self._without_late(rows)
        groups = Groups.of(kept, self.keys, self.key_schema)
        keys, (with_rows, *_) = together([groups.keys, *self._past(stores)])
        run = _Run(self, keys, stores)
        run.begin()
        for number in in_key_order(groups.keys.columns, np.arange(len(groups.keys))):
            run.with_rows(int(with_rows[number]), groups.rows_of(number))
        run.expired_timers()
        return run.end(dropped)

    def _without_late(self, rows: Input) -> tuple[Input, int]:
        if self.time is None or self.time_mode != "EventTime":
            return rows, 0
        late: Mask = at_or_below(event_times(rows.rows.column(self.time)), self.late)
        return (rows.take(np.flatnonzero(~late)), int(late.sum())) if late.any() else (rows, 0)

    def _past(self, stores: Mapping[str, StateStore]) -> Iterator[Keys]:
        """The keys of timers and values that have expired."""
        for variable in self.variables:
            if variable.ttl_ms is not None:
                layout = self.layouts[variable.part]
                found = stores[variable.part].expired(self.now_ms * 1000, layout.empty_keys())
                yield found.keys
        if self.threshold_ms is not None:
            none = self.layouts[TIMERS].empty_keys()
            yield stores[TIMERS].expired(self.threshold_ms * 1000, none).keys


class _Run:
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
        """Note an error that ends the batch, whoever catches it."""
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

    def with_rows(self, place: int, rows: Any) -> None:
        """Call the processor for a key that has rows."""
        kernel, self.place = self._kernel, place
        initial, data = None, rows
        if kernel.initial is not None:
            tags = rows.column(kernel.initial.tag)
            initial, data = rows.filter(tags), rows.filter(pc.invert(tags))
        first = rows.slice(0, 1)
        with users_code(self):
            key = self._key(named(first, kernel.keys, kernel.names))
            if initial is not None and kernel.initial is not None:
                given = named(initial, kernel.initial.columns, kernel.initial.names)
                for one in self._given(given):
                    self._processor.handleInitialState(key, one, self._timer_values)
            if data.num_rows:
                given = self._given(kernel.function.given(data))
                values = self._timer_values
                self._take(self._processor.handleInputRows(key, given, values))

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

    @property
    def _timer_values(self) -> TimerValues:
        from pyspark.sql.streaming.stateful_processor import TimerValues

        if self.time_mode == "NoTime":
            return TimerValues(_NO_TIME, _NO_TIME)
        return TimerValues(self._kernel.now_ms, self._kernel.watermark_ms or 0)

    def _key(self, columns: Any) -> tuple[Any, ...]:
        if self._kernel.rows_as == "python_row":
            return tuple(column[0].as_py() for column in columns.columns)
        return tuple(next(_tuples(columns, self._kernel.settings)))

    def _given(self, rows: Any) -> Iterator[Any]:
        """Rows as the processor gets them."""
        import pandas as pd
        from pyspark.sql.types import Row

        if self._kernel.rows_as == "python_row":
            as_row = Row(*rows.schema.names)
            for i in range(rows.num_rows):
                yield as_row(*(column[i].as_py() for column in rows.columns))
            return
        for chunk in slices(rows, self._kernel.settings):
            yield pd.DataFrame(list(_tuples(chunk, self._kernel.settings)))

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


def _tuples(rows: Any, settings: PandasSettings) -> Iterator[tuple[Any, ...]]:
    import pandas as pd

    frame = pd.concat(series_of(rows, settings), axis=1)
    return iter(frame.itertuples(index=False))


def processor_of(function: Any) -> StatefulProcessor:
    """The processor of a function as PySpark's client sends it: a method bound to it."""
    found: StatefulProcessor = function.__self__._stateful_processor
    return found


def parsed(text: str) -> Any:
    """A schema in PySpark's classes of its text."""
    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(json.dumps(parse_schema(text).json)))


@dataclass
class _Declaring:
    """The task of a handle that only takes declarations."""

    declared: Declared
    time_mode: str
    timers: Timers | None = None
    state: str = "PRE_INIT"
    place: int | None = None
    failure: KernelError | None = None

    def fail(self, error: KernelError) -> KernelError:
        self.failure = self.failure or error
        return error

    def table(self, variable: Variable) -> Table:
        raise AssertionError(f"{variable.name} has no rows before there is a task")


def declared(function: UserFunction, time_mode: str) -> Declared:
    """The variables that a processor declares.

    Raises:
        KernelError: its `init` fails, or declares what Spark refuses.
    """
    from .handle import Handle

    task = _Declaring(Declared(time_mode), time_mode)
    processor = processor_of(function.load()[0])
    with users_code(task):
        processor.init(Handle(task, parsed))
        processor.close()
    return task.declared
