"""Functions with state of the user's own, without Spark: values, calls, errors, tasks."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import types as T
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.stateful_processor_util import TransformWithStateInPandasUdfUtils

from stateplan.runtime.kernels.errors import KernelError
from stateplan.runtime.kernels.hashes.rows import hashes_of, places_of
from stateplan.runtime.kernels.kernel import Decision, Input, Kernel
from stateplan.runtime.kernels.user_state.frames import Frames, PandasSettings, series_of
from stateplan.runtime.kernels.user_state.functions import UserFunction
from stateplan.runtime.kernels.user_state.group_state import GroupStateKernel
from stateplan.runtime.kernels.user_state.processor import ProcessorKernel, declared
from stateplan.runtime.kernels.user_state.unsafe_rows import order_of_key, order_of_time
from stateplan.runtime.kernels.user_state.values import arrow_of, from_arrow, internal, to_arrow
from stateplan.runtime.state import RunStore, StateVersion, schema_text
from stateplan.runtime.state.version import task_of

ROWS = pa.schema([("user", pa.string()), ("n", pa.int32())])
LINES = pa.schema([("line", pa.string())])
LINE = T.StructType().add("line", "string")
Batch = list[tuple[str, int]]


def line(text: object) -> pd.DataFrame:
    return pd.DataFrame({"line": [str(text)]})


def sent(function: Any, returned: T.StructType = LINE) -> UserFunction:
    command = cloudpickle.dumps((function, returned))  # type: ignore[no-untyped-call]
    return UserFunction(command=command, columns=(0, 1), names=("user", "n"))


@dataclass
class Query:
    """Runs a kernel in several tasks, batch after batch, over state on disk."""

    location: str
    made: Callable[[int], Kernel]
    version: StateVersion = field(default_factory=lambda: StateVersion(0, 6))
    decisions: list[Decision] = field(default_factory=list)

    def run(self, rows: Batch, tasks: int = 1) -> list[str]:
        """The lines of a batch, in the order of the tasks."""
        kernel = self.made(self.version.version)
        batch = pa.RecordBatch.from_arrays(
            [pa.array(list(c), f.type) for c, f in zip(zip(*rows, strict=True), ROWS, strict=True)]
            if rows
            else [pa.array([], f.type) for f in ROWS],
            schema=ROWS,
        )
        keys = [batch.column(0)]
        places, hashes = places_of(keys, len(rows)), hashes_of(keys, len(rows))
        writes, self.decisions = [], []
        for task in range(tasks):
            own = np.flatnonzero(task_of(places, tasks) == task)
            parts = kernel.layouts.items()
            attempt = f"{self.version.version}-{tasks}"
            stores = {
                part: RunStore(self.location, self.version, layout, tasks, task, attempt, part)
                for part, layout in parts
            }
            decision = kernel.decide(Input(hashes, places, batch).take(own), stores)
            for part, changes in decision.changes.items():
                writes.append(stores[part].commit(changes.rows, None, changes.touched))
            self.decisions.append(decision)
        added = sum(d.figures.added for d in self.decisions)
        schema = schema_text(kernel.layouts)
        self.version = self.version.next(
            writes, schema=schema, added=added, evicted=kernel.evictions
        )
        return [str(t) for d in self.decisions for t in d.output[0].column(0).to_pylist()]


# ------------------------------------------------------------------------------------- one state


def one_state(function: Any, timeout: str = "NoTimeout", **more: Any) -> Callable[[int], Kernel]:
    def made(version: int) -> Kernel:
        return GroupStateKernel(
            rows=ROWS,
            keys=(0,),
            emits=LINES,
            function=sent(function),
            state=T.StructType().add("n", "integer").json(),
            timeout=timeout,
            settings=PandasSettings(),
            now_ms=1000 * version,
            **more,
        )

    return made


def test_a_state_lives_on_whatever_the_tasks(tmp_path: Path) -> None:
    def count(key: Any, frames: Any, state: Any) -> Iterator[pd.DataFrame]:
        total = (state.getOption or (0,))[0] + sum(int(f["n"].sum()) for f in frames)
        state.update((np.int64(total),))
        yield line((key[0], total))

    query = Query(str(tmp_path), one_state(count))
    users = ["ann", "bob", "cy", "dora"]
    for tasks in (3, 1, 2, 6):
        query.run([(user, 1) for user in users], tasks)
    assert sorted(query.run([(user, 1) for user in users], 2)) == [f"('{u}', 5)" for u in users]
    assert query.version.total == 4


def test_a_timeout_fires_until_the_function_answers_it(tmp_path: Path) -> None:
    def remember(key: Any, frames: Any, state: Any) -> Iterator[pd.DataFrame]:
        rows = [n for frame in frames for n in frame["n"]]
        if state.hasTimedOut and state.oldTimeoutTimestamp == -1 and state.getOption == (2,):
            state.remove()
        elif rows:
            state.update((rows[0],))
            state.setTimeoutDuration(1500)
        yield line((key[0], state.hasTimedOut, rows, state.getOption))

    query = Query(str(tmp_path), one_state(remember, "ProcessingTimeTimeout"))
    query.run([("ann", 1), ("bob", 2)])
    assert query.run([]) == []  # at 1000
    gone = query.run([], 2)  # at 2000, after 1500
    assert sorted(gone) == ["('ann', True, [], (1,))", "('bob', True, [], None)"]
    assert query.run([]) == ["('ann', True, [], (1,))"]
    # Rows come first; the timeout that they leave as it was has passed all the same.
    assert query.run([("ann", 7)]) == ["('ann', False, [7], (7,))"]
    assert query.version.total == 1


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda: line(1), r"Return type .* should be iterable of pandas.DataFrame"),
        (lambda: [1], "should be iterator of pandas.DataFrame, but is iterator of int"),
        (lambda: 1, "should be iterable, but is int"),
        (lambda: [pd.DataFrame({"a": [1], "b": [2]})], "RESULT_COLUMN_SCHEMA_MISMATCH"),
        (lambda: [pd.DataFrame({"other": ["x"]})], "KeyError"),
        (lambda: {}["x"], "KeyError: 'x'"),
    ],
)
def test_what_a_function_must_return(tmp_path: Path, returned: Any, message: str) -> None:
    query = Query(str(tmp_path), one_state(lambda key, frames, state: returned()))
    with pytest.raises(KernelError, match=message) as failed:
        query.run([("ann", 1)])
    assert failed.value.condition == "PYTHON_EXCEPTION"


# ------------------------------------------------------------------------------------ processors


class Says(StatefulProcessor):
    """Runs the user's lambdas: `start` in init, `act` for rows."""

    def __init__(self, start: Any, act: Any = None) -> None:
        self._start, self._act = start, act

    def init(self, handle: Any) -> None:
        self._handle = handle
        self._made = self._start(handle)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        for frame in rows:
            for n in frame["n"]:
                yield line((key[0], self._act(self._handle, self._made, n)))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
        yield line((key.user, "timer", expiredTimerInfo.getExpiryTimeInMs()))


