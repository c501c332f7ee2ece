"""What a script makes before it reads: tables, views, databases; and what spark.catalog knows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql.connect.session import SparkSession

from stateplan.planner.connect.local import local_session
from stateplan.planner.connect.service import PlannerService
from stateplan.planner.model.errors import AnalysisError


@pytest.fixture
def session() -> Iterator[SparkSession]:
    with local_session(PlannerService()) as made:
        yield made


def names(session: SparkSession) -> list[str]:
    return sorted(table.name for table in session.catalog.listTables())


def test_a_created_table_is_read_as_a_stream_and_at_rest(session: SparkSession) -> None:
    session.sql(
        "-- the input\nCREATE TABLE IF NOT EXISTS t (id INT, s STRUCT<a: INT>) USING delta;"
    )
    assert session.readStream.table("t").isStreaming
    assert not session.table("t").isStreaming
    assert session.table("t").dtypes == [("id", "int"), ("s", "struct<a:int>")]
    session.sql("CREATE TABLE u AS SELECT id + 1 AS next FROM t")
    assert session.table("u").columns == ["next"]
    assert names(session) == ["t", "u"]
    session.sql("DROP TABLE u")
    assert not session.catalog.tableExists("u")


def test_tables_of_the_current_database_have_short_names(session: SparkSession) -> None:
    session.sql("CREATE DATABASE IF NOT EXISTS lake")
    session.sql("CREATE TABLE lake.t (id INT)")
    session.sql("USE lake")
    assert session.table("t").columns == session.table("lake.t").columns == ["id"]
    assert session.catalog.currentDatabase() == "lake"
    assert [d.name for d in session.catalog.listDatabases()] == ["default", "lake"]
    assert session.catalog.databaseExists("lake")
    assert session.catalog.tableExists("lake.t")
    assert [c.name for c in session.catalog.listColumns("t")] == ["id"]


def test_views_come_and_go(session: SparkSession) -> None:
    session.range(3).createOrReplaceTempView("n")
    session.sql("CREATE OR REPLACE GLOBAL TEMP VIEW g AS SELECT id FROM n")
    assert session.table("global_temp.g").columns == ["id"]
    assert session.catalog.getTable("n").isTemporary
    assert session.catalog.dropTempView("n")
    assert not session.catalog.tableExists("n")
    with pytest.raises(AnalysisError, match="TABLE_OR_VIEW_NOT_FOUND"):
        session.catalog.listColumns("n")


def test_settings_are_set_and_forgotten(session: SparkSession) -> None:
    session.sql("SET spark.sql.shuffle.partitions = 3")
    assert session.conf.get("spark.sql.shuffle.partitions") == "3"
    session.sql("RESET spark.sql.shuffle.partitions")
    assert session.conf.get("spark.sql.shuffle.partitions") == "200"


def test_rows_are_not_written(session: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    session.range(3).write.saveAsTable("kept")
    session.sql("INSERT INTO kept VALUES (4)")
    assert session.table("kept").columns == ["id"]
    told = capsys.readouterr().err
    assert "the rows are not written: nothing runs." in told
    assert "INSERT is not carried out: nothing runs." in told


def test_a_stream_is_not_written_at_once(session: SparkSession) -> None:
    stream = session.readStream.format("rate").load()
    with pytest.raises(AnalysisError, match="CALL_ON_STREAMING_DATASET_UNSUPPORTED"):
        stream.write.saveAsTable("t")


@pytest.mark.parametrize("mode", ["cost", "codegen"])
def test_plans_without_estimates_and_code(
    session: SparkSession, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    session.readStream.format("rate").load().select("value").explain(mode)
    first = {"cost": "== Optimized Logical Plan ==", "codegen": "Found 1 WholeStageCodegen"}
    shown = capsys.readouterr().out
    assert shown.startswith(first[mode])
    assert "*(1) Project [value#" in shown
