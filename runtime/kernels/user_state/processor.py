"""`transformWithState`: a processor with state variables and timers of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...state import NEVER
from ...state.parts import TIMERS, variable_part
from ..errors import KernelError
from ..kernel import Decision, Input, Kernel, Keys, Layout, StateStore
from .calls import Run, parsed, processor_of
from .functions import UserFunction, users_code
from .groups import Groups, in_key_order, together
from .kernel import UserStateKernel
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
class ProcessorKernel(UserStateKernel, Kernel):
    """Calls a processor for each key that has rows, then for each timer that has expired.

    Timers that expire while timers are handled wait for the next batch; those registered while rows
    are handled do not.

    Attributes:
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

    names: tuple[str, ...]
    rows_as: Rows
    variables: tuple[Variable, ...]
    deleted: tuple[str, ...]
    taken_back: int
    time_mode: str
    initial: InitialColumns | None = None
    by_name: bool = False
    emitted_time: int | None = None

    @property
    def layouts(self) -> Mapping[str, Layout]:
        return layouts(self.variables, self.key_schema, self.time_mode, by_name=self.by_name)

    @property
    def in_event_time(self) -> bool:
        return self.time_mode == "EventTime"

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
        kept, dropped = self.without_late(rows)
        groups = Groups.of(kept, self.keys, self.key_schema)
        keys, (with_rows, *_) = together([groups.keys, *self._past(stores)])
        run = Run(self, keys, stores)
        run.begin()
        numbers = in_key_order(groups.keys.columns, np.arange(len(groups.keys)))
        run.with_rows(groups, numbers, with_rows)
        run.expired_timers()
        return run.end(dropped)

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
