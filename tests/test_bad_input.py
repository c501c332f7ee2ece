"""Whatever is wrong is told in one message with condition and hint, and the right exit status."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner, Result

import stateplan
from stateplan.planner.cli import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "user STRING, ts TIMESTAMP, amount DOUBLE, qty INT, tags ARRAY<INT>"
COUNT = "SELECT user, count(*) AS n FROM STREAM events GROUP BY user"
WINDOW = (
    "SELECT count(*) AS n FROM STREAM events WATERMARK ts DELAY OF INTERVAL 5 SECONDS "
    "GROUP BY window(ts, '10 seconds')"
)


def described(folder: Path, sql: str | None = COUNT, **keys: Any) -> Path:
    """A description file in a folder."""
    content = {
        "sources": {"events": {"schema": SCHEMA, "path": "in"}},
        "sql": sql,
        "output_mode": "update",
        "sink": "noop",
        "trigger": "available_now",
        "checkpoint": "checkpoint",
        "conf": {"spark.sql.shuffle.partitions": 2},
        **keys,
    }
    path = folder / "query.yaml"
    path.write_text(yaml.safe_dump({k: v for k, v in content.items() if v is not None}))
    return path


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def refused(result: Result, condition: str, *words: str, status: int = 2) -> None:
    """One error with its condition, one hint, no traceback, nothing else."""
    assert result.exit_code == status, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    before, _, message = result.stderr.partition("error: ")
    assert message.startswith(f"[{condition}] "), result.stderr
    assert all(line.startswith(("engine: ", "batch ")) for line in before.splitlines())
    assert "error: " not in message
    lines = message.splitlines()
    assert lines[-1].startswith("hint: ") and len(lines[-1]) > len("hint: .")
    assert "Traceback" not in result.output and 'File "' not in result.stderr
    for word in words:
        assert word in result.stderr


# ------------------------------------------------------------------------------------- the query


@pytest.mark.parametrize(
    ("sql", "condition", "word"),
    [
        ("SELECT usr FROM STREAM events", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "`usr`"),
        ("SELECT user FROM STREAM evnts", "TABLE_OR_VIEW_NOT_FOUND", "`evnts`"),
        ("SELECT cuont(*) FROM STREAM events", "UNRESOLVED_ROUTINE", "`cuont`"),
        ("SELECT CAST(user AS STRNG) FROM STREAM events", "UNSUPPORTED_DATATYPE", '"STRNG"'),
        (
            "SELECT user + tags FROM STREAM events",
            "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES",
            '"(user + tags)"',
        ),
        (
            "SELECT sum(tags) FROM STREAM events",
            "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
            '"sum(tags)"',
        ),
        (
            "SELECT length(user, 1) FROM STREAM events",
            "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
            "`length`",
        ),
        ("SELECT user FROM STREAM events GRUOP BY user", "PARSE_SYNTAX_ERROR", "line 1, pos 37"),
        ("SELECT 'user FROM STREAM events", "PARSE_SYNTAX_ERROR", "line 1, pos 7"),
        ("", "PARSE_EMPTY_STATEMENT", "SELECT"),
        ("DROP TABLE events", "STATEPLAN_UNSUPPORTED_STATEMENT", "DROP"),
        (WINDOW.replace("SECONDS", "SECNDS"), "PARSE_SYNTAX_ERROR", "'SECNDS'"),
        (WINDOW.replace("10 seconds", "10 parsecs"), "CANNOT_PARSE_INTERVAL", "'10 parsecs'"),
        (
            WINDOW.replace("10 seconds", "-10 seconds"),
            "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
            "window_duration",
        ),
        (
            WINDOW.replace("WATERMARK ts", "WATERMARK user"),
            "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE",
            "`user`",
        ),
        ("SELECT sum(count(*)) FROM STREAM events", "NESTED_AGGREGATE_FUNCTION", "subquery"),
        (
            "SELECT user FROM STREAM events WHERE count(*) > 1",
            "INVALID_WHERE_CONDITION",
            "HAVING",
        ),
        (COUNT.replace("BY user", "BY 3"), "GROUP_BY_POS_OUT_OF_RANGE", "position 3"),
    ],
)
def test_a_query_that_means_nothing(tmp_path: Path, sql: str, condition: str, word: str) -> None:
    path = described(tmp_path, sql)
    refused(call("explain", path), condition, word)
    with pytest.raises(stateplan.StateplanError) as caught:
        stateplan.load(path).explain()
    assert caught.value.condition == condition and caught.value.hint


@pytest.mark.parametrize(
    ("sql", "mode", "condition", "word"),
    [
        (COUNT, "append", "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION", "append"),
        (
            "SELECT user FROM STREAM events",
            "complete",
            "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION",
            "complete",
        ),
        (
            "SELECT user FROM STREAM events ORDER BY user",
            "append",
            "_LEGACY_ERROR_TEMP_3102",
            "Sorting",
        ),
        (
            "SELECT count(DISTINCT user) FROM STREAM events",
            "update",
            "_LEGACY_ERROR_TEMP_3102",
            "Distinct",
        ),
        (
            "SELECT user FROM STREAM events LIMIT 1 OFFSET 2",
            "append",
            "_LEGACY_ERROR_TEMP_3102",
            "Offset",
        ),
        ("SELECT 1 AS one", "append", "_LEGACY_ERROR_TEMP_3102", "streaming sources"),
    ],
)
def test_what_streaming_does_not_support(
    tmp_path: Path, sql: str, mode: str, condition: str, word: str
) -> None:
    path = described(tmp_path, sql, output_mode=mode)
    for command in ("explain", "run"):  # a run is refused before a JVM starts
        refused(call(command, path), condition, word)


# ------------------------------------------------------------------------------- the description


@pytest.mark.parametrize(
    ("keys", "condition", "words"),
    [
        ({"sql": None}, "STATEPLAN_SQL_OR_PYTHON", ["'sql'"]),
        ({"outputmode": "update"}, "STATEPLAN_UNKNOWN_KEY", ["'outputmode'", "'output_mode'"]),
        ({"output_mode": "apend"}, "STATEPLAN_BAD_VALUE", ["'output_mode'", "'append'"]),
        ({"sources": {"events": {"shema": "a INT"}}}, "STATEPLAN_UNKNOWN_KEY", ["'schema'"]),
        ({"sources": {"events": {}}}, "STATEPLAN_SOURCE_SCHEMA_MISSING", ["'events'"]),
        ({"sources": {"events": {"schema": "a STRNG"}}}, "UNSUPPORTED_DATATYPE", ["STRNG"]),
        ({"sources": {"events": {"schema": "a"}}}, "PARSE_SYNTAX_ERROR", ["name TYPE"]),
        ({"sink": {"format": "json", "pth": "x"}}, "STATEPLAN_UNKNOWN_KEY", ["'path'"]),
        (
            {"conf": {"spark.sql.shuffle.partitions": "many"}},
            "INVALID_CONF_VALUE.TYPE_MISMATCH",
            ["many"],
        ),
        (
            {"conf": {"spark.sql.shuffle.partitions": 0}},
            "INVALID_CONF_VALUE.REQUIREMENT",
            ["positive"],
        ),
    ],
)
def test_a_description_with_a_mistake(
    tmp_path: Path, keys: Mapping[str, Any], condition: str, words: list[str]
) -> None:
    refused(call("explain", described(tmp_path, **keys)), condition, *words)


@pytest.mark.parametrize(
    ("name", "content", "condition", "word"),
    [
        ("q.yaml", b"sources: [", "STATEPLAN_BAD_FILE", "line 2, column 1"),
        ("q.yaml", b"sql: SELECT 1\nsources:\n\tx: 1", "STATEPLAN_BAD_FILE", "line 3"),
        ("q.json", b'{"sql": ', "STATEPLAN_BAD_FILE", "line 1, column 9"),
        ("q.yaml", b"\xff\xfe\x00", "STATEPLAN_FILE_UNREADABLE", "UTF-8"),
        ("q.yaml", b"", "STATEPLAN_BAD_DESCRIPTION", "'sql:'"),
        ("q.yaml", b"- sql", "STATEPLAN_BAD_DESCRIPTION", "'sql:'"),
        ("q.yaml", None, "STATEPLAN_FILE_NOT_FOUND", "no file"),
    ],
)
def test_a_file_that_is_no_description(
    tmp_path: Path, name: str, content: bytes | None, condition: str, word: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    for command in ("explain", "run"):
        refused(call(command, path), condition, word, str(path))


# ----------------------------------------------------------------------------------- running it


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a directory of input; `run` takes the tests' Spark and leaves it running."""
    monkeypatch.setattr(spark, "stop", lambda: None)
    feed(tmp_path, 0)
    return tmp_path


