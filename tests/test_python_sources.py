"""DataSources of PySpark's as sources and sinks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stateplan
from stateplan.planner.model import registered
from stateplan.planner.model.errors import StateplanError
from stateplan.runtime.sinks import MemorySink

pytestmark = pytest.mark.embedded
SQL = "SELECT i, s FROM STREAM t"


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The classes, which only an installed PySpark can make; those of a name are registered."""
    from pyspark import TaskContext
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceStreamArrowWriter,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        InputPartition,
        SimpleDataSourceStreamReader,
        WriterCommitMessage,
    )
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )

    monkeypatch.setattr(registered, "_ADDED", {})
    calls: list[Any] = []

    class Range(InputPartition):
        def __init__(self, first: int, end: int) -> None:
            self.first, self.end = first, end

    class Reader(DataSourceStreamReader):
        def __init__(self, options: Any) -> None:
            self.fails = options.get("fails")

        def initialOffset(self) -> dict[str, int]:
            return {"at": 0}

        def latestOffset(self, start: Any, limit: Any) -> dict[str, int]:
            if self.fails == "latestOffset":
                raise ValueError("oh no")
            calls.append(limit)
            most = limit.max_rows if isinstance(limit, ReadMaxRows) else 100
            return {"at": min(5, start["at"] + most)}

        def getDefaultReadLimit(self) -> Any:
            return ReadMaxRows(2)

        def reportLatestOffset(self) -> dict[str, int]:
            return {"at": 5}

        def partitions(self, start: Any, end: Any) -> Any:
            return [Range(n, n + 1) for n in range(start["at"], end["at"])]

        def read(self, partition: Any) -> Iterator[tuple[int, str]]:
            if self.fails == "read":
                raise ValueError("cannot read")
            for n in range(partition.first, partition.end):
                yield n, str(n)

        def commit(self, end: Any) -> None:
            calls.append(("commit", end))

    class Steady(Reader, SupportsTriggerAvailableNow):
        def prepareForTriggerAvailableNow(self) -> None:
            calls.append("prepared")

    class Simple(SimpleDataSourceStreamReader):
        def initialOffset(self) -> dict[str, int]:
            return {"at": 0}

        def read(self, start: Any) -> Any:
            end = min(5, start["at"] + 3)
            calls.append(("read", start["at"]))
            return iter([(n, str(n)) for n in range(start["at"], end)]), {"at": end}

        def readBetweenOffsets(self, start: Any, end: Any) -> Any:
            calls.append(("between", start["at"], end["at"]))
            return iter([(n, str(n)) for n in range(start["at"], end["at"])])

    class Message(WriterCommitMessage):
        def __init__(self, seen: Any) -> None:
            self.seen = seen

    class Writer(DataSourceStreamWriter):
        def write(self, iterator: Any) -> Any:
            task = TaskContext.get()
            calls.append(("task", None if task is None else task.partitionId()))
            return Message([(row.i, row["s"]) for row in iterator])

        def commit(self, messages: Any, batchId: int) -> None:
            calls.append(("committed", batchId, [m.seen for m in messages]))

        def abort(self, messages: Any, batchId: int) -> None:
            calls.append(("aborted", batchId))

    class ArrowWriter(DataSourceStreamArrowWriter, Writer):
        def write(self, iterator: Any) -> Any:
            return Message([batch.to_pylist() for batch in iterator])

    class Base(DataSource):
        def schema(self) -> str:
            return "i INT, s STRING"

    def kind(title: str, **methods: Any) -> Any:
        own = {"name": classmethod(lambda cls: title), **methods}
        made = type(title, (Base,), own)
        stateplan.register(made)
        return made

    return {
        "calls": calls,
        "all": ReadAllAvailable(),
        "full": kind("full", streamReader=lambda self, schema: Reader(self.options)),
        "steady": kind("steady", streamReader=lambda self, schema: Steady(self.options)),
        "simple": kind("simple", simpleStreamReader=lambda self, schema: Simple()),
        "rows": kind("rows", streamWriter=lambda self, schema, overwrite: Writer()),
        "arrow": kind("arrow", streamWriter=lambda self, schema, overwrite: ArrowWriter()),
        "none": kind("none"),
    }


def run(source: Any, place: Path | None = None, sink: Any = None, sql: str = SQL) -> Any:
    """The ended query, and the rows of each of its batches."""
    kept = MemorySink()
    handle = stateplan.sql(sql, {"t": source}).run(
        engine="embedded",
        sink=kept if sink is None else sink,
        trigger="available_now",
        checkpoint=place,
        background=False,
    )
    if handle.exception() is not None:
        raise handle.exception()
    return handle, [table.column(0).to_pylist() for table in kept.batches().values()]