def processor(
    made: Says, time_mode: str = "NoTime", *, by_name: bool = False
) -> Callable[[int], Kernel]:
    function = sent(TransformWithStateInPandasUdfUtils(made, time_mode).transformWithStateUDF)

    def kernel(version: int) -> Kernel:
        found = declared(function, time_mode)
        return ProcessorKernel(
            rows=ROWS,
            keys=(0,),
            names=("user",),
            emits=LINES,
            function=function,
            rows_as="pandas",
            variables=tuple(found.variables.values()),
            deleted=tuple(found.deleted),
            taken_back=found.taken_back,
            time_mode=time_mode,
            settings=PandasSettings(),
            now_ms=1000 * version,
            by_name=by_name,
        )

    return kernel


def test_timers_of_the_past_fire_at_once_and_those_of_timers_later(tmp_path: Path) -> None:
    def act(handle: Any, made: Any, n: int) -> list[int]:
        for time in (500, 2500, n):
            handle.registerTimer(time)
        handle.deleteTimer(2500)
        return sorted(handle.listTimers())

    query = Query(str(tmp_path), processor(Says(lambda handle: None, act), "ProcessingTime"))
    query.run([])
    assert query.run([("ann", 2000)]) == ["('ann', [500, 2000])", "('ann', 'timer', 500)"]
    assert query.decisions[0].figures.custom == {"numRegisteredTimers": 3, "numDeletedTimers": 2}
    assert query.run([], 3) == ["('ann', 'timer', 2000)"]
    assert query.run([]) == []