def feed(folder: Path, number: int, *rows: str) -> None:
    """One more input file."""
    path = folder / "in" / f"{number}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(rows or ('{"user":"ann","qty":2}', '{"user":"bob","qty":1}')))
    os.utime(path, (number, number))


@pytest.mark.parametrize(
    ("keys", "condition", "words"),
    [
        ({"sources": {"events": {"schema": SCHEMA, "path": "no"}}}, "PATH_NOT_FOUND", ["/no"]),
        ({"sources": {"events": {"schema": SCHEMA}}}, "_LEGACY_ERROR_TEMP_2047", ["path"]),
        (
            {"sources": {"events": {"schema": SCHEMA, "path": "in", "format": "jsn"}}},
            "DATA_SOURCE_NOT_FOUND",
            ["jsn", "json"],
        ),
        ({"sink": "nop"}, "DATA_SOURCE_NOT_FOUND", ["nop", "noop"]),
        ({"sink": "json"}, "_LEGACY_ERROR_TEMP_2047", ["path"]),
        (
            {"sink": {"format": "json", "path": "out"}},
            "STREAMING_OUTPUT_MODE.UNSUPPORTED_DATASOURCE",
            ["update", "append"],
        ),
        ({"trigger": "soon"}, "STATEPLAN_BAD_TRIGGER", ["'soon'"]),
        ({"checkpoint": "s3a://bucket/x"}, "STATEPLAN_FILE_SYSTEM_NOT_SUPPORTED", ["s3a://"]),
        (
            {"conf": {"spark.sql.session.timeZone": "Mars/Base"}},
            "INVALID_CONF_VALUE.TIME_ZONE",
            ["Mars/Base"],
        ),
        (
            {"sql": "SELECT kll_sketch_agg_bigint(qty) FROM STREAM events"},
            "STATEPLAN_UNMERGEABLE_AGGREGATE",
            ["`kll_sketch_agg_bigint`"],
        ),
    ],
)
def test_a_run_that_cannot_start(
    folder: Path, keys: Mapping[str, Any], condition: str, words: list[str]
) -> None:
    refused(call("run", described(folder, **keys)), condition, *words)
    commits = folder / "checkpoint" / "commits"
    assert not commits.exists() or not list(commits.iterdir())


