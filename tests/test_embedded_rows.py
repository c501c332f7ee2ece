"""Rows between the embedded engine and this process, and the plans that it remembers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stateplan
from stateplan.runtime.engines import embedded_plans, embedded_session
from stateplan.runtime.engines.embedded_channel import SharedChannel
from stateplan.testing import StreamTest

pytestmark = pytest.mark.embedded
SOURCES = {"t": "k STRING", "d": {"schema": "k STRING, v INT", "static": True}}
TABLE = [{"k": "a", "v": 1}, {"k": "a", "v": 2}, {"k": "c", "v": 3}]


def started(sql: str, mode: str) -> StreamTest:
    joins = " d" in sql
    sources = SOURCES if joins else {"t": SOURCES["t"]}
    tables = {"d": TABLE} if joins else {}
    return StreamTest(sql, sources, output_mode=mode, tables=tables, engine="embedded")


def rows_of(sql: str, mode: str = "update") -> list[Any]:
    """What a query makes of a hundred rows, half of them with `a` as key, half with `b`."""
    with started(sql, mode) as test:
        return test.add("t", ["a", "b"] * 50).run()


# soundex is computed by the engine, upper by our own code.
@pytest.mark.parametrize(
    ("rest", "count"),
    [
        ("t WHERE soundex(k) = 'A000'", 50),
        ("t WHERE upper(k) = 'A'", 50),
        ("t WHERE from_json(k, 'a INT').a IS NULL", 100),
        ("t JOIN d ON soundex(t.k) = soundex(d.k)", 100),
        ("t CROSS JOIN d", 300),
        ("t LEFT SEMI JOIN d ON t.k = d.k WHERE soundex(t.k) = 'A000'", 50),
        ("t LATERAL VIEW explode(array(1, 2, 3)) x AS y WHERE soundex(k) = 'A000'", 150),
    ],
)
def test_rows_of_which_no_column_is_used_are_counted(rest: str, count: int) -> None:
    assert rows_of(f"SELECT count(*) AS n FROM STREAM {rest}") == [(count,)]


def test_unions_of_rows_without_columns_are_counted() -> None:
    branches = (
        "SELECT 1 FROM STREAM t WHERE soundex(k) = 'A000'",
        "SELECT 2 FROM STREAM t WHERE upper(k) = 'B'",
        "SELECT 3 FROM STREAM t",
    )
    assert rows_of(f"SELECT count(*) AS n FROM ({' UNION ALL '.join(branches)})") == [(200,)]


def test_random_values_are_drawn_once_for_each_row() -> None:
    inner = "SELECT rand() AS r FROM STREAM t"
    drawn = rows_of(f"SELECT r, r AS again, rand() AS other FROM ({inner})", "append")
    assert len({r for r, _, _ in drawn}) == 100
    assert all(r == again != other and 0 <= r < 1 for r, again, other in drawn)


def test_what_is_made_of_a_random_value_names_it_more_than_once() -> None:
    # The engine's form of this cast says its argument several times.
    salt = "CAST(floor(rand() * 3) AS INT)"
    drawn = rows_of(f"SELECT {salt} AS salt, count(*) FROM STREAM t GROUP BY 1")
    assert {salt for salt, _ in drawn} == {0, 1, 2}
    assert sum(count for _, count in drawn) == 100


def test_each_uuid_is_another() -> None:
    drawn = rows_of("SELECT uuid() AS one, concat(k, '-', uuid()) AS two FROM STREAM t", "append")
    assert len({one for one, _ in drawn} | {two[2:] for _, two in drawn}) == 200


def test_conditions_draw_for_each_row() -> None:
    kept = rows_of("SELECT k FROM STREAM t WHERE rand() < 0.5 AND k = 'a'", "append")
    assert 5 < len(kept) < 45
    assert set(kept) == {("a",)}


@pytest.mark.parametrize("format", ["json", "parquet"])
def test_a_limit_takes_the_rows_of_the_largest_file_first(format: str, tmp_path: Path) -> None:
    for number, rows in enumerate((3, 2000, 5, 4)):
        table = pa.table({"v": range(10_000 * number, 10_000 * number + rows)})
        if format == "parquet":
            pq.write_table(table, tmp_path / f"{number}.parquet")
        else:
            lines = (f'{{"v":{v}}}\n' for v in table.column("v").to_pylist())
            (tmp_path / f"{number}.json").write_text("".join(lines))
    found: list[Any] = []
    source = {"schema": "v BIGINT", "format": format, "path": str(tmp_path)}
    stateplan.sql("SELECT v + 1 AS v FROM STREAM t WHERE v <> 10001 LIMIT 4", {"t": source}).run(
        engine="embedded",
        foreach_batch=lambda rows, _: found.extend(row.v for row in rows.collect()),
        trigger="available_now",
        background=False,
    ).await_termination()
    assert found == [10_001, 10_003, 10_004, 10_005]


@contextmanager
def calls_of_the_engine() -> Iterator[list[str]]:
    """The names of the calls over its channel."""
    calls: list[str] = []

    def noted(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(self: Any, method: str, *rest: Any, **options: Any) -> Any:
            call = make(self, method, *rest, **options)

            def called(*arguments: Any, **settings: Any) -> Any:
                calls.append(method.rsplit("/", 1)[1])
                return call(*arguments, **settings)

            return called

        return made

    with pytest.MonkeyPatch.context() as patch:
        for name in ("unary_unary", "unary_stream"):
            patch.setattr(SharedChannel, name, noted(getattr(SharedChannel, name)))
        yield calls


@pytest.mark.parametrize(
    ("sql", "mode", "rows"),
    [
        ("SELECT soundex(k) AS s FROM STREAM t", "append", lambda n, _: [("A000",)] * n),
        (
            "SELECT k, soundex(k) AS k FROM STREAM t WHERE soundex(k) = 'A000'",
            "append",
            lambda n, _: [("a", "A000")] * n,
        ),
        (
            "SELECT soundex(k) AS s, count(*) AS n FROM STREAM t GROUP BY ALL",
            "update",
            lambda _, total: [("A000", total)],
        ),
        (
            "SELECT d.v FROM STREAM t JOIN d ON soundex(t.k) = soundex(d.k)",
            "append",
            lambda n, _: [(1,)] * n + [(2,)] * n,
        ),
    ],
)
def test_a_plan_that_comes_again_is_run_in_one_call(sql: str, mode: str, rows: Any) -> None:
    total = 0
    with calls_of_the_engine() as calls, started(sql, mode) as test:
        for number in (1, 3, 2, 5, 4):
            total += number
            calls.clear()
            found = test.add("t", ["a"] * number).run()
            assert sorted(found) == rows(number, total)
    assert calls[0] == "ExecutePlan"
    assert calls.count("AnalyzePlan") == 0


def test_a_plan_draws_other_values_each_time() -> None:
    with started("SELECT soundex(k) AS s, rand() AS r FROM STREAM t", "append") as test:
        drawn = [r for _ in range(5) for _, r in test.add("t", ["a"] * 20).run()]
    assert len(set(drawn)) == 100


def test_a_plan_that_names_a_view_is_read_again() -> None:
    """The view has other rows in each batch."""
    sql = "SELECT soundex(k) AS s, (SELECT max(v) FROM d) AS m FROM STREAM t"
    with started(sql, "append") as test:
        for _ in range(4):
            assert test.add("t", ["a"]).run() == [("A000", 3)]


def test_plans_that_have_not_come_for_long_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_plans, "_REMEMBERED", 2)
    spark = embedded_session.new_session()
    plans = embedded_plans.RememberedPlans(spark)
    frames = [spark.range(n).selectExpr("id + 1 AS n") for n in (1, 2, 3)]
    try:
        for frame in frames:
            assert plans.remembered(frame) is frame
            view = plans.remembered(frame)
            assert view is not frame
            assert plans.remembered(frame) is view
            assert view.toArrow() == frame.toArrow()
        names = {table.name for table in spark.catalog.listTables()}
        assert names == {"stateplan_plan_1", "stateplan_plan_2"}
        assert plans.remembered(frames[0]) is frames[0]
        plans.forget()
        assert spark.catalog.listTables() == []
        read = spark.read.parquet("somewhere")
        assert plans.remembered(read) is plans.remembered(read) is read
    finally:
        spark.stop()