def test_a_value_expires(tmp_path: Path) -> None:
    def act(handle: Any, made: Any, n: int) -> Any:
        before = [list(made.get()), made.exists()]
        if n:
            made.appendValue((n,))
        return before

    start = Says(lambda handle: handle.getListState("seen", "n INT", 1500), act)
    query = Query(str(tmp_path), processor(start, "ProcessingTime"))
    assert query.run([("ann", 1)]) == ["('ann', [[], False])"]
    assert query.run([("ann", 2)]) == ["('ann', [[(1,)], True])"]
    assert query.run([("ann", 0)], 2) == ["('ann', [[(2,)], True])"]
    assert sum(d.figures.removed for d in query.decisions) == 1
    query.run([])
    assert (query.version.total, query.decisions[0].figures.removed) == (0, 1)


NAMED = "STATE_STORE_CANNOT_USE_COLUMN_FAMILY_WITH_INVALID_NAME"
HANDLE = "STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_HANDLE_STATE"


@pytest.mark.parametrize(
    ("start", "time_mode", "condition"),
    [
        (lambda h: [h.getValueState("a", "n INT"), h.getListState("a", "n INT")], "NoTime", "DUPL"),
        (lambda h: h.getValueState("a", "n INT", 5), "EventTime", "INCORRECT_TIME_MODE"),
        (lambda h: h.getValueState("a", "n INT", -5), "ProcessingTime", "MUST_BE_POSITIVE"),
        (lambda h: h.getValueState("", "n INT"), "NoTime", NAMED),
        (lambda h: h.getValueState("$a", "n INT"), "NoTime", "WITH_RESERVED_CHARS"),
        (lambda h: h.registerTimer(5), "EventTime", HANDLE),
        (lambda h: h.registerTimer(5), "NoTime", "INVALID_TIME_MODE"),
        (lambda h: h.getValueState("a", "n INT").get(), "NoTime", "INTERNAL_ERROR_TWS"),
        (lambda h: {}["x"], "NoTime", "PYTHON_EXCEPTION"),
    ],
)
def test_declarations_that_are_refused(start: Any, time_mode: str, condition: str) -> None:
    with pytest.raises(KernelError, match=condition):
        processor(Says(start), time_mode)(0)


@pytest.mark.parametrize(
    ("act", "condition"),
    [
        (lambda h, v, n: h.getValueState("b", "n INT"), HANDLE),
        (lambda h, v, n: v.put([]), "ILLEGAL_STATE_STORE_VALUE.EMPTY_LIST_VALUE"),
        (lambda h, v, n: v.appendList([]), "ILLEGAL_STATE_STORE_VALUE.EMPTY_LIST_VALUE"),
        (lambda h, v, n: v.appendValue((1, 2)), "STATEPLAN_STATE_VALUE"),
        (lambda h, v, n: list(h.listTimers()), "INVALID_TIME_MODE"),
    ],
)
def test_calls_that_end_the_batch_whoever_catches_them(
    tmp_path: Path, act: Any, condition: str
) -> None:
    def caught(handle: Any, made: Any, n: int) -> str:
        try:
            act(handle, made, n)
        except Exception:
            return "caught"
        return "none"

    made = Says(lambda handle: handle.getListState("a", "n INT"), caught)
    with pytest.raises(KernelError, match=condition):
        Query(str(tmp_path), processor(made)).run([("ann", 1)])


# What a live Spark 4.3 says of each call to a variable that `init` has deleted again.
DELETED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "v.exists": (lambda s: s.exists(), "Error checking value state exists: Value state v"),
    "v.get": (lambda s: s.get(), "Error getting value state: Value state v"),
    "v.update": (lambda s: s.update((1,)), "Error updating value state: Value state v"),
    "v.clear": (lambda s: s.clear(), "Error clearing value state: Value state v"),
    "l.exists": (lambda s: s.exists(), "Error checking list state exists: List state l"),
    "l.get": (lambda s: list(s.get()), ""),
    "l.put": (lambda s: s.put([(1,)]), "Error updating value state: List state l"),
    "l.append": (lambda s: s.appendValue((1,)), "Error updating value state: List state l"),
    "l.extend": (lambda s: s.appendList([(1,)]), "Error updating value state: List state l"),
    "l.clear": (lambda s: s.clear(), "Error clearing value state: List state l"),
    "m.exists": (lambda s: s.exists(), "Error checking map state exists: Map state m"),
    "m.get": (lambda s: s.getValue((1,)), "Error getting value: Map state m"),
    "m.contains": (
        lambda s: s.containsKey((1,)),
        "Error checking if map state contains key: Map state m",
    ),
    "m.update": (
        lambda s: s.updateValue((1,), (2,)),
        "Error updating map state value: Map state m",
    ),
    "m.iterator": (lambda s: list(s.iterator()), ""),
    "m.keys": (lambda s: list(s.keys()), ""),
    "m.values": (lambda s: list(s.values()), ""),
    "m.remove": (lambda s: s.removeKey((1,)), "Error removing key from map state: Map state m"),
    "m.clear": (lambda s: s.clear(), "Error clearing map state: Map state m"),
}