def test_an_output_directory_with_other_things(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "mine.txt").write_text("mine")
    path = described(
        folder,
        "SELECT user FROM STREAM events",
        output_mode="append",
        sink={"format": "json", "path": "out"},
    )
    refused(call("run", path), "STATEPLAN_OUTPUT_NOT_EMPTY", str(folder / "out"))
    assert [p.name for p in (folder / "out").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("other", "condition"),
    [
        ("SELECT qty, count(*) AS n FROM STREAM events GROUP BY qty", "STATE_STORE_KEY_SCHEMA"),
        ("SELECT user, sum(amount) AS n FROM STREAM events GROUP BY user", "STATE_STORE_VALUE"),
        ("SELECT user FROM STREAM events", "STREAMING_STATEFUL_OPERATOR_NOT_MATCH"),
        (f"{COUNT} UNION ALL {COUNT}", "STATEPLAN_CHECKPOINT_OTHER_QUERY"),
    ],
)
def test_a_checkpoint_of_another_query(folder: Path, other: str, condition: str) -> None:
    assert call("run", described(folder)).exit_code == 0
    feed(folder, 1)
    result = call("run", described(folder, other))
    assert f"[{condition}" in result.stderr
    refused(result, result.stderr.split("[")[1].split("]")[0])


def test_a_row_that_fails_leaves_the_checkpoint_at_the_last_commit(folder: Path) -> None:
    sql = "SELECT user, sum(10 / qty) AS q FROM STREAM events GROUP BY user"
    sink = {"format": "memory"}
    one_file = {"events": {"schema": SCHEMA, "path": "in", "options": {"maxFilesPerTrigger": 1}}}
    path = described(folder, sql, sink=sink, sources=one_file)
    feed(folder, 1, '{"user":"cid","qty":5}', '{"user":"ann","qty":0}')
    refused(call("run", path), "DIVIDE_BY_ZERO", "Batch 1 is not committed", status=1)
    assert numbers(folder / "checkpoint" / "commits") == [0]
    feed(folder, 1, '{"user":"cid","qty":5}', '{"user":"ann","qty":1}')
    result = call("run", path, "--json")
    assert (result.exit_code, result.stdout.count('"batchId": 1,')) == (0, 1)
    assert '"batchId": 0,' not in result.stdout
    assert numbers(folder / "checkpoint" / "commits") == [0, 1]