def test_a_reader_gives_all_there_is_at_once(kinds: Any, tmp_path: Path) -> None:
    handle, batches = run({"format": "full"}, tmp_path)
    assert batches == [[0, 1, 2, 3, 4]] and kinds["calls"] == [kinds["all"]]
    source = handle.last_progress["sources"][0]
    assert source["startOffset"] is None and source["numInputRows"] == 5
    assert source["endOffset"] == source["latestOffset"] == {"at": 5}
    assert run({"format": "full"}, tmp_path)[1] == []


def test_a_reader_that_keeps_up_gives_batches(kinds: Any, tmp_path: Path) -> None:
    assert run({"format": "steady"}, tmp_path)[1] == [[0, 1], [2, 3], [4]]
    assert kinds["calls"][0] == "prepared"
    commits = [call for call in kinds["calls"] if isinstance(call, tuple)]
    assert commits == [("commit", {"at": 2}), ("commit", {"at": 4})]
    (tmp_path / "commits" / "2").unlink()
    (tmp_path / "commits" / ".2.crc").unlink()
    assert run({"format": "steady"}, tmp_path)[1] == [[4]]


def test_a_simple_reader_is_read_with_its_offset(kinds: Any, tmp_path: Path) -> None:
    assert run({"format": "simple"}, tmp_path)[1] == [[0, 1, 2]]
    assert kinds["calls"] == [("read", 0)]
    for path in (tmp_path / "commits").iterdir():
        path.unlink()
    assert run({"format": "simple"}, tmp_path)[1] == [[0, 1, 2], [3, 4]]
    assert kinds["calls"] == [("read", 0), ("between", 0, 3), ("read", 3)]


def test_a_data_source_itself(kinds: Any) -> None:
    query = stateplan.sql(SQL, {"t": "i INT, s STRING"})
    sink = MemorySink()
    for given in (kinds["full"], kinds["full"](options={})):
        query.run(
            engine="embedded", sources={"t": given}, sink=sink, trigger="once", background=False
        )
        assert [row[0] for row in sink.rows()] == [0, 1, 2, 3, 4]


def test_explain_asks_the_data_source_for_its_columns(kinds: Any) -> None:
    query = stateplan.sql("SELECT * FROM STREAM t", {"t": {"format": "FULL"}})
    assert query.explain() == "== Physical Plan ==\nStreamingRelation FULL, [i#0, s#1]"


@pytest.mark.parametrize("writer", ["rows", "arrow"])
def test_a_writer_gets_each_batch_and_its_id(kinds: Any, tmp_path: Path, writer: str) -> None:
    handle, _ = run({"format": "steady"}, tmp_path, {"format": writer})
    assert handle.last_progress["sink"]["numOutputRows"] == 1
    calls = [call for call in kinds["calls"] if isinstance(call, tuple)]
    own = [call for call in calls if call[0] == "committed"]
    expected = [[(0, "0"), (1, "1")], [(2, "2"), (3, "3")], [(4, "4")]]
    if writer == "rows":
        from pyspark import TaskContext

        assert [call for call in calls if call[0] == "task"] == [("task", 0)] * 3
        assert TaskContext.get() is None
        assert own == [("committed", n, [rows]) for n, rows in enumerate(expected)]
    else:
        seen = [[tuple(r.values()) for part in m for r in part] for _, _, (m,) in own]
        assert seen == expected


def test_a_writer_that_fails_is_told(kinds: Any, tmp_path: Path) -> None:
    sql = "SELECT i DIV (i - 1) AS i, s FROM STREAM t"
    with pytest.raises(StateplanError, match="DIVIDE_BY_ZERO"):
        run({"format": "full"}, tmp_path, {"format": "rows"}, sql)
    assert kinds["calls"][-1] == ("aborted", 0)


@pytest.mark.parametrize("action", ["latestOffset", "read"])
def test_what_users_code_raises(kinds: Any, action: str) -> None:
    with pytest.raises(StateplanError) as caught:
        run({"format": "full", "options": {"fails": action}})
    if action == "latestOffset":
        assert caught.value.condition == "PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR"
        assert "perform latestOffset: ValueError: oh no" in caught.value.message
    else:
        assert "cannot read" in caught.value.message


def test_a_data_source_without_a_reader_or_writer(kinds: Any) -> None:
    with pytest.raises(StateplanError, match="'none' has no stream reader"):
        run({"format": "none"})
    with pytest.raises(StateplanError, match="'none' has no stream writer"):
        run({"format": "full"}, sink={"format": "none"})


def test_what_cannot_be_registered(kinds: Any) -> None:
    with pytest.raises(StateplanError, match="cannot be registered as a source or sink"):
        stateplan.register(int, "int")
    with pytest.raises(StateplanError, match="cannot be registered"):
        stateplan.register(MemorySink)
