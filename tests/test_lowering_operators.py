"""Every physical operator can be run, or says that it cannot; without Spark."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa
import pytest

import stateplan.physical.aggregate
import stateplan.physical.basic
import stateplan.physical.exchange
import stateplan.physical.joins
import stateplan.physical.metrics
import stateplan.physical.partitions
import stateplan.physical.scans
import stateplan.physical.stateful
import stateplan.physical.windows
from stateplan.physical.exchange import ReusedExchangeExec
from stateplan.physical.plan import SparkPlan, StatefulOperator, UnaryExec
from stateplan.planner.incremental_execution import IncrementalExecution
from stateplan.planner.model.catalog import Source
from stateplan.planner.model.conf import Conf
from stateplan.planner.model.ddl import parse_schema, parse_type
from stateplan.planner.model.errors import RuntimeFailure
from stateplan.planner.model.ids import id_scope
from stateplan.planner.sql import parse
from stateplan.runtime.lowering import default_tasks
from stateplan.runtime.lowering.columns import Column, arrow_type
from stateplan.runtime.lowering.context import session_settings
from stateplan.runtime.lowering.functions import buffers_of, functions_of
from stateplan.runtime.lowering.lower import lower_operator
from stateplan.runtime.lowering.stateful import has_lowering

MODULES = (
    stateplan.physical.aggregate,
    stateplan.physical.basic,
    stateplan.physical.exchange,
    stateplan.physical.joins,
    stateplan.physical.metrics,
    stateplan.physical.partitions,
    stateplan.physical.scans,
    stateplan.physical.stateful,
    stateplan.physical.windows,
)


def operators() -> list[type[SparkPlan]]:
    found = {
        kind
        for module in MODULES
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, SparkPlan)
    }
    # A reused exchange is expanded before the plan is lowered.
    bases = {SparkPlan, UnaryExec, StatefulOperator, ReusedExchangeExec}
    # What has subclasses among them stands for these alone.
    leaves = {k for k in found if not any(k in other.__mro__[1:] for other in found)}
    return sorted(leaves - bases, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", operators())
def test_every_physical_operator_has_a_lowering(kind: type[SparkPlan]) -> None:
    assert has_lowering(kind), f"{kind.__name__} cannot be run"


def test_an_operator_without_lowering_is_named() -> None:
    class Unheard(UnaryExec):
        pass

    child = stateplan.physical.basic.RDDScanExec()
    with pytest.raises(RuntimeFailure, match="operator Unheard can be planned, but not run"):
        lower_operator(Unheard(child=child), [], None)  # type: ignore[arg-type]


def save_of(aggregates: str) -> Any:
    conf = Conf({"spark.sql.shuffle.partitions": "2"})
    source = Source(name="events", schema=parse_schema("user STRING, qty INT, x DOUBLE"))
    sql = f"SELECT user, {aggregates} FROM STREAM events GROUP BY user"
    ids = itertools.count()
    with id_scope(ids):
        logical = parse(sql, conf)
    execution = IncrementalExecution(
        logical, catalog={"events": source}, output_mode="update", conf=conf, ids=ids
    )
    return execution.executed_plan


def test_an_aggregate_that_cannot_be_merged_is_named() -> None:
    with pytest.raises(
        RuntimeFailure, match="`histogram_numeric` can be planned, but not run"
    ) as caught:
        functions_of(save_of("count(*), histogram_numeric(qty, 5)"))
    assert caught.value.condition == "STATEPLAN_UNMERGEABLE_AGGREGATE"
    assert caught.value.hint


def test_partials_carry_the_filter_and_merges_the_positions_of_their_buffers() -> None:
    from stateplan.runtime.lowering.aggregates import partial_of

    plan = save_of("sum(qty) FILTER (WHERE x > 1) AS s, avg(x) AS a, approx_count_distinct(x) AS d")
    save = plan.collect(stateplan.physical.stateful.StateStoreSaveExec)[0]
    functions = functions_of(partial_of(save))
    assert [sql.count("FILTER (WHERE") for f in functions for sql in f.partials] == [1, 0, 0, 0]
    buffers = buffers_of(functions)
    assert [(m.operation, m.columns) for m in buffers.merges] == [
        ("sum", (0,)),
        ("sum", (1,)),
        ("sum_wrap", (2,)),
        ("registers", (3,)),
    ]
    assert [o.columns for o in buffers.outputs] == [(0,), (1,), (2,), (3,)]
    assert buffers.output.field(3).type == pa.int64()


@pytest.mark.parametrize(
    ("kind", "arrow", "inward"),
    [
        ("TIMESTAMP", pa.timestamp("us", "UTC"), "c"),
        ("DECIMAL(20,4)", pa.decimal128(20, 4), "c"),
        ("INTERVAL HOUR", pa.duration("us"), "CAST(c AS INTERVAL HOUR) AS c"),
        ("INTERVAL YEAR", pa.int32(), "CAST(make_ym_interval(0, c) AS INTERVAL YEAR) AS c"),
        ("MAP<STRING, ARRAY<DATE>>", pa.map_(pa.string(), pa.list_(pa.date32())), "c"),
    ],
)
def test_columns_go_through_arrow(kind: str, arrow: Any, inward: str) -> None:
    column = Column("c", parse_type(kind))
    assert column.field.type.equals(arrow)
    assert column.inward == inward


def test_a_type_that_arrow_cannot_carry_is_named() -> None:
    with pytest.raises(RuntimeFailure, match="type INTERVAL YEAR TO MONTH cannot go through"):
        arrow_type(parse_type("ARRAY<INTERVAL YEAR TO MONTH>"))


@pytest.mark.parametrize(
    ("stores", "cores", "tasks"), [(200, 8, 8), (200, 7, 7), (3, 2, 2), (1, 64, 1), (5, 64, 5)]
)
def test_tasks_are_as_many_as_cores_but_no_more_than_stores(
    stores: int, cores: int, tasks: int
) -> None:
    assert default_tasks(stores, cores) == tasks


def test_the_size_of_arrow_batches_is_the_querys_to_say() -> None:
    key = "spark.sql.execution.arrow.maxRecordsPerBatch"
    assert session_settings(2, Conf())[key] == "65536"
    assert session_settings(2, Conf({key: "500"}))[key] == "500"
    assert session_settings(2, Conf({key: "500"}))["spark.sql.adaptive.enabled"] == "false"
