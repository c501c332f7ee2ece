"""File sources: which files, in which order, once, across restarts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.schemas.types import INT, STRING, StructField, StructType
from stateplan.runtime.listing import list_files, name_pattern
from stateplan.runtime.sources import FileSource, MemorySource, RateSource, make_source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = StructType((StructField("v", INT),))


def put(path: Path, *values: int, at: int = 1_700_000_000) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"v": v}) + "\n" for v in values))
    os.utime(path, (at, at))


def open_source(root: Path, **options: str) -> FileSource:
    source = FileSource("json", str(root / "in"), SCHEMA, options)
    source.attach(root / "log")
    return source


def drain(source: FileSource, root: Path, start: object = None) -> list[list[str]]:
    """The files of each batch until there is nothing new."""
    batches: list[list[str]] = []
    while (end := source.latest_offset(start)) != start:
        first = -1 if start is None else start["logOffset"]  # type: ignore[index]
        paths = source._paths(first, end["logOffset"])  # type: ignore[index]
        batches.append([os.path.relpath(path, root / "in") for path in paths])
        start = end
    return batches


def test_new_files_by_time_then_name_each_once(tmp_path: Path) -> None:
    put(tmp_path / "in" / "b.json", 1, at=2)
    put(tmp_path / "in" / "c.json", 1, at=1)
    put(tmp_path / "in" / "a.json", 1, at=2)
    source = open_source(tmp_path)
    assert drain(source, tmp_path) == [["c.json", "a.json", "b.json"]]
    put(tmp_path / "in" / "old.json", 1, at=0)
    assert drain(source, tmp_path, {"logOffset": 0}) == [["old.json"]]


def test_the_log_is_sparks_and_a_restart_goes_on_behind_it(tmp_path: Path) -> None:
    put(tmp_path / "in" / "a b.json", 1, at=5)
    drain(open_source(tmp_path), tmp_path)
    uri = f"file://{tmp_path}/in/a%20b.json"
    assert (tmp_path / "log" / "0").read_text() == (
        f'v1\n{{"path":"{uri}","timestamp":5000,"batchId":0}}'
    )
    source = open_source(tmp_path)
    assert source.latest_offset({"logOffset": 0}) == {"logOffset": 0}
    put(tmp_path / "in" / "b.json", 2)
    assert drain(source, tmp_path, {"logOffset": 0}) == [["b.json"]]


def test_a_run_that_ended_between_its_two_logs_changes_no_batch(tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path / "in" / f"{number}.json", number, at=number)
    limit = {"maxFilesPerTrigger": "1"}
    first = open_source(tmp_path, **limit).latest_offset(None)
    assert first == {"logOffset": 0}
    open_source(tmp_path, **limit).latest_offset(first)  # logged, but of no batch
    again = drain(open_source(tmp_path, **limit), tmp_path, first)
    assert again == [["1.json"], ["2.json"]]
    assert open_source(tmp_path).latest_offset(first, unlimited=True) == {"logOffset": 2}


def test_batches_survive_compaction(tmp_path: Path) -> None:
    for n in range(12):
        put(tmp_path / "in" / f"{n:02d}.json", n)
    source = open_source(tmp_path, maxFilesPerTrigger="1")
    assert drain(source, tmp_path) == [[f"{n:02d}.json"] for n in range(12)]
    assert (tmp_path / "log" / "9.compact").exists()
    again = open_source(tmp_path)
    assert again._paths(8, 10) == [str(tmp_path / "in" / f"{n:02d}.json") for n in (9, 10)]


@pytest.mark.parametrize(
    ("options", "batches"),
    [
        ({}, [["1", "2", "3"]]),
        ({"maxFilesPerTrigger": "2"}, [["1", "2"], ["3"]]),
        ({"maxFilesPerTrigger": "2", "latestFirst": "true"}, [["3", "2"], ["1"]]),
        ({"maxBytesPerTrigger": "1"}, [["1"], ["2"], ["3"]]),
        ({"maxBytesPerTrigger": "18"}, [["1", "2"], ["3"]]),
        ({"pathGlobFilter": "[12]*"}, [["1", "2"]]),
    ],
)
def test_limits_and_order(
    tmp_path: Path, options: Mapping[str, str], batches: Sequence[Sequence[str]]
) -> None:
    for n in (1, 2, 3):
        put(tmp_path / "in" / str(n), 7, at=n)
    assert drain(open_source(tmp_path, **options), tmp_path) == batches


def test_once_ignores_the_limit(tmp_path: Path) -> None:
    for n in (1, 2, 3):
        put(tmp_path / "in" / str(n), 7, at=n)
    source = open_source(tmp_path, maxFilesPerTrigger="1")
    assert source.latest_offset(None, unlimited=True) == {"logOffset": 0}
    assert len(source._paths(-1, 0)) == 3


def test_available_now_stops_at_what_was_there(tmp_path: Path) -> None:
    put(tmp_path / "in" / "1", 7)
    source = open_source(tmp_path)
    source.prepare_for_available_now()
    put(tmp_path / "in" / "2", 7)
    assert drain(source, tmp_path) == [["1"]]


def test_hidden_files_and_plain_subdirectories_are_passed_over(tmp_path: Path) -> None:
    for name in ("a", ".hidden", "_temporary/x", "sub/b", "day=1/c", "day=2/_x", "x._COPYING_"):
        put(tmp_path / name, 1)
    found = [os.path.relpath(f.path, tmp_path) for f in list_files(str(tmp_path))]
    assert found == ["a", "day=1/c"]
    found = [os.path.relpath(f.path, tmp_path) for f in list_files(str(tmp_path), recursive=True)]
    assert found == ["a", "day=1/c", "sub/b"]
    found = [os.path.relpath(f.path, tmp_path) for f in list_files(f"{tmp_path}/{{sub,day=*}}")]
    assert found == ["day=1/c", "sub/b"]
    found = [os.path.relpath(f.path, tmp_path) for f in list_files(f"{tmp_path}/*")]
    assert found == ["_temporary/x", "a", "day=1/c", "sub/b"]  # the pattern names the directories


def test_hadoop_globs() -> None:
    assert name_pattern("part-{00,01}-?[!x]*.json").fullmatch("part-01-ab.json")
    assert not name_pattern("part-{00,01}-?[!x]*.json").fullmatch("part-01-ax.json")
    assert name_pattern(r"a\*").fullmatch("a*")


def test_rows_come_through_sparks_reader(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "in" / "a b%20[1].json", 1, 2)
    put(tmp_path / "in" / "k=7" / "c.json", 3)
    schema = StructType((StructField("v", INT), StructField("k", INT)))
    source = FileSource("json", str(tmp_path / "in"), schema)
    source.attach(tmp_path / "log")
    end = source.latest_offset(None)
    rows = source.batch(spark, None, end).collect()
    assert sorted((r.v, r.k) for r in rows) == [(1, None), (2, None), (3, 7)]


@pytest.mark.parametrize("format", ["parquet", "csv", "orc", "text"])
def test_every_format(spark: SparkSession, tmp_path: Path, format: str) -> None:
    spark.createDataFrame([("x",), ("y",)], "value string").write.format(format).save(
        str(tmp_path / "in")
    )
    schema = StructType((StructField("value", STRING),))
    source = make_source(format, path=str(tmp_path / "in"), schema=schema)
    source.attach(tmp_path / "log")
    rows = source.batch(spark, None, source.latest_offset(None)).collect()
    assert sorted(r.value for r in rows) == ["x", "y"]


def test_a_missing_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateplanError, match="Path does not exist") as caught:
        open_source(tmp_path)
    assert caught.value.condition == "PATH_NOT_FOUND"


def test_a_file_that_is_gone_fails_its_batch(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "in" / "a", 1)
    source = open_source(tmp_path)
    end = source.latest_offset(None)
    (tmp_path / "in" / "a").unlink()
    with pytest.raises(StateplanError, match="belongs to a batch that has to run") as caught:
        source.batch(spark, None, end)
    assert caught.value.condition == "STATEPLAN_SOURCE_FILE_GONE"


def test_the_log_of_another_directory_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "in" / "a", 1)
    put(tmp_path / "other" / "a", 1)
    drain(open_source(tmp_path), tmp_path)
    source = FileSource("json", str(tmp_path / "other"), SCHEMA)
    with pytest.raises(StateplanError) as caught:
        source.attach(tmp_path / "log")
    assert caught.value.condition == "STATEPLAN_CHECKPOINT_OTHER_QUERY"


@pytest.mark.parametrize(
    "options",
    [
        {"maxFilesPerTrigger": "0"},
        {"maxFilesPerTrigger": "x"},
        {"maxFileAge": "soon"},
        {"modifiedBefore": "2026-01-01"},
        {"cleanSource": "burn"},
        {"cleanSource": "archive"},
        {"cleanSource": "archive", "sourceArchiveDir": "{in}/done"},
        {"cleanSource": "archive", "sourceArchiveDir": "{in}/.."},
    ],
)
def test_bad_options_are_refused(tmp_path: Path, options: Mapping[str, str]) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(StateplanError) as caught:
        where = str(tmp_path / "in")
        open_source(tmp_path, **{k: v.replace("{in}", where) for k, v in options.items()})
    assert caught.value.condition == "STATEPLAN_BAD_OPTION"


def test_files_that_are_too_old_are_passed_over(tmp_path: Path) -> None:
    put(tmp_path / "in" / "old", 1, at=1000)
    put(tmp_path / "in" / "new", 1, at=1060)
    source = open_source(tmp_path, maxFileAge="1m", maxFilesPerTrigger="1")
    assert drain(source, tmp_path) == [["old"], ["new"]]  # a minute is not too old
    put(tmp_path / "in" / "older", 1, at=999)
    put(tmp_path / "in" / "fits", 1, at=1001)
    assert drain(source, tmp_path, {"logOffset": 1}) == [["fits"]]
    again = open_source(tmp_path, maxFileAge="1m")  # its log says how old the newest one is
    assert drain(again, tmp_path, {"logOffset": 2}) == []
    newest = {"latestFirst": "true", "maxFilesPerTrigger": "1"}
    newest_first = open_source(tmp_path, maxFileAge="1m", **newest)
    assert drain(newest_first, tmp_path, {"logOffset": 2}) == [["older"]]


def test_files_of_a_committed_batch_are_cleaned(tmp_path: Path) -> None:
    archive = tmp_path / "done"
    options = {
        "delete": {"cleanSource": "delete"},
        "archive": {"cleanSource": "ARCHIVE", "sourceArchiveDir": str(archive)},
    }
    for name, given in options.items():
        root = tmp_path / name
        put(root / "in" / "a", 1, at=1)
        put(root / "in" / "b", 1, at=2)
        source = open_source(root, maxFilesPerTrigger="1", **given)
        first = source.latest_offset(None)
        assert first is not None
        source.latest_offset(first)
        source.commit(first)
        source.commit(first)  # by a run that goes on from there: no harm
        assert sorted(os.listdir(root / "in")) == ["b"]
    assert Path(f"{archive}{tmp_path}/archive/in/a").exists()


def test_a_file_that_cannot_be_cleaned_is_left(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive.write_text("no directory")
    put(tmp_path / "in" / "a", 1)
    given = {"cleanSource": "archive", "sourceArchiveDir": str(archive)}
    source = open_source(tmp_path, **given)
    first = source.latest_offset(None)
    assert first is not None
    with pytest.warns(UserWarning, match="could not be moved to the archive"):
        source.commit(first)
    assert (tmp_path / "in" / "a").exists()


def test_the_output_of_a_stream_is_not_cleaned(tmp_path: Path) -> None:
    (tmp_path / "in" / "_spark_metadata").mkdir(parents=True)
    source = open_source(tmp_path, cleanSource="delete")
    with pytest.raises(StateplanError, match="output directory of FileStreamSink"):
        source.latest_offset(None)


def test_make_source_says_what_is_missing() -> None:
    for settings, condition in (
        ({"format": "kafak"}, "DATA_SOURCE_NOT_FOUND"),
        ({"format": "console"}, "_LEGACY_ERROR_TEMP_2049"),
        ({"format": "json"}, "STATEPLAN_SOURCE_SCHEMA_MISSING"),
        ({"format": "json", "schema": SCHEMA}, "_LEGACY_ERROR_TEMP_2047"),
    ):
        with pytest.raises(StateplanError) as caught:
            make_source(**settings)  # type: ignore[arg-type]
        assert caught.value.condition == condition


def test_rate_makes_the_same_rows_every_time(spark: SparkSession, tmp_path: Path) -> None:
    clock = [1000.0]
    source = RateSource({"rowsPerSecond": "4"}, lambda: clock[0])
    source.attach(tmp_path)
    assert source.latest_offset(None) == 0
    clock[0] = 1003.5
    assert source.latest_offset(0) == 3
    rows = source.batch(spark, 1, 2).selectExpr("unix_millis(timestamp)", "value").collect()
    assert [tuple(r) for r in rows] == [
        (1_001_000, 4),
        (1_001_250, 5),
        (1_001_500, 6),
        (1_001_750, 7),
    ]
    again = RateSource({"rowsPerSecond": "4"}, lambda: clock[0])
    again.attach(tmp_path)
    assert again.latest_offset(2) == 3


@pytest.mark.parametrize("options", [{"rowsPerSecond": "0"}, {"speed": "1"}])
def test_rate_refuses_bad_options(options: Mapping[str, str]) -> None:
    with pytest.raises(StateplanError):
        RateSource(options)


def test_memory_steps_are_batches(spark: SparkSession) -> None:
    source = MemorySource(SCHEMA, steps_per_trigger=1)
    assert source.latest_offset(None) is None
    source.add([(1,), (2,)])
    source.add([(3,)])
    assert source.latest_offset(None) == 1
    assert source.latest_offset(1) == 2
    assert [r.v for r in source.batch(spark, 0, 2).collect()] == [1, 2, 3]
    with pytest.raises(StateplanError, match="holds 2 steps"):
        source.batch(spark, 2, 3)