def test_a_variable_that_is_deleted_again_is_not_initialized(tmp_path: Path) -> None:
    def start(handle: Any) -> dict[str, Any]:
        made = {
            "v": handle.getValueState("v", "v INT"),
            "l": handle.getListState("l", "v INT"),
            "m": handle.getMapState("m", "k INT", "v INT"),
        }
        for name in made:
            handle.deleteIfExists(name)
        return made

    def act(handle: Any, made: Any, n: int) -> int:
        for name, (call, told) in DELETED.items():
            state = made[name[0]]
            if told:
                with pytest.raises(PySparkRuntimeError) as raised:
                    call(state)
                assert str(raised.value) == f"{told} is not initialized."
            else:
                assert call(state) == []
        return len(DELETED)

    query = Query(str(tmp_path), processor(Says(start, act)))
    assert query.run([("ann", 1)]) == ["('ann', 19)"]


def test_a_variable_may_be_added(tmp_path: Path) -> None:
    def old(handle: Any, made: Any, n: int) -> None:
        made.update((n,))

    def new(handle: Any, made: Any, n: int) -> Any:
        made[1].updateValue((n,), (n,))
        return made[0].get(), list(made[1].keys())

    query = Query(str(tmp_path), processor(Says(lambda h: h.getValueState("a", "n INT"), old)))
    query.run([("ann", 1)])
    start = Says(
        lambda h: [h.getValueState("a", "n INT"), h.getMapState("b", "k INT", "v INT")], new
    )
    query.made = processor(start)
    assert query.run([("ann", 2)]) == ["('ann', ((1,), [(2,)]))"]


@pytest.mark.parametrize(
    ("schema", "by_name", "found"),
    [
        ("b STRING, c INT, a BIGINT", True, "[('x', None, 1)]"),
        ("a DOUBLE", True, "[(1.0,)]"),
        ("other INT, name STRING", False, "[(1, 'x')]"),
    ],
)
def test_a_variable_has_another_schema(
    tmp_path: Path, schema: str, by_name: bool, found: str
) -> None:
    def put(handle: Any, made: Any, n: int) -> None:
        made.appendValue((n, "x"))

    old = Says(lambda h: h.getListState("a", "a INT, b STRING"), put)
    query = Query(str(tmp_path), processor(old, by_name=by_name))
    query.run([("ann", 1)])
    new = Says(lambda h: h.getListState("a", schema), lambda handle, made, n: list(made.get()))
    query.made = processor(new, by_name=by_name)
    assert query.run([("ann", 2)], 2) == [f"('ann', {found})"]


# ---------------------------------------------------------------------------------------- values

MANY = T.StructType.fromJson(
    {
        "type": "struct",
        "fields": [
            {"name": f"f{i}", "type": kind, "nullable": True, "metadata": {}}
            for i, kind in enumerate(
                [
                    *("byte", "long", "float", "double", "decimal(5,2)", "date", "timestamp"),
                    *("string", "binary", "boolean", "timestamp_ntz"),
                    {"type": "array", "elementType": "integer", "containsNull": True},
                    {
                        "type": "map",
                        "keyType": "string",
                        "valueType": "timestamp",
                        "valueContainsNull": True,
                    },
                ]
            )
        ],
    }
)
MOMENT = dt.datetime(2020, 1, 2, 3, 4, 5, 6)
VALUES = (
    *(300, 2**63 - 1, 0.1, 0.1, decimal.Decimal("1.235"), MOMENT.date(), MOMENT, 5, b"a", True),
    *(MOMENT, [1, None, 2**31], {"a": MOMENT, "b": None}),
)