@pytest.mark.parametrize(
    ("format", "content", "condition"),
    [
        ("json", '{"user":', "FAILED_READ_FILE.NO_HINT"),
        ("parquet", "no parquet", "FAILED_READ_FILE.NO_HINT"),
    ],
)
def test_a_broken_input_file_is_named(
    folder: Path, format: str, content: str, condition: str
) -> None:
    shutil.rmtree(folder / "in")
    feed(folder, 7, content)
    options = {"mode": "FAILFAST"} if format == "json" else {}
    source = {"schema": SCHEMA, "path": "in", "format": format, "options": options}
    path = described(folder, sources={"events": source})
    refused(call("run", path), condition, str(folder / "in" / "7.json"), status=1)


def numbers(folder: Path) -> list[int]:
    return sorted(int(p.name) for p in folder.iterdir() if p.name.isdigit())


# ------------------------------------------------------------------------- damaged checkpoints


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garble(path: Path) -> None:
    """Nonsense, and no checksum beside it that would tell."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    path.write_bytes(b"v1\n{nonsense" * 9)


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where two batches ran and rows for a third wait, with a copy of the checkpoint."""
    folder = tmp_path_factory.mktemp("ran")
    for number in range(2):
        feed(folder, number)
        stateplan.load(described(folder)).run(spark, background=False).await_termination()
    feed(folder, 2)
    shutil.copytree(folder / "checkpoint", folder / "copy")
    return folder


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("metadata", garble),
        ("offsets/1", truncate),
        ("commits/1", Path.unlink),
        ("sources/0/1", Path.unlink),
        ("state/0/_metadata/metadata", Path.unlink),
        ("state/0/runs/v*2-*.json", garble),
        ("state/0/runs/r*.arrow", truncate),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_damaged_checkpoint_file_is_named(
    ran: Path, file: str, damage: Callable[[Path], None]
) -> None:
    checkpoint = ran / "checkpoint"
    shutil.rmtree(checkpoint)
    shutil.copytree(ran / "copy", checkpoint)
    path = max(checkpoint.glob(file))
    damage(path)
    result = call("run", described(ran))
    if file == "commits/1":  # without its commit a batch runs again
        assert result.exit_code == 0, result.output
        assert numbers(checkpoint / "commits") == [0, 1, 2]
        return
    refused(result, result.stderr.split("[")[1].split("]")[0])
    assert str(path) in result.stderr
    assert numbers(checkpoint / "commits") == [0, 1]
