"""Sources and sinks whose rows Spark's tasks read and write: Kafka, Delta, Python, foreach."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kafka_cluster import Cluster, cluster

import stateplan
from stateplan.planner.model import registered
from stateplan.planner.model.errors import StateplanError
from stateplan.runtime.sinks import MemorySink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["cluster"]


def run(spark: SparkSession, sql: str, source: Any, place: Path | None = None, **given: Any) -> Any:
    """The figures of the last batch, and the rows."""
    sink = MemorySink()
    handle = stateplan.sql(sql, {"t": source}).run(
        spark,
        trigger="available_now",
        checkpoint=place,
        background=False,
        **(given or {"sink": sink}),
    )
    if handle.exception() is not None:
        raise handle.exception()
    return handle.last_progress, sorted(sink.rows(), key=repr)


def test_from_kafka_to_delta_to_kafka(
    spark: SparkSession, tmp_path: Path, cluster: Cluster
) -> None:
    from deltalake import DeltaTable

    cluster.send("spark", "1", "2")
    cluster.send("spark", "3", partition=3, headers=[("h", b"x")])
    source = {"format": "kafka", "options": cluster.options("spark", includeHeaders="true")}
    sql = "SELECT CAST(CAST(value AS STRING) AS INT) AS n, headers[0].value AS h FROM STREAM t"
    table = str(tmp_path / "t")
    to_table = {"sink": {"format": "delta", "path": table, "partition_by": ["n"]}}
    progress, _ = run(spark, sql, source, tmp_path / "a", **to_table)
    assert progress["sources"][0]["endOffset"] == {"spark": {"0": 2, "1": 0, "2": 0, "3": 1}}
    assert progress["numInputRows"] == progress["sink"]["numOutputRows"] == 3
    cluster.send("spark", "4")
    run(spark, sql, source, tmp_path / "a", **to_table)
    assert DeltaTable(table).version() == 1
    options = {"kafka.bootstrap.servers": cluster.servers, "topic": "from-spark"}
    back = "SELECT h AS key, CAST(n AS STRING) AS value, n % 4 AS partition FROM STREAM t"
    of_table = {"format": "delta", "path": table}
    run(spark, back, of_table, sink={"format": "kafka", "options": options})
    assert cluster.records("from-spark") == [
        (0, None, b"4", None),
        (1, None, b"1", None),
        (2, None, b"2", None),
        (3, b"x", b"3", None),
    ]


def test_a_table_of_the_catalog(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("DROP TABLE IF EXISTS streamed")
    source = {"schema": "n INT, p STRING", "path": str(tmp_path / "in")}
    sink = {"format": "parquet", "table": "streamed", "partition_by": ["p"]}
    sql = "SELECT n, p FROM STREAM t"
    (tmp_path / "in").mkdir()
    try:
        for number in (1, 2):
            row = f'{{"n": {number}, "p": "x"}}'
            (tmp_path / "in" / f"{number}.json").write_text(row)
            run(spark, sql, source, tmp_path / "c", sink=sink)
            for path in (tmp_path / "c" / "commits").glob("*0*"):
                path.unlink()  # the run ended before its first commit: the batch comes again
        assert sorted(tuple(r) for r in spark.table("streamed").collect()) == [(1, "x"), (2, "x")]
        with pytest.raises(StateplanError, match=r"mode is not supported in Data Source parquet"):
            stateplan.sql("SELECT count(*) AS n FROM STREAM t", {"t": source}, "update").run(
                spark, sink=sink, trigger="once", background=False
            )
    finally:
        spark.sql("DROP TABLE IF EXISTS streamed")


def test_data_sources_and_foreach(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        InputPartition,
        SimpleDataSourceStreamReader,
        WriterCommitMessage,
    )

    monkeypatch.setattr(registered, "_ADDED", {})
    committed: list[Any] = []

    class Reader(DataSourceStreamReader):
        def initialOffset(self) -> dict[str, int]:
            return {"at": 0}

        def latestOffset(self, start: Any, limit: Any) -> dict[str, int]:
            return {"at": 3}

        def partitions(self, start: Any, end: Any) -> Any:
            return [InputPartition(n) for n in range(start["at"], end["at"])]

        def read(self, partition: Any) -> Any:
            yield (partition.value,)

    class Simple(SimpleDataSourceStreamReader):
        def initialOffset(self) -> dict[str, int]:
            return {"at": 0}

        def read(self, start: Any) -> Any:
            return iter([(7,)]), {"at": start["at"] + 1}

        def readBetweenOffsets(self, start: Any, end: Any) -> Any:
            return iter([(7,)] * (end["at"] - start["at"]))

    class Message(WriterCommitMessage):
        def __init__(self, rows: list[int]) -> None:
            self.rows = rows

    class Writer(DataSourceStreamWriter):
        def write(self, iterator: Any) -> Any:
            return Message([row.i for row in iterator])

        def commit(self, messages: Any, batchId: int) -> None:
            committed.append((batchId, sorted(n for m in messages for n in m.rows)))

        def abort(self, messages: Any, batchId: int) -> None:
            committed.append("aborted")

    class Numbers(DataSource):
        def schema(self) -> str:
            return "i INT"

        def streamReader(self, schema: Any) -> Any:
            return Reader()

        def streamWriter(self, schema: Any, overwrite: bool) -> Any:
            return Writer()

    class Sevens(DataSource):
        def schema(self) -> str:
            return "i INT"

        def simpleStreamReader(self, schema: Any) -> Any:
            return Simple()

    stateplan.register(Numbers)
    stateplan.register(Sevens)
    sql = "SELECT i FROM STREAM t"
    run(spark, sql, {"format": "numbers"}, sink={"format": "numbers"})
    assert committed == [(0, [0, 1, 2])]
    place = tmp_path / "simple"
    assert run(spark, sql, {"format": "sevens"}, place)[1] == [(7,)]
    for path in (place / "commits").iterdir():
        path.unlink()
    assert run(spark, sql, {"format": "sevens"}, place)[1] == [(7,), (7,)]

    def keep(row: Any, out: str = str(tmp_path / "rows")) -> None:
        with open(out, "a") as file:
            file.write(f"{row.i}\n")

    progress, _ = run(spark, sql, {"format": "numbers"}, foreach=keep)
    assert progress["sink"]["numOutputRows"] == 3
    assert sorted((tmp_path / "rows").read_text().split()) == ["0", "1", "2"]
