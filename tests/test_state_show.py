"""State as a table: named and typed columns, conditions, figures, formats, what is refused."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import stateplan
from stateplan.planner.cli import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "user STRING, ts TIMESTAMP, qty INT"
EVENTS = "STREAM events WATERMARK ts DELAY OF INTERVAL 5 SECONDS"
WINDOWS = (
    "SELECT window(ts, '10 seconds') AS w, user, count(*) AS n, avg(qty) AS a, "
    f"collect_list(qty) AS q FROM {EVENTS} GROUP BY 1, 2"
)
SESSIONS = (
    f"SELECT session_window(ts, '4 seconds') AS s, user, sum(qty) AS n FROM {EVENTS} GROUP BY 1, 2"
)
CHAIN = (
    "SELECT window(w, '20 seconds') AS v, sum(n) AS s FROM (SELECT window(ts, '10 seconds') AS w, "
    f"user, count(*) AS n FROM {EVENTS} GROUP BY 1, 2) GROUP BY 1"
)
JOIN = (
    f"SELECT a.user, w, qty FROM (SELECT user, window(ts, '10 seconds') AS w FROM {EVENTS}) AS a "
    f"LEFT JOIN (SELECT user, qty, window(ts, '10 seconds') AS v FROM {EVENTS}) AS b "
    "ON a.user = b.user AND w = v AND qty > 5"
)
BATCHES = (
    [("ann", 1, 3), ("bob", 2, 1), ("ann", 3, 4), ("cid", 19, None)],
    [("ann", 31, 5), ("bob", 33, 6), ("ann", 38, 7), (None, 39, 8)],
)


def stamp(second: int) -> dt.datetime:
    return dt.datetime(2026, 1, 1, 0, 0, second, tzinfo=dt.UTC)


QUERIES = (("windows", WINDOWS), ("sessions", SESSIONS), ("chain", CHAIN), ("join", JOIN))


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the input, and the checkpoints of some queries that have read it."""
    found = tmp_path_factory.mktemp("state")
    (found / "in").mkdir()
    for number, batch in enumerate(BATCHES):
        path = found / "in" / f"{number}.json"
        rows = ({"user": u, "ts": stamp(s).isoformat(), "qty": q} for u, s, q in batch)
        path.write_text("\n".join(map(json.dumps, rows)))
        os.utime(path, (number, number))
    options = {"maxFilesPerTrigger": "1"}
    source = {"schema": SCHEMA, "path": str(found / "in"), "options": options}
    for name, sql in QUERIES:
        query = stateplan.sql(
            sql,
            sources={"events": source},
            output_mode="append",
            conf={"spark.sql.shuffle.partitions": "2"},
        )
        where = str(found / name)
        running = query.run(
            spark, checkpoint=where, sink="noop", trigger="available_now", background=False
        )
        running.await_termination()
    return found


def show(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["state", "show", *map(str, arguments)])


def rows_of(result: Result) -> list[Any]:
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_columns_have_names_and_types(folder: Path) -> None:
    table = stateplan.read_state_table(folder / "windows")
    window = "struct<start: timestamp[us, tz=UTC], end: timestamp[us, tz=UTC]>"
    assert [(f.name, str(f.type)) for f in table.schema] == [
        ("window", window),
        ("user", "string"),
        ("count", "int64"),
        ("sum", "double"),
        ("count_2", "int64"),
        ("buf", "list<element: int32>"),
        ("event_time", "timestamp[us, tz=UTC]"),
        ("partition_id", "int32"),
    ]
    found = sorted(table.drop(["partition_id"]).to_pylist(), key=lambda row: row["user"] or "")
    last = {"start": stamp(30), "end": stamp(40)}
    names = table.column_names[:-1]
    assert [list(row.values()) for row in found] == [
        [last, None, 1, 8.0, 1, [8], stamp(40)],
        [last, "ann", 2, 12.0, 2, [5, 7], stamp(40)],
        [last, "bob", 1, 6.0, 1, [6], stamp(40)],
    ], names
    assert set(table["partition_id"].to_pylist()) <= {0, 1}


def test_sessions_have_their_start_and_end(folder: Path) -> None:
    table = stateplan.read_state_table(folder / "sessions", where="user = 'ann'")
    assert table.column_names[:4] == ["user", "sessionStartTime", "session_window", "sum"]
    found = sorted(table.to_pylist(), key=lambda row: row["sum"])
    assert [(r["sessionStartTime"], r["session_window"]["end"], r["sum"]) for r in found] == [
        (stamp(31), stamp(35), 5),
        (stamp(38), stamp(42), 7),
    ]


