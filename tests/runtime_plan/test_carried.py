"""How columns travel through a kernel: windows as their bounds or their start alone, intervals."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from runtime_plan.queries import STORES, executed
from runtime_plan.small import column
from stateplan.planner.model.errors import RuntimeFailure
from stateplan.planner.model.expressions.core import Alias
from stateplan.planner.model.schemas.ddl import parse_type
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.model.text.spark_sql import spark_sql
from stateplan.runtime.arrow_types import arrow_type
from stateplan.runtime.kernels.windows import packed, parted
from stateplan.runtime.plan import BatchFacts, runtime_plan
from stateplan.runtime.plan.carried import Carried, plain
from stateplan.runtime.plan.nodes import Kernel

TIME = pa.timestamp("us", "UTC")
WINDOW = pa.struct([pa.field("start", TIME), pa.field("end", TIME)])


def carried_window(call: str, conf: Conf = STORES) -> Carried:
    """The window that a kernel takes."""
    sql = f"SELECT {call} AS w, user, count(*) AS n FROM STREAM events GROUP BY 1, 2"
    plan = runtime_plan(executed(sql, "complete", conf), BatchFacts(conf=conf))
    (kernel,) = (node for node in plan.nodes if isinstance(node, Kernel))
    (found,) = (each for each in kernel.taken if each.is_window)
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
        # What stands for such a window is a number of microseconds since 1970 in no zone.
        ("window(CAST(ts AS TIMESTAMP_NTZ), '10 seconds')", None),
    ],
)
def test_windows_of_one_length_travel_as_their_start(call: str, size: int | None) -> None:
    found = carried_window(call)
    assert found.size == size
    assert len(found.parts) == (2 if size is None else 1)
    assert len(found.hashed) == len(found.ends) == 2


@pytest.mark.parametrize("size", [None, 10])
def test_windows_are_the_same_on_the_other_side(size: int | None) -> None:
    start = pa.array([1, None, -7], TIME)
    end = pa.array([11, None, 3], TIME)
    key = pa.array(["a", "b", None])
    schema = pa.schema([pa.field("w", WINDOW), pa.field("k", pa.string())])
    windows = pa.StructArray.from_arrays([start, end], fields=list(WINDOW))
    travelling = list(parted([windows, key], {0: size}))
    assert len(travelling) == (3 if size is None else 2)
    back = list(packed(travelling, schema, {0: size}))
    assert [b.to_pylist() for b in back] == [windows.to_pylist(), key.to_pylist()]


@pytest.mark.parametrize(
    ("kind", "arrow", "restored"),
    [
        ("TIMESTAMP", TIME, "c"),
        ("DECIMAL(20,4)", pa.decimal128(20, 4), "c"),
        ("INTERVAL HOUR", pa.duration("us"), "CAST(c AS INTERVAL HOUR)"),
        ("INTERVAL YEAR", pa.int32(), "CAST(make_ym_interval(0, c) AS INTERVAL YEAR)"),
        ("MAP<STRING, ARRAY<DATE>>", pa.map_(pa.string(), pa.list_(pa.date32())), "c"),
    ],
)
def test_columns_go_through_arrow(kind: str, arrow: Any, restored: str) -> None:
    found = plain(column("c", parse_type(kind)))
    assert arrow_type(found.seen.data_type).equals(arrow)
    back = found.restored
    value = back.child if isinstance(back, Alias) else back
    assert spark_sql(value, lambda attribute: "c") == restored
    assert found.hashed == found.parts


def test_a_type_that_arrow_cannot_carry_is_named() -> None:
    with pytest.raises(RuntimeFailure, match="arrow type INTERVAL YEAR TO MONTH"):
        arrow_type(parse_type("ARRAY<INTERVAL YEAR TO MONTH>"))
