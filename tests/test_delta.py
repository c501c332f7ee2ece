"""Delta tables as source and sink, on the embedded engine."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

import stateplan
from stateplan.planner.model.errors import StateplanError
from stateplan.runtime.sinks import MemorySink
from stateplan.runtime.sources import make_source
from stateplan.runtime.state.locations import located

pytestmark = pytest.mark.embedded


def add(table: Path, *numbers: int, mode: str = "append", **more: Any) -> None:
    """Add a version with one file of numbers."""
    import deltalake
    import pyarrow as pa

    rows = {"n": pa.array(numbers, pa.int32()), "s": [str(n) for n in numbers]}
    columns = {**rows, **{name: pa.array(values) for name, values in more.items()}}
    partition_by = list(more) or None
    deltalake.write_deltalake(table, pa.table(columns), mode=mode, partition_by=partition_by)


def opened(table: Path, version: int | None = None) -> Any:
    import deltalake

    return deltalake.DeltaTable(table, version=version)


def rows(table: Path) -> list[int]:
    found: list[int] = opened(table).to_pyarrow_table().column("n").to_pylist()
    return sorted(found)


def run(table: Path, place: Path, sql: str = "SELECT n FROM STREAM t", **options: Any) -> Any:
    """The ended query, and the numbers of each of its batches."""
    sink = MemorySink()
    source = {"format": "delta", "path": str(table), "options": options}
    handle = stateplan.sql(sql, {"t": source}).run(
        engine="embedded",
        sink=sink,
        trigger="available_now",
        checkpoint=place,
        background=False,
    )
    if handle.exception() is not None:
        raise handle.exception()
    return handle, [sorted(t.column(0).to_pylist()) for t in sink.batches().values()]


def test_a_table_then_what_its_versions_add(tmp_path: Path) -> None:
    table, place = tmp_path / "t", tmp_path / "c"
    add(table, 1, 2)
    add(table, 3)
    handle, batches = run(table, place)
    assert batches == [[1, 2, 3]]
    source = handle.last_progress["sources"][0]
    assert source["description"] == f"DeltaSource[file:{table}]"
    assert source["startOffset"] is None and source["numInputRows"] == 3
    end = source["endOffset"]
    table_id = str(opened(table).metadata().id)
    assert (
        end
        == source["latestOffset"]
        == {
            "sourceVersion": 1,
            "reservoirId": table_id,
            "reservoirVersion": 2,
            "index": -1,
            "isStartingVersion": False,
        }
    )
    assert run(table, place)[1] == []
    add(table, 4)
    add(table, 5)
    handle, batches = run(table, place)
    assert batches == [[4, 5]]
    log = sorted((place / "offsets").glob("[0-9]*"))
    assert [json.loads(f.read_text().split("\n")[2])["reservoirVersion"] for f in log] == [2, 4]


@pytest.mark.parametrize(
    ("options", "batches"),
    [
        ({"maxFilesPerTrigger": 2}, [[1, 2, 3], [4, 5], [6]]),
        ({"maxBytesPerTrigger": 1}, [[1, 2], [3], [4], [5], [6]]),
        ({"startingVersion": 2}, [[4, 5, 6]]),
        ({"startingVersion": 1, "maxFilesPerTrigger": 3}, [[3, 4, 5], [6]]),
        ({"startingVersion": "latest"}, []),
        ({"startingTimestamp": "2020-01-01"}, [[1, 2, 3, 4, 5, 6]]),
    ],
)
def test_where_it_begins_and_how_much_it_takes(
    tmp_path: Path, options: dict[str, Any], batches: Any
) -> None:
    table = tmp_path / "t"
    add(table, 1, 2)
    for number in (3, 4, 5, 6):
        add(table, number)
    assert run(table, tmp_path / "c", **options)[1] == batches
    add(table, 7)
    assert run(table, tmp_path / "c", **options)[1] == [[7]]


def test_a_batch_that_was_not_committed_reads_the_same_again(tmp_path: Path) -> None:
    table, place = tmp_path / "t", tmp_path / "c"
    add(table, 1)
    add(table, 2)
    run(table, place, maxFilesPerTrigger=1)
    add(table, 3)
    for path in (*(place / "commits").iterdir(), *(place / "offsets").glob("*1*")):
        path.unlink()
    assert run(table, place)[1] == [[1], [2, 3]]


def test_deletes_and_changes_are_refused_as_delta_does(tmp_path: Path) -> None:
    table = tmp_path / "t"
    add(table, 1)
    for name in ("refused", "deletes", "changes", "skipped"):
        run(table, tmp_path / name)
    add(table, 2, 3)
    opened(table).delete("n = 1")  # all rows of a file
    with pytest.raises(StateplanError, match="Detected deleted data") as caught:
        run(table, tmp_path / "refused")
    assert caught.value.condition == "DELTA_SOURCE_IGNORE_DELETE"
    assert run(table, tmp_path / "deletes", ignoreDeletes=True)[1] == [[2, 3]]
    opened(table).update(predicate="n = 2", new_values={"n": 20})
    with pytest.raises(StateplanError, match="Detected a data update") as caught:
        run(table, tmp_path / "deletes", ignoreDeletes=True)
    assert caught.value.condition == "DELTA_SOURCE_TABLE_IGNORE_CHANGES"
    assert run(table, tmp_path / "changes", ignoreChanges=True)[1] == [[2, 3, 3, 20]]
    assert run(table, tmp_path / "skipped", skipChangeCommits=True)[1] == [[2, 3]]
    opened(table).optimize.compact()  # no change of data
    add(table, 4)
    assert run(table, tmp_path / "skipped", skipChangeCommits=True)[1] == [[4]]


def test_columns_that_change_are_refused(tmp_path: Path) -> None:
    import deltalake
    import pyarrow as pa

    table, place = tmp_path / "t", tmp_path / "c"
    add(table, 1)
    run(table, place)
    running = make_source("delta", path=str(table))
    running.attach(located(tmp_path / "log"))
    first = running.latest_offset(None)
    wider = pa.table({"n": pa.array([2], pa.int32()), "s": ["2"], "more": [True]})
    deltalake.write_deltalake(table, wider, mode="append", schema_mode="merge")
    with pytest.raises(StateplanError, match="Detected schema change in version 1") as caught:
        running.latest_offset(first)
    assert caught.value.condition == "DELTA_SCHEMA_CHANGED_WITH_VERSION"
    with pytest.raises(StateplanError) as caught:
        make_source("delta", path=str(table), schema=running.schema)
    assert caught.value.condition == "STATEPLAN_SOURCE_COLUMNS"
    assert run(table, place, "SELECT n, more FROM STREAM t")[1] == [[2]]  # as on Delta
    sql = "SELECT coalesce(more, false) FROM STREAM t"
    assert run(table, tmp_path / "new", sql)[1] == [[False, True]]


def test_partitions_and_types(tmp_path: Path) -> None:
    day, moment = dt.date(2026, 1, 31), dt.datetime(2026, 1, 31, 1, 2, 3, 4, dt.UTC)
    table = tmp_path / "t"
    add(table, 1, day=[day], at=[moment], text=["a b/ü=%"], flag=[True])
    sql = "SELECT struct(n, day, unix_micros(at) AS at, text, flag) FROM STREAM t"
    given = {"format": "delta", "path": str(table)}
    expected = {"n": 1, "day": day, "at": 1769821323000004, "text": "a b/ü=%", "flag": True}
    for options in ({}, {"startingVersion": 0}):  # the snapshot, and the log
        sink = MemorySink()
        source = {**given, "options": options}
        handle = stateplan.sql(sql, {"t": source}).run(
            engine="embedded", sink=sink, trigger="once", background=False
        )
        assert handle.exception() is None
        assert sink.rows() == [(expected,)]


def test_another_table_and_a_log_that_is_gone(tmp_path: Path) -> None:
    table, other, place = tmp_path / "t", tmp_path / "other", tmp_path / "c"
    add(table, 1)
    add(other, 1)
    run(table, place)
    with pytest.raises(StateplanError) as caught:
        run(other, place)
    assert caught.value.condition == "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE"
    add(table, 2)
    add(table, 3)
    opened(table).create_checkpoint()
    for number in (0, 1):
        (table / "_delta_log" / f"{number:020}.json").unlink()
    with pytest.raises(StateplanError, match="expecting process data from version 1"):
        run(table, place)
    assert run(table, place, failOnDataLoss=False)[1] == [[3]]


@pytest.mark.parametrize(
    ("options", "condition"),
    [
        ({"startingVersion": "7"}, "DELTA_VERSION_NOT_FOUND"),
        ({"startingVersion": "x"}, "STATEPLAN_BAD_OPTION"),
        ({"startingTimestamp": "2999-01-01"}, "DELTA_TIMESTAMP_GREATER_THAN_COMMIT"),
        ({"startingTimestamp": "soon"}, "DELTA_TIMESTAMP_INVALID"),
        (
            {"startingVersion": "0", "startingTimestamp": "2020-01-01"},
            "DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET",
        ),
        ({"readChangeFeed": "true"}, "STATEPLAN_UNKNOWN_OPTION"),
    ],
)
def test_bad_options(tmp_path: Path, options: Any, condition: str) -> None:
    add(tmp_path / "t", 1)
    with pytest.raises(StateplanError) as caught:
        run(tmp_path / "t", tmp_path / "c", **options)
    assert caught.value.condition == condition


def test_there_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(StateplanError) as caught:
        run(tmp_path / "none", tmp_path / "c")
    assert caught.value.condition == "DELTA_TABLE_NOT_FOUND"


# ---------------------------------------------------------------------------------------- the sink


class Writing:
    """A query that writes the numbers of its source to a table; each run is one batch."""

    def __init__(self, root: Path, sql: str = "SELECT n FROM STREAM t", mode: str = "append"):
        self.table, self.place = root / "t", root / "c"
        (root / "in").mkdir()
        self._in, self._count = root / "in", 0
        source = {"format": "json", "schema": "n INT", "path": str(self._in)}
        self._query = stateplan.sql(sql, {"t": source}, output_mode=mode)

    def put(self, *numbers: int) -> None:
        text = "".join(json.dumps({"n": n}) + "\n" for n in numbers)
        (self._in / f"{self._count}.json").write_text(text)
        self._count += 1

    def run(self, **sink: Any) -> Any:
        handle = self._query.run(
            engine="embedded",
            sink={"format": "delta", "path": str(self.table), **sink},
            trigger="available_now",
            checkpoint=self.place,
            background=False,
        )
        if handle.exception() is not None:
            raise handle.exception()
        return handle


def test_each_batch_is_a_version_once(tmp_path: Path) -> None:
    writing = Writing(tmp_path)
    writing.put(1, 2)
    handle = writing.run()
    assert handle.last_progress["sink"] == {
        "description": f"DeltaSink[file:{writing.table}]",
        "numOutputRows": 2,
    }
    writing.put(3)
    writing.run()
    assert rows(writing.table) == [1, 2, 3]
    table = opened(writing.table)
    assert table.version() == 1 and table.transaction_version(handle.id) == 1


def test_a_batch_in_the_table_is_not_added_again(tmp_path: Path) -> None:
    writing = Writing(tmp_path)
    for number in (1, 2):
        writing.put(number)
        writing.run()
    for path in (writing.place / "commits").glob("*1*"):
        path.unlink()  # the run ended between the table's version and the commit
    writing.put(3)
    writing.run()
    assert rows(writing.table) == [1, 2, 3] and opened(writing.table).version() == 2


def test_of_two_drivers_one_commits_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import deltalake
    import pyarrow as pa

    writing = Writing(tmp_path)
    writing.put(1)
    query_id = writing.run().id
    write = deltalake.write_deltalake

    def after_another(table: Any, *arguments: Any, **settings: Any) -> None:
        other = deltalake.CommitProperties(app_transactions=[deltalake.Transaction(query_id, 1)])
        data = pa.table({"n": pa.array([2], pa.int32())})
        write(writing.table, data, mode="append", commit_properties=other)
        write(table, *arguments, **settings)

    monkeypatch.setattr(deltalake, "write_deltalake", after_another)
    writing.put(2)
    with pytest.raises(StateplanError) as caught:
        writing.run()
    assert caught.value.condition == "CONCURRENT_STREAM_LOG_UPDATE"
    monkeypatch.undo()
    writing.run()
    assert rows(writing.table) == [1, 2]


def test_complete_mode_replaces_all_rows(tmp_path: Path) -> None:
    writing = Writing(tmp_path, "SELECT count(*) AS n FROM STREAM t", "complete")
    for numbers in ((1, 2), (3,)):
        writing.put(*numbers)
        writing.run()
    assert rows(writing.table) == [3] and opened(writing.table).version() == 1


def test_partitions_and_other_columns(tmp_path: Path) -> None:
    writing = Writing(tmp_path, "SELECT n, n % 2 AS p FROM STREAM t")
    writing.put(1, 2)
    writing.run(partition_by=["p"])
    assert opened(writing.table).metadata().partition_columns == ["p"]
    other = tmp_path / "other"
    other.mkdir()
    narrow = Writing(other)
    narrow.put(1)
    add(narrow.table, 5)
    with pytest.raises(StateplanError, match="does not take the batch") as caught:
        narrow.run()
    assert caught.value.condition == "STATEPLAN_DELTA_NOT_WRITTEN"
    narrow.run(options={"mergeSchema": True})
    assert rows(narrow.table) == [1, 5]


def test_update_mode_is_refused(tmp_path: Path) -> None:
    writing = Writing(tmp_path, "SELECT count(*) AS n FROM STREAM t", "update")
    with pytest.raises(StateplanError, match="does not support Update output mode"):
        writing.run()