def test_values_go_through_files() -> None:
    value = internal(VALUES, MANY)
    assert value is not None
    assert value[:5] == (44, 2**63 - 1, np.float32(0.1), 0.1, decimal.Decimal("1.24"))
    assert (value[7], value[11]) == ("5", [1, None, -(2**31)])
    nothing = tuple(None for _ in VALUES)
    column = to_arrow([value, None, nothing], MANY)
    assert column.type == arrow_of(MANY)
    assert from_arrow(column, MANY) == [value, None, nothing]
    shown = MANY.fromInternal(value)
    assert (shown.f5, shown.f6, shown.f12) == (MOMENT.date(), MOMENT, {"a": MOMENT, "b": None})


SMALL = ("integer", "double", "boolean", "string", "decimal(3,1)")


def test_what_does_not_fit_a_type_is_null() -> None:
    schema = T.StructType()
    for name, kind in zip("abcde", SMALL, strict=True):
        schema = schema.add(name, kind)
    assert internal(("x", 1, 1, True, 2.5), schema) == (None, None, None, "true", None)
    assert internal((2**70, None, None, [1, None], None), schema)[3] == "[1, null]"  # type: ignore[index]
    for wrong in ((1,), (None, None, None, None, decimal.Decimal("123.4"))):
        with pytest.raises(KernelError, match="STATEPLAN_STATE_VALUE"):
            internal(wrong, schema)


def test_maps_and_timers_have_the_order_of_sparks_store() -> None:
    # As a live Spark has listed them.
    texts = T.StructType().add("k", "string")
    ordered = sorted([("z",), ("bb",), ("b",)], key=lambda key: order_of_key(key, texts))
    assert ordered == [("b",), ("z",), ("bb",)]
    start = 1_767_225_600_000
    times = sorted((start + 1000 * n for n in (3, 5, 9, 12)), key=order_of_time)
    assert [(t - start) // 1000 for t in times] == [9, 5, 3, 12]
    numbers = T.StructType().add("k", "integer").add("s", T.StructType().add("x", "decimal(4,1)"))
    keys = itertools.product((1, None), ((decimal.Decimal("2.5"),), None))
    assert len({order_of_key(key, numbers) for key in keys}) == 4


def test_groups_become_pandas_as_alone() -> None:
    """The dtypes of a group are those of its own rows, however many others there are."""
    rows = pa.record_batch(
        {
            "n": pa.array([1, None, 3, None, 5, 6, 7, 8, None]),
            "small": pa.array([None, 2, 3, 4, 5, 6, None, 8, 9], pa.int8()),
            "good": pa.array([True, True, False, None, True, None, True, False, None]),
            "real": pa.array([1.5, None, 3, None, 5, 6, 7, 8, None], pa.float32()),
            "text": pa.array(["a", None, "c", "d", None, "f", "g", "h", None]),
            "at": pa.array([0, None, 2, 3, 4, 5, 6, 7, 8], pa.timestamp("us", "UTC")),
            "day": pa.array([0, None, 2, 3, 4, 5, 6, 7, 8], pa.date32()),
            "none": pa.nulls(9),
        }
    )
    nested = rows.append_column("many", pa.array([[1, 2], None, [3], [None], [], [4], [5], [], []]))
    starts = np.array([0, 2, 3, 4, 8, 9])
    for batch, most in itertools.product((rows, nested), (1, 2, 3, 100, 0)):
        settings = PandasSettings(zone="Asia/Tokyo", most=most)
        frames = Frames(batch, starts, settings)
        for group, (start, end) in enumerate(itertools.pairwise(starts)):
            alone = [
                pd.concat(series_of(batch.slice(at, min(most or 100, end - at)), settings), axis=1)
                for at in range(start, end, most or 100)
            ]
            found = list(frames.of(group))
            assert len(found) == len(alone)
            for one, other in zip(found, alone, strict=True):
                pd.testing.assert_frame_equal(one, other)
            first = tuple(column[0] for column in series_of(batch.slice(start, 1), settings))
            if most == 1:  # else a null further on in the group counts
                assert repr(frames.first_rows()[group]) == repr(first)
            for one in found:
                one.iloc[0, 0] = 99  # seen by no other group
