"""Checkpoints of Structured Streaming: taken over, looked into, given back; see native_queries.py.

The archives are of real runs, stopped in the middle of a batch, with what Spark emitted from then
on (derive_native_checkpoints.py).
"""

from __future__ import annotations

import json
import os
import shutil
import struct
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import yaml
from click.testing import CliRunner, Result
from native_queries import HDFS, PROVIDER, QUERIES, ROCKSDB, SCHEMA, Rows, Stopped, World

import stateplan
from stateplan.planner.cli import main
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.schemas.schema_json import type_from_json
from stateplan.planner.model.schemas.types import StructField, StructType
from stateplan.runtime.native.showing import open_states

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = Path(__file__).resolve().parent / "native_checkpoints"
embedded = pytest.mark.embedded
ON_SPARK_ALONE = "limit"  # the embedded engine refuses a limit right above a watermark
READ_HERE = tuple(name for name, query in QUERIES.items() if HDFS in query.on)
VARIABLES = tuple(name for name in QUERIES if name not in READ_HERE)
ROUND_TRIPS = (
    *("windows", "totals", "old formats", "sessions", "dedup within", "limit"),
    *("full join", "window join", "user state", "counted", "gathered", "best", "maps"),
)


def archive(name: str, kind: str) -> Path:
    return FOLDER / f"{name.replace(' ', '-')}-{kind}.zip"


def stopped(name: str, tmp_path: Path, kind: str = "hdfs") -> tuple[World, Stopped]:
    """The input of a query, and its checkpoint as it was stopped."""
    world = World(tmp_path / "input")
    return world, Stopped.read(archive(name, kind), tmp_path / "input", tmp_path / kind)


def rows_of(place: Path, operators: int) -> list[list[str]]:
    """The rows of a state, by operator."""
    tables = (stateplan.read_state_table(place, operator=i) for i in range(operators))
    return [sorted(map(str, table.to_pylist())) for table in tables]


# ------------------------------------------------------------------------------------- taking over


@embedded
@pytest.mark.parametrize("name", [name for name in READ_HERE if name != ON_SPARK_ALONE])
def test_an_imported_query_emits_what_spark_emits(name: str, tmp_path: Path) -> None:
    """The batch under way runs again, then all others: every one as Spark has it. No Java."""
    from stateplan.runtime.engines.embedded_session import session

    world, was = stopped(name, tmp_path)
    taken = stateplan.import_state(was.checkpoint, tmp_path / "ours", world.query(QUERIES[name]))
    assert taken.next_batch == min(was.then)
    assert sum(rows for _, rows in taken.operators.values()) > 0
    assert world.ours(session(), QUERIES[name], tmp_path / "ours") == was.then


