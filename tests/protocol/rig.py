"""A query's driver and its tasks without Spark: the loop, the kernel's task, the state, the logs.

Only the engine is made up: a DataFrame is a list of keys, and an action runs the tasks here.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from stateplan.physical.basic import StreamingRelationExec
from stateplan.physical.state import StatefulOperatorStateInfo
from stateplan.physical.stateful import StreamingDeduplicateExec
from stateplan.planner.model.expressions.core import AttributeReference
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.schemas.types import LONG
from stateplan.planner.model.settings.conf import Conf
from stateplan.runtime.batch_progress import RunIdentity
from stateplan.runtime.checkpoint import RETAIN, Checkpoint
from stateplan.runtime.claim import Holder
from stateplan.runtime.engines.batch import prepare
from stateplan.runtime.engines.engine import Engine
from stateplan.runtime.files import failing
from stateplan.runtime.kernels.kernel import (
    Figures,
    Input,
    Keys,
    Layout,
    OneStoreKernel,
    Outcome,
    StateRows,
)
from stateplan.runtime.kernels.task import run_task
from stateplan.runtime.micro_batch import MicroBatchExecution
from stateplan.runtime.offsets import recover
from stateplan.runtime.plan import EngineFacts, RuntimePlans
from stateplan.runtime.sinks.base import Sink
from stateplan.runtime.sources.base import Source
from stateplan.runtime.state import Location, RunStore, load_version
from stateplan.runtime.state.rows import never
from stateplan.runtime.task_choice import TaskChoice

BATCHES: Sequence[Sequence[int]] = ((1, 2), (2, 3), (1, 4), (5,), (1, 2, 3), (6, 7), (7, 8), (1,))
"""The keys in the rows of each batch."""

RETAINED = 2
STATE = pa.schema([pa.field("k", pa.int64())]), pa.schema([pa.field("n", pa.int64())])
COUNTED = pa.schema([*STATE[0], *STATE[1]])
LAYOUT = Layout(*STATE, False)
CONF = Conf({"spark.sql.shuffle.partitions": "2"})


def counts(batches: int) -> dict[int, int]:
    """The state after so many batches: how often each key came."""
    keys = [key for batch in BATCHES[:batches] for key in batch]
    return {key: keys.count(key) for key in keys}


def emitted(batches: int) -> dict[int, Any]:
    """What the sink holds after so many batches: of each key that came, its count."""
    return {
        n: tuple(sorted((k, v) for k, v in counts(n + 1).items() if k in BATCHES[n]))
        for n in range(batches)
    }


def kept(batches: int, versions: int = RETAINED) -> tuple[int, list[dict[int, int]]]:
    """What `visible` gives after so many batches."""
    return batches, [counts(n) for n in range(max(0, batches - versions) + 1, batches + 1)]


@dataclass(frozen=True)
class Count(OneStoreKernel):
    """Counts rows by key."""

    layout: Layout = LAYOUT
    input: Any = STATE[0]
    output: Any = COUNTED
    evicts: int | None = None

    def run(self, rows: Input, store: Any) -> Outcome:
        order = np.argsort(rows.hashes, kind="stable")
        rows = rows.take(order)
        keys = rows.keys((0,), STATE[0])
        queries, found = store.get(keys)
        n = np.ones(len(keys), np.int64)
        n[queries] += found.values.column(0).to_numpy()
        values = pa.RecordBatch.from_arrays([pa.array(n)], schema=STATE[1])
        out = [keys.columns.column(0), values.column(0)]
        added = len(keys) - len(queries)
        return Outcome(
            pa.RecordBatch.from_arrays(out, schema=self.output),
            StateRows(keys, never(len(keys)), values),
            Figures(updated=len(keys), added=added),
        )


class Rows(Source):
    """One batch of keys after the other."""

    def __init__(self, batches: int) -> None:
        self.schema = parse_schema("k BIGINT")
        self._batches = batches

    @property
    def description(self) -> str:
        return "rows"

    def latest_offset(self, start: Any, *, unlimited: bool = False) -> Any:
        return min((start or 0) + 1, self._batches)

    def batch_rows(self, start: Any, end: Any) -> int:
        return len(BATCHES[end - 1])

    def batch(self, spark: Any, start: Any, end: Any) -> Any:
        return Frame(BATCHES[end - 1])


@dataclass(frozen=True)
class Frame:
    """A DataFrame of keys; columns may be named, no more."""

    keys: Sequence[int]

    def toDF(self, *names: str) -> Frame:
        return self

    def selectExpr(self, *columns: str) -> Frame:
        return self


@dataclass(frozen=True)
class Counted(Frame):
    """The rows of the operator: running it runs each task, twice as speculation does."""

    spec: Any
    reports: list[str]

    def collect(self) -> tuple[tuple[int, int], ...]:
        return [self._run() for _ in range(2)][-1]

    def _run(self) -> tuple[tuple[int, int], ...]:
        self.reports.clear()
        rows: list[Any] = []
        for task in range(self.spec.tasks):
            mine = [k for k in self.keys if k % self.spec.tasks == task]
            batch = pa.RecordBatch.from_arrays(
                [
                    pa.array(mine, pa.int32()),
                    pa.array(mine, pa.int64()),
                    pa.array(mine, pa.int64()),
                ],
                names=["place", "hash", "k"],
            )
            for part in run_task(self.spec, task, iter([batch]), self.reports.append):
                rows += zip(*(c.to_pylist() for c in part.columns), strict=True)
        return tuple(sorted(rows))

    def texts(self, deadline: float) -> tuple[list[str], int]:
        """As the operator's reports: what the tasks told."""
        return self.reports, len(self.reports)