def test_both_sides_of_a_join_are_shown(folder: Path) -> None:
    table = stateplan.read_state_table(folder / "join")
    names = ["side", "field0", "field1", "user", "w", "left_matched", "user_2", "qty", "v"]
    assert table.column_names[:-2] == names
    window = {"start": stamp(30), "end": stamp(40)}
    found = sorted(table.drop(["partition_id", "event_time"]).to_pylist(), key=str)
    assert [list(row.values()) for row in found] == [
        ["left", "ann", window, "ann", window, True, None, None, None],
        ["left", "ann", window, "ann", window, True, None, None, None],
        ["left", "bob", window, "bob", window, True, None, None, None],
        ["left", None, window, None, window, False, None, None, None],
        ["right", "ann", window, None, None, None, "ann", 7, window],
        ["right", "bob", window, None, None, None, "bob", 6, window],
    ]
    assert rows_of(show(folder / "join", "--where", "qty = 7", "--format", "json"))[0]["qty"] == 7


@pytest.mark.parametrize(
    ("condition", "users"),
    [
        ("user = 'ann'", ["ann"]),
        ("user <> 'ann'", ["bob"]),
        ("user IS NULL OR user LIKE 'b%'", [None, "bob"]),
        ("NOT user <=> 'ann'", [None, "bob"]),
        ("window.end > '2026-01-01 00:00:40'", []),
        ("window.start = TIMESTAMP '2026-01-01 00:00:30' AND sum >= 8", [None, "ann"]),
        ("sum / count_2 > 6 OR event_time < '2026-01-01'", [None]),
        ("count + 1 IN (3, 4) AND partition_id BETWEEN 0 AND 1", ["ann"]),
        ("count_2 NOT BETWEEN 2 AND 5 AND length(user) = 3", ["bob"]),
        ("usr = 'ann'", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("user = ", "PARSE_SYNTAX_ERROR"),
        ("count", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"),
        ("array_contains(buf, 5)", ["ann"]),
        ("soundex(user) = 'A500'", "STATEPLAN_UNSUPPORTED_CONDITION"),
        ("sum / (count - count) > 0", "DIVIDE_BY_ZERO"),
    ],
)
def test_conditions(folder: Path, condition: str, users: list[str] | str) -> None:
    result = show(folder / "windows", "--where", condition, "--format", "json")
    if isinstance(users, list):
        assert sorted((r["user"] for r in rows_of(result)), key=lambda u: u or "") == users
        return
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"error: [{users}") and "\nhint: " in result.stderr
    if "column" in users.lower():
        assert "usr" in result.stderr and "window STRUCT<start: TIMESTAMP" in result.stderr


def test_terminal_shows_figures_and_rows(folder: Path) -> None:
    result = show(folder / "windows", "--limit", 2)
    assert result.exit_code == 0, result.output
    header, _, figures, _, columns, _, *rows = result.stdout.splitlines()
    assert header.split()[:8] == [
        "operator",
        "name",
        "version",
        "stores",
        "keys",
        "rows",
        "bytes",
        "files",
    ]
    assert figures.split()[:6] == ["0", "stateStoreSave", "3", "2", "3", "3"]
    assert "2026-01-01 00:00:40" in figures
    assert columns.split() == [
        *("window", "user", "count", "sum", "count_2", "buf", "event_time", "partition_id"),
    ]
    assert len(rows) == 2
    assert rows[0].startswith("{start: 2026-01-01 00:00:30, end: 2026-01-01 00:00:40}")


def test_several_operators_are_a_table(folder: Path) -> None:
    result = show(folder / "chain")
    assert [line.split()[:2] for line in result.stdout.splitlines()[2:]] == [
        ["0", "stateStoreSave"],
        ["1", "stateStoreSave"],
    ]
    first, second = rows_of(show(folder / "chain", "--format", "json"))
    assert (first["operatorId"], second["operatorId"]) == (0, 1)
    assert second["numKeys"] == second["numRows"] == 3 and second["sizeBytes"] > 0
    assert second["oldestEventTime"] == "2026-01-01T00:00:40+00:00"
    spread = second["keysPerPartition"]
    assert spread["min"] + spread["max"] == 3 and spread["median"] == 1.5
    assert second["largestPartitionShare"] == pytest.approx(spread["max"] / 3, abs=1e-6)
    (inner,) = {
        r["window"]["end"]
        for r in rows_of(show(folder / "chain", "--operator", 1, "--format", "json"))
    }
    assert inner == "2026-01-01T00:00:40+00:00"


def test_an_earlier_version(folder: Path) -> None:
    found = rows_of(show(folder / "windows", "--version", 1, "--format", "json"))
    assert sorted(row["user"] for row in found) == ["ann", "bob", "cid"]


def test_files(folder: Path, tmp_path: Path) -> None:
    table = stateplan.read_state_table(folder / "windows")
    path = tmp_path / "state.parquet"
    result = show(folder / "windows", "--format", "parquet", "--output", path)
    assert result.stdout == f"3 rows of operator 0 written to {path}\n", result.output
    assert pq.read_table(path).equals(table)
    path = tmp_path / "state.json"
    show(folder / "windows", "--format", "json", "--output", path)
    assert len(path.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "condition", "words"),
    [
        (["nowhere"], "STATEPLAN_NO_CHECKPOINT", ["nowhere"]),
        (["windows", "--operator", 3], "STATEPLAN_NO_SUCH_OPERATOR", ["0 (stateStoreSave)"]),
        (["windows", "--version", 9], "STATEPLAN_NO_SUCH_VERSION", ["9", "1 to 3"]),
        (["chain", "--where", "user = 'a'"], "STATEPLAN_WHICH_OPERATOR", ["1 (stateStoreSave)"]),
        (["windows", "--format", "parquet"], "STATEPLAN_OUTPUT_MISSING", ["--output"]),
        (["windows", "--output", "/no/where/x"], "STATEPLAN_CANNOT_WRITE_FILE", ["/no/where/x"]),
    ],
)
def test_what_cannot_be_shown(
    folder: Path, arguments: list[object], condition: str, words: list[str]
) -> None:
    result = show(folder / str(arguments[0]), *arguments[1:])
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"error: [{condition}] ") and "\nhint: " in result.stderr
    assert "Traceback" not in result.output and all(word in result.stderr for word in words)


