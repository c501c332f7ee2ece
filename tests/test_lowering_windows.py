"""Windows travel as their bounds, or as their start alone; without Spark."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from stateplan.physical.stateful import SessionWindowStateStoreSaveExec, StateStoreSaveExec
from stateplan.planner.incremental_execution import IncrementalExecution
from stateplan.planner.model.catalog import Source
from stateplan.planner.model.conf import Conf
from stateplan.planner.model.ddl import parse_schema
from stateplan.planner.model.ids import id_scope
from stateplan.planner.sql import parse
from stateplan.runtime.kernels.windows import packed, parted
from stateplan.runtime.lowering.aggregates import partial_of
from stateplan.runtime.lowering.windows import WindowColumn, key_columns

TIME = pa.timestamp("us", "UTC")
WINDOW = pa.struct([pa.field("start", TIME), pa.field("end", TIME)])


def window_column(call: str, kind: str = "TIMESTAMP") -> WindowColumn:
    conf = Conf({"spark.sql.shuffle.partitions": "2"})
    source = Source(name="events", schema=parse_schema(f"user STRING, ts {kind}"))
    sql = f"SELECT {call} AS w, user, count(*) AS n FROM STREAM events GROUP BY 1, 2"
    ids = itertools.count()
    with id_scope(ids):
        logical = parse(sql, conf)
    plan = IncrementalExecution(
        logical, catalog={"events": source}, output_mode="complete", conf=conf, ids=ids
    ).executed_plan
    saves = (StateStoreSaveExec, SessionWindowStateStoreSaveExec)
    (save,) = plan.collect(saves[0]) or plan.collect(saves[1])
    partial = partial_of(save)
    columns = key_columns(partial.key_attributes, partial.child)
    (found,) = (column for column in columns if isinstance(column, WindowColumn))
    return found


@pytest.mark.parametrize(
    ("call", "size"),
    [
        ("window(ts, '10 seconds')", 10_000_000),
        ("window(ts, '1 day', '1 day', '2 hours')", 86_400_000_000),
        ("window(ts, '10 minutes', '5 minutes')", 600_000_000),
        ("session_window(ts, '5 seconds')", 5_000_000),
        # A day may have 23 hours.
        ("session_window(ts, '1 day')", None),
        ("session_window(ts, if(user = 'a', '1 second', '2 seconds'))", None),
    ],
)
def test_windows_of_one_length_travel_as_their_start(call: str, size: int | None) -> None:
    column = window_column(call)
    assert column.size == size
    assert len(column.parts) == len(column.sent) == (2 if size is None else 1)
    assert len(column.hashed) == len(column.ends) == 2


def test_times_without_a_zone_travel_with_their_end() -> None:
    assert window_column("window(ts, '10 seconds')", "TIMESTAMP_NTZ").size is None


@pytest.mark.parametrize("size", [None, 10])
def test_windows_are_the_same_on_the_other_side(size: int | None) -> None:
    start = pa.array([1, None, -7], TIME)
    end = pa.array([11, None, 3], TIME)
    key = pa.array(["a", "b", None])
    schema = pa.schema([pa.field("w", WINDOW), pa.field("k", pa.string())])
    column = pa.StructArray.from_arrays([start, end], fields=list(WINDOW))
    travelling = dict(parted([column, key], schema, {0: size}))
    assert list(travelling) == (["w_start", "w_end", "k"] if size is None else ["w_start", "k"])
    back = list(packed(list(travelling.values()), schema, {0: size}))
    assert [b.to_pylist() for b in back] == [column.to_pylist(), key.to_pylist()]