@pytest.mark.parametrize("name", [name for name in READ_HERE if ROCKSDB in QUERIES[name].on])
def test_both_providers_give_one_state_and_take_it_back(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    """Of RocksDB, through Spark's reader, comes what comes of HDFS-backed files, and goes back."""
    found: list[Any] = []
    for kind in ("hdfs", "rocksdb"):
        world, was = stopped(name, tmp_path / kind, kind)
        to = tmp_path / f"{kind}-ours"
        taken = stateplan.import_state(was.checkpoint, to, world.query(QUERIES[name]), spark)
        found.append((taken, rows_of(to, len(taken.operators)), was.then))
    assert found[0] == found[1]
    query = replace(QUERIES[name], conf={**QUERIES[name].conf, PROVIDER: ROCKSDB})
    stateplan.export_state(to, tmp_path / "theirs", world.query(query))
    assert world.native(spark, query, ROCKSDB, tmp_path / "theirs") == was.then


@pytest.mark.parametrize("name", VARIABLES)
def test_variables_and_timers_come_here_and_go_back(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    """What a processor keeps is in RocksDB alone: byte for byte what Spark would write there.

    One batch runs here, the others in Spark again, on files of ours.
    """
    query = QUERIES[name]
    world, was = stopped(name, tmp_path, "rocksdb")
    ours, back, theirs = (tmp_path / n for n in ("ours", "back", "theirs"))
    taken = stateplan.import_state(was.checkpoint, ours, world.query(query), spark)
    assert [rows > 20 for _, rows in taken.operators.values()] == [True]
    assert stateplan.export_state(ours, back, world.query(query)) == taken
    before, after = (all_families(spark, place) for place in (was.checkpoint, back))
    assert len(before) > 30
    assert after == before
    fails = min(was.then) + 1
    found: Rows = world.ours(spark, query, ours, fails=fails)
    assert list(found) == [fails - 1]
    stateplan.export_state(ours, theirs, world.query(query))
    found |= world.native(spark, query, ROCKSDB, theirs)
    assert found == was.then


def all_families(spark: SparkSession, place: Path) -> list[str]:
    """The bytes of all rows of a processor's state, also of what Spark keeps for itself."""
    options = {"operatorId": "0", "batchId": "1", "_readAllColumnFamilies": "true"}
    frame = spark.read.format("statestore").options(**options).load(str(place))
    return sorted(map(str, frame.collect()))


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_a_query_comes_here_and_goes_back(name: str, spark: SparkSession, tmp_path: Path) -> None:
    """Spark's batches, one of ours, then Spark's again: all as if Spark had never stopped."""
    query = QUERIES[name]
    world, was = stopped(name, tmp_path)
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    stateplan.import_state(was.checkpoint, ours, world.query(query))
    fails = min(was.then) + 1
    found: Rows = world.ours(spark, query, ours, fails=fails)
    assert list(found) == [fails - 1]
    stateplan.export_state(ours, theirs, world.query(query))
    found |= world.native(spark, query, HDFS, theirs)
    assert found == was.then


def test_state_that_is_given_back_at_once_is_as_it_was(tmp_path: Path) -> None:
    for name in READ_HERE:
        query = QUERIES[name]
        world, was = stopped(name, tmp_path / name)
        there, back = tmp_path / name / "ours", tmp_path / name / "theirs"
        taken = stateplan.import_state(was.checkpoint, there, world.query(query))
        assert stateplan.export_state(there, back, world.query(query)) == taken, name
        before, after = (rows_of(place, len(taken.operators)) for place in (was.checkpoint, back))
        assert [len(rows) for rows in before] == [len(rows) for rows in after], name
        if "join" not in name and name != "best":  # rows of one key have another order there
            assert before == after, name


@pytest.mark.parametrize("name", READ_HERE)
def test_rows_are_written_byte_for_byte_as_spark_writes_them(name: str, tmp_path: Path) -> None:
    from stateplan.planner.evolution.reading import read_checkpoint
    from stateplan.runtime.native.hdfs_files import read_version, versions
    from stateplan.runtime.native.stores import partitions
    from stateplan.runtime.native.unsafe_reading import read_rows
    from stateplan.runtime.native.unsafe_writing import write_rows
    from stateplan.runtime.state import located

    _, was = stopped(name, tmp_path)
    compared = 0
    for number, operator in read_checkpoint(was.checkpoint).operators.items():
        folder = located(was.checkpoint) / "state" / str(number)
        for store, schema in operator.stores.items():
            for _, place in partitions(folder, store):
                rows = read_version(place, max(versions(place), default=0))
                for fields, written in ((schema.key, [*rows]), (schema.value, [*rows.values()])):
                    types = (StructField(f["name"], type_from_json(f["type"])) for f in fields)
                    kind = StructType(tuple(types))
                    assert write_rows(read_rows(written, kind), kind, len(written)) == written
                    compared += len(written)
    assert compared > 0


def test_quantile_summaries_are_converted_whatever_they_have_left_out() -> None:
    """Bytes and words say the same; a summary of no values has its error in the bytes alone."""
    from stateplan.runtime.native.objects import give_quantiles, take_quantiles
    from stateplan.runtime.native.unsafe_reading import BadRow

    samples = [(-0.0, 1, 0), (2.5, 300, 70_000), (float("nan"), 1, 0)]
    written = [
        struct.pack(">idqi", 10_000, 1 / 50, 302, 3)
        + b"".join(struct.pack(">dqq", *s) for s in samples),
        struct.pack(">idqi", 10_000, 1 / 100, 0, 0),
        struct.pack(">idqi", 10_000, 1 / 100, 1, 1) + struct.pack(">dqq", 7, 1, 0),
    ]
    taken = take_quantiles(pa.array(written, pa.binary()))
    assert [len(words) for words in taken.to_pylist()] == [3 + 3 + 2 + 2, 0, 2 + 1]
    assert give_quantiles(taken, 100).to_pylist() == written
    with pytest.raises(BadRow):
        take_quantiles(pa.array([written[0][:-24]]))


# ---------------------------------------------------------------------------------- command line


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def described(world: World, name: str, folder: Path) -> Path:
    """A query as a description file."""
    query = world.query(QUERIES[name])
    content = {
        "sql": QUERIES[name].sql,
        "sources": {
            n: {"schema": SCHEMA, "format": "json", "path": s.path, "options": dict(s.options)}
            for n, s in query.sources.items()
        },
        "output_mode": QUERIES[name].mode,
    }
    file = folder / "query.yaml"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    return file


def test_the_commands(tmp_path: Path) -> None:
    world, was = stopped("sessions", tmp_path)
    query, ours, theirs = described(world, "sessions", tmp_path), tmp_path / "o", tmp_path / "t"
    taken = run("state", "import", was.checkpoint, "--to", ours, "--query", query)
    assert taken.exit_code == 0, taken.output
    assert taken.stdout.startswith("operator 0 (sessionWindowStateStoreSaveExec): ")
    assert taken.stdout.endswith(f"{ours}: the query goes on with batch 2\n")
    again = run("state", "import", was.checkpoint, "--to", ours, "--query", query)
    assert (again.exit_code, "STATEPLAN_DIRECTORY_IN_USE" in again.output) == (2, True)
    given = run("state", "export", ours, "--to", theirs, "--query", query)
    assert given.stdout.replace(str(theirs), "") == taken.stdout.replace(str(ours), "")
    conf = json.loads((theirs / "offsets" / "2").read_text().split("\n")[1])["conf"]
    assert conf[PROVIDER] == HDFS
    assert (theirs / "metadata").read_text() == (was.checkpoint / "metadata").read_text()
    wrong = run("state", "export", was.checkpoint, "--to", tmp_path / "x", "--query", query)
    assert "STATEPLAN_STATE_OF_SPARK" in wrong.output
    wrong = run("state", "import", ours, "--to", tmp_path / "x", "--query", query)
    assert "STATEPLAN_STATE_IS_OURS" in wrong.output
    assert not (tmp_path / "x").exists()


def test_another_query_is_refused(tmp_path: Path) -> None:
    world, was = stopped("windows", tmp_path)
    with pytest.raises(StateplanError) as refused:
        stateplan.import_state(was.checkpoint, tmp_path / "o", world.query(QUERIES["sessions"]))
    assert refused.value.condition == "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
    assert not (tmp_path / "o").exists()


def test_show_reads_what_spark_wrote(tmp_path: Path) -> None:
    _, was = stopped("full join", tmp_path)
    summary = json.loads(
        run("state", "show", was.checkpoint, "--format", "json", "--limit", 1).stdout
    )
    assert {"side", "field0", "left_id", "right_qty", "partition_id"} <= set(summary)
    table = stateplan.read_state_table(was.checkpoint, where="side = 'left' AND left_id >= 100")
    assert table.num_rows > 0
    assert min(table["left_id"].to_pylist()) >= 100
    assert set(table["right_qty"].to_pylist()) == {None}
    shown = run("state", "show", was.checkpoint)
    assert "symmetricHashJoin" in shown.stdout
    for version in (1, 2):
        assert run("state", "show", was.checkpoint, "--version", version).exit_code == 0


@pytest.mark.parametrize(("name", "version"), list(zip(VARIABLES, (1, 2), strict=True)))
def test_show_lists_variables_and_timers_by_name(
    name: str, version: int, spark: SparkSession, tmp_path: Path
) -> None:
    """Each row is one that Spark's own source gives of that variable."""
    _, was = stopped(name, tmp_path, "rocksdb")
    state = open_states(str(was.checkpoint)).state(0, version)
    table = pa.Table.from_batches(state.batches())
    assert table.column_names[:2] == ["variable", "user"]
    users, counts = set(), []
    for variable, own in {
        "last": ("value",),
        "ids": ("list_element",),
        "by size": ("user_map_key", "user_map_value"),
        "timers": ("expiration_timestamp_ms",),
    }.items():
        timers = variable == "timers"
        option = ("readRegisteredTimers", "true") if timers else ("stateVarName", variable)
        reader = spark.read.format("statestore").option(*option).option("batchId", version - 1)
        told = reader.load(str(was.checkpoint)).select("key.user", *own, "partition_id").collect()
        names = own if timers else tuple(f"{variable}_{column}" for column in own)
        rows = table.filter(pc.equal(table["variable"], variable))
        shown = rows.select(["user", *names, "partition_id"]).to_pylist()
        assert sorted(str(_plain(row)) for row in shown) == sorted(str(_plain(r)) for r in told)
        users |= {row["user"] for row in shown}
        counts.append(len(shown))
    figures = state.summary()
    assert (figures.rows, figures.keys) == (sum(counts), len(users))
    assert figures.rows > 20


def test_variables_of_a_copy_are_read_and_an_early_format_is_named(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark's metadata names the schemas by their whole paths: nothing lies there any more."""
    _, was = stopped("variables", tmp_path, "rocksdb")
    moved = was.checkpoint.rename(tmp_path / "moved")
    rows = stateplan.read_state_table(moved, where="variable = 'timers'").num_rows
    assert rows > 3
    (metadata,) = moved.glob("state/0/_metadata/v2/0")
    text = metadata.read_text(encoding="utf-8")
    metadata.write_text(text.replace("stateSchemaFilePaths", "stateSchemaFilePath"))
    shown = run("state", "show", moved)
    assert (shown.exit_code, "hint: Start the query with a new" in shown.stderr) == (2, True)


def _plain(value: Any) -> Any:
    """Rows and structs as lists of what they hold: Arrow names the fields, Spark's rows do not."""
    if isinstance(value, dict):
        return [_plain(part) for part in value.values()]
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


def test_show_without_schemas_counts_rows(tmp_path: Path) -> None:
    """As of Spark before 3.0, which wrote none."""
    _, was = stopped("totals", tmp_path)
    whole = stateplan.read_state_table(was.checkpoint)
    for path in was.checkpoint.rglob("_metadata/*"):
        path.unlink()
    table = stateplan.read_state_table(was.checkpoint)
    assert table.column_names == ["key", "value", "event_time", "partition_id"]
    assert table["partition_id"].to_pylist() == whole["partition_id"].to_pylist()


@embedded
@pytest.mark.parametrize("name", ["windows", *VARIABLES])
def test_rocksdb_without_spark_is_named(name: str, tmp_path: Path) -> None:
    world, was = stopped(name, tmp_path, "rocksdb")
    shown = run("state", "show", was.checkpoint)
    assert shown.exit_code == 2
    assert "STATEPLAN_STATE_NEEDS_SPARK" in shown.stderr
    assert "RocksDBStateStoreProvider" in shown.stderr
    with pytest.raises(StateplanError, match="Spark"):
        stateplan.import_state(was.checkpoint, tmp_path / "o", world.query(QUERIES[name]))


def test_files_that_are_missing_or_broken_are_named(tmp_path: Path) -> None:
    world, was = stopped("dedup for ever", tmp_path)
    store = was.checkpoint / "state" / "0" / "1"
    newest = store / "2.delta"
    content = newest.read_bytes()
    for broken in (content[:-30], content[:40], b"nothing", b""):
        newest.write_bytes(broken)
        shown = run("state", "show", was.checkpoint)
        assert (shown.exit_code, shown.exception is None or shown.exit_code == 2) == (2, True)
        assert "STATEPLAN_CHECKPOINT_CORRUPT" in shown.stderr, broken
        assert os.fspath(newest) in shown.stderr
    newest.unlink()
    with pytest.raises(StateplanError) as missing:
        stateplan.import_state(
            was.checkpoint, tmp_path / "o", world.query(QUERIES["dedup for ever"])
        )
    assert missing.value.condition == ("CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS")
    shutil.rmtree(store)
    with pytest.raises(StateplanError, match="this partition of the state is missing"):
        stateplan.import_state(
            was.checkpoint, tmp_path / "o", world.query(QUERIES["dedup for ever"])
        )
    assert not (tmp_path / "o").exists()


CONVERTED = (
    *("count(*)", "sum(x)", "avg(x)", "min(s)", "max(d)", "sum(d)", "avg(d)", "try_sum(x)"),
    *("first(s)", "last(x)", "any_value(s)", "min_by(s, x)", "stddev(f)", "skewness(f)"),
    *("covar_pop(f, f)", "corr(f, f)", "bit_xor(x)", "every(x > 1)", "count_if(x > 1)"),
    *("collect_list(s)", "collect_set(x)", "approx_count_distinct(s)", "max(b)"),
    *("percentile(x, 0.5)", "mode(s)", "percentile_approx(x, 0.5)", "max_by(s, x, 2)"),
    *("collect_set(b)", "regr_slope(f, f)", "histogram_numeric(f, 3)", "theta_sketch_agg(x)"),
    *("listagg(s, ',')", "listagg(s) WITHIN GROUP (ORDER BY s)", "array_agg(b)"),
    "listagg(s) WITHIN GROUP (ORDER BY x DESC)",
)
REFUSED = ("count_min_sketch(x, 0.5d, 0.5d, 1)", "hll_union_agg(b)")


@pytest.mark.parametrize(
    ("function", "converted"), [*((f, True) for f in CONVERTED), *((f, False) for f in REFUSED)]
)
def test_aggregates_are_converted_or_refused_by_name(function: str, converted: bool) -> None:
    """And buffers that have seen no value come back as they were."""
    from stateplan.physical.plan import StateStoreWriter
    from stateplan.runtime.native.buffers import given_buffers, taken_buffers
    from stateplan.runtime.native.unsafe_reading import stored_type
    from stateplan.runtime.plan.aggregation import partial_of
    from stateplan.runtime.plan.specs import functions_of

    schema = "k INT, x INT, s STRING, d DECIMAL(12,2), f DOUBLE, b BINARY"
    sql = f"SELECT k, {function} AS v FROM STREAM t GROUP BY k"
    query = stateplan.sql(sql, sources={"t": schema}, output_mode="update")
    (save,) = query.execution.executed_plan.collect(StateStoreWriter)
    functions = functions_of(partial_of(save))
    none = [
        pa.array([b.empty], stored_type(b.data_type)) for f in functions for b in f.forms.buffers
    ]
    if not converted:
        with pytest.raises(StateplanError) as refused:
            given_buffers(functions, none)
        assert refused.value.condition == "STATEPLAN_STATE_NOT_CONVERTED"
        return
    given = given_buffers(functions, none)
    kinds = [stored_type(b.data_type) for f in functions for b in f.forms.plan_buffers]
    assert [column.type for column in given] == kinds
    back = taken_buffers(functions, given)
    assert [column.to_pylist() for column in back] == [column.to_pylist() for column in none]