class Collecting(Sink):
    """Runs the batch; its rows, under its number, are there once it is published."""

    one_action = True

    def __init__(self, emit: Callable[[int, Any], None]) -> None:
        self._emit = emit
        self._held: tuple[int, Any] | None = None

    @property
    def description(self) -> str:
        return "collecting"

    def attach(self, *_: Any) -> None:
        return

    def write(self, frame: Any, batch_id: int) -> int | None:
        self._held = batch_id, frame.collect()
        return None

    def publish(self) -> None:
        assert self._held is not None
        self._emit(*self._held)


class Planned:
    """One operator that keeps state."""

    def for_batch(self, batch_id: int, late_ms: int, eviction_ms: int) -> Any:
        key = AttributeReference(name="k", type_=LONG)
        info = StatefulOperatorStateInfo(
            checkpoint_location="c", run_id="r", operator_id=0, version=batch_id, num_partitions=2
        )
        relation = StreamingRelationExec(name="events", format="rows", attributes=(key,))
        return StreamingDeduplicateExec(child=relation, keys=(key,), state_info=info)

    def should_run_another_batch(self, new_watermark_ms: int, executed: Any = None) -> bool:
        return False


class ByHand(Engine):
    """The engine: runs a kernel's tasks when its rows are collected."""

    facts = EngineFacts(name="by hand", hashes=False, repeats=False)
    spark: Any = None

    def exchange(self, frame: Any, to: str, keys: Sequence[str], tasks: int) -> Any:
        return frame

    def run_kernel(self, frame: Any, node: Any, spec: Any) -> tuple[Any, Any]:
        counted = Counted(frame.keys, replace(spec, names=tuple(COUNTED.names)), [])
        return counted, counted

    def setting(self, name: str, usual: str) -> str:
        return usual

    def _unused(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    configure = task_count = aggregate = keep = drop_rows = close = _unused
    observe = observe_event_times = _unused


def run_query(
    root: Location,
    who: str,
    emit: Callable[[int, Any], None],
    batches: int,
    retained: int = RETAINED,
) -> None:
    """A driver's whole life: claim the checkpoint, run what is to run, let it go."""
    opened = Checkpoint.open(root, Holder(run_id=who, host="h", pid=1, since="now"))
    try:
        with failing(root), opened.naming_the_newer_run():
            position, conf = recover(opened, ["events"], CONF.updated({RETAIN: str(retained)}))
            opened.settle()
            run = MicroBatchExecution(
                engine=ByHand(),
                identity=RunIdentity(id=opened.id, run_id=who, name=None),
                planned=Planned(),
                prepare=partial(prepare, plans=RuntimePlans()),
                sources={"events": Rows(batches)},
                tables={},
                readers={},
                sink=Collecting(emit),
                checkpoint=opened,
                position=position,
                conf=conf,
                tasks=TaskChoice(most=1),
                now_ms=lambda: 7,
            )
            with counting():
                while run.run_trigger() is not None:
                    pass
    finally:
        opened.release()


def visible(root: Location, versions: int = RETAINED) -> tuple[int, list[dict[int, int]]]:
    """How many batches are committed, and the state after each of those that are kept.

    Args:
        root: the checkpoint.
        versions: how many to read at most, back from the newest.
    """
    log = Checkpoint(root, "").commit_log
    latest = log.latest()
    if latest is None:
        return 0, []
    found = []
    for batch in range(max(0, latest - versions + 1), latest + 1):
        commit = Checkpoint(root, "").commit(batch)
        assert commit is not None
        place = root / "state" / "0" / "runs"
        version = load_version(place, batch + 1, 2, commit.stateAttempt)
        none = np.empty(0, np.int64), np.empty(0, np.int32)
        rows = RunStore(place, version, LAYOUT, 1, 0, "reader").scan(
            Keys(*none, LAYOUT.empty_keys().columns)
        )
        names, values = rows.keys.columns.column(0), rows.values.column(0)
        found.append(dict(zip(names.to_pylist(), values.to_pylist(), strict=True)))
    return latest + 1, found


@contextmanager
def counting() -> Iterator[None]:
    """The operator counts; old files are looked for after every batch."""
    batch = "stateplan.runtime.engines.batch"
    with (
        mock.patch(f"{batch}._TIDY_EVERY", 1),
        mock.patch(f"{batch}.kernel_of", lambda node, conf: Count()),
    ):
        yield


@contextmanager
def repeatable(who: str) -> Iterator[None]:
    """Names and times that are the same whenever a process is run again."""
    numbers = itertools.count()

    def name() -> str:
        return f"{who}{next(numbers):03}z"

    clock = types.SimpleNamespace(
        time_ns=lambda: next(numbers), perf_counter=lambda: 0.0, monotonic=lambda: 0.0
    )
    package = "stateplan.runtime"
    with (
        mock.patch("uuid.uuid4", name),
        mock.patch(f"{package}.checkpoint.uuid4", name),
        mock.patch(f"{package}.kernels.task.time", clock),
    ):
        yield