def remove(path: Path) -> None:
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    path.unlink()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def nonsense(path: Path) -> None:
    remove(path)
    path.write_text('v1\n[{"part": "key"}]')


@pytest.mark.parametrize(
    ("file", "damage", "condition"),
    [
        ("state/0/_metadata/columns", remove, "STATEPLAN_STATE_NOT_DESCRIBED"),
        ("state/0/_metadata/columns", cut, "STATEPLAN_CHECKPOINT_CORRUPT"),
        ("state/0/_metadata/columns", nonsense, "STATEPLAN_CHECKPOINT_CORRUPT"),
        ("state/0/_metadata/metadata", cut, "STATEPLAN_CHECKPOINT_CORRUPT"),
        ("offsets/2", remove, "STATEPLAN_CHECKPOINT_CORRUPT"),
        ("metadata", remove, "STATEPLAN_CHECKPOINT_CORRUPT"),
        ("state/0/runs/v*3*.json", cut, "STATEPLAN_CORRUPT_STATE"),
        ("state/0/runs/r*.arrow", cut, "STATEPLAN_CORRUPT_STATE"),
        (
            "state/0/runs/r*.arrow",
            remove,
            "CANNOT_LOAD_STATE_STORE.CANNOT_READ_MISSING_STATE_FILE",
        ),
    ],
)
def test_damaged_files_are_named(
    folder: Path, tmp_path: Path, file: str, damage: Callable[[Path], None], condition: str
) -> None:
    checkpoint = Path(shutil.copytree(folder / "windows", tmp_path / "checkpoint"))
    path = max(checkpoint.glob(file))
    damage(path)
    result = show(checkpoint)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"error: [{condition}] ") and "\nhint: " in result.stderr
    assert str(path) in result.stderr and "Traceback" not in result.output


def test_without_a_committed_batch(folder: Path, tmp_path: Path) -> None:
    checkpoint = Path(shutil.copytree(folder / "windows", tmp_path / "checkpoint"))
    shutil.rmtree(checkpoint / "commits")
    result = show(checkpoint)
    assert "STDS_COMMITTED_BATCH_UNAVAILABLE" in result.stderr and result.exit_code == 2


@pytest.mark.parametrize("name", ["windows", "sessions"])
def test_dataframe_is_what_spark_reads_of_its_own_state(
    spark: SparkSession, folder: Path, tmp_path: Path, name: str
) -> None:
    """Structured Streaming runs the same query; its `statestore` source gives the same rows."""
    from pyspark.sql import functions as F

    ours = stateplan.read_state(spark, folder / name)
    assert ours.columns == ["partition_id", "key", "value", "event_time"]
    flat = ours.select("partition_id", "key.*", "value.*", "event_time").toArrow()
    table = stateplan.read_state_table(folder / name)
    assert as_set(flat.select(table.column_names).to_pylist()) == as_set(table.to_pylist())

    events = (
        spark.readStream.schema(SCHEMA)
        .option("maxFilesPerTrigger", 1)
        .json(str(folder / "in"))
        .withWatermark("ts", "5 seconds")
    )
    windowed = name == "windows"
    time = F.window("ts", "10 seconds") if windowed else F.session_window("ts", "4 seconds")
    function = F.avg("qty") if windowed else F.sum("qty")
    where = str(tmp_path / "native")
    query = (
        events.groupBy(time, "user")
        .agg(function)
        .writeStream.format("noop")
        .option("checkpointLocation", where)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    native = spark.read.format("statestore").load(where).toArrow().to_pylist()
    mine = ours.toArrow().to_pylist()
    assert len(mine) == len(native)
    for row, theirs in zip(
        *(sorted(r, key=lambda r: str(r["key"])) for r in (mine, native)), strict=True
    ):
        assert (row["partition_id"], row["key"]) == (theirs["partition_id"], theirs["key"])
        for column, value in theirs["value"].items():
            if column not in theirs["key"]:
                assert row["value"][column] == value


def as_set(rows: list[Mapping[str, Any]]) -> list[str]:
    return sorted(map(str, rows))
