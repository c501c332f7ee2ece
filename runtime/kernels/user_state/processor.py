"""`transformWithState`: a processor with state variables and timers of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from ...state import NEVER
from ...state.parts import TIMERS, variable_part
from ...state.rows import Mask
from ..errors import KernelError
from ..kernel import Decision, Input, Kernel, Keys, Layout, StateStore, at_or_below, event_times
from .calls import Run, parsed, processor_of
from .frames import PandasSettings
from .functions import UserFunction, users_code
from .groups import Groups, in_key_order, together
from .tables import Table, Timers
from .variables import Declared, Variable, layouts

Rows = Literal["pandas", "python_row"]
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
        taken_back: how many of them it has declared itself.
        time_mode: NoTime, ProcessingTime or EventTime.
        initial: where the initial state's rows are, in the first batch.
        by_name: whether fields of a variable are known by name when its schema changes.
        emitted_time: the column of what it returns that must not be late.
    """

    rows: Any
    keys: tuple[int, ...]
    names: tuple[str, ...]
    emits: Any
    function: UserFunction
    rows_as: Rows
    variables: tuple[Variable, ...]
    deleted: tuple[str, ...]
    taken_back: int
    time_mode: str
    settings: PandasSettings
    now_ms: int
    watermark_ms: int | None = None
    time: int | None = None
    late: int | None = None
    initial: InitialColumns | None = None
    by_name: bool = False
    emitted_time: int | None = None

    @property
    def key_schema(self) -> Any:
        """The Arrow schema of the keys."""
        return pa.schema([self.rows.field(i) for i in self.keys])

    @property
    def layouts(self) -> Mapping[str, Layout]:
        return layouts(self.variables, self.key_schema, self.time_mode, by_name=self.by_name)

    @property
    def input(self) -> Any:
        return self.rows

    @property
    def users_function(self) -> UserFunction:
        return self.function

    @property
    def output(self) -> Any:
        return self.emits

    @property
    def evictions(self) -> Mapping[str, int | None]:
        # Timers may be deleted, and times to live be set anew: all changes are written.
        kept: dict[str, int | None] = dict.fromkeys(self.layouts)
        # What an earlier run kept of a variable goes as a whole.
        gone = {part: NEVER for part in map(variable_part, self.deleted) if part not in kept}
        return {**kept, **gone}

    @property
    def per_store(self) -> Mapping[str, int]:
        found: Counter[str] = Counter()
        for variable in self.variables:
            suffix = "Vars" if variable.ttl_ms is None else "WithTTLVars"
            found[_PER_STORE[variable.kind] + suffix] += 1
        found["numDeletedStateVars"] += self.taken_back
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
        run = Run(self, keys, stores)
        run.begin()
        numbers = in_key_order(groups.keys.columns, np.arange(len(groups.keys)))
        run.with_rows(groups, numbers, with_rows)
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
