"""Kafka as source and sink, on the embedded engine and librdkafka's mock brokers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kafka_cluster import Cluster, cluster

import stateplan
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.expressions.core import AttributeReference, Cast
from stateplan.planner.model.schemas.types import BINARY, STRING
from stateplan.runtime.kernels.expressions.programs.compile import compile_program
from stateplan.runtime.sinks import MemorySink
from stateplan.runtime.sources import make_source
from stateplan.runtime.sources.kafka_offsets import limited

__all__ = ["cluster"]
pytestmark = pytest.mark.embedded
SERVERS = {"kafka.bootstrap.servers": "localhost:1"}
TEXTS = "SELECT CAST(value AS STRING) AS v, partition AS p, offset AS o FROM STREAM t"


def run(options: dict[str, Any], place: Path, sql: str = TEXTS, **given: Any) -> Any:
    """The ended query, and the rows of each of its batches."""
    sink = MemorySink()
    query = stateplan.sql(sql, {"t": {"format": "kafka", "options": options}})
    given = {"sink": sink, "trigger": "available_now", **given}
    handle = query.run(engine="embedded", checkpoint=place, background=False, **given)
    if handle.exception() is not None:
        raise handle.exception()
    batches = [
        sorted(zip(*(c.to_pylist() for c in table.columns), strict=True), key=repr)
        for table in sink.batches().values()
    ]
    return handle, batches


def ends(place: Path) -> list[Any]:
    logs = sorted((place / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    return [json.loads(log.read_text().split("\n")[2]) for log in logs]


def test_each_record_once_across_restarts(cluster: Cluster, tmp_path: Path) -> None:
    cluster.send("once", "a", "b")
    cluster.send("once", "c", partition=3)
    handle, batches = run(cluster.options("once"), tmp_path)
    assert batches == [[("a", 0, 0), ("b", 0, 1), ("c", 3, 0)]]
    source = handle.last_progress["sources"][0]
    assert source["description"] == "KafkaV2[Subscribe[once]]"
    assert source["startOffset"] is None and source["numInputRows"] == 3
    end = {"once": {"0": 2, "1": 0, "2": 0, "3": 1}}
    assert source["endOffset"] == source["latestOffset"] == end
    assert source["metrics"]["maxOffsetsBehindLatest"] == "0"
    assert (tmp_path / "sources/0/0").read_bytes() == (b'\0v1\n{"once":{"0":0,"1":0,"2":0,"3":0}}')
    cluster.send("once", "d")
    handle, batches = run(cluster.options("once"), tmp_path)
    assert batches == [[("d", 0, 2)]]
    assert ends(tmp_path) == [end, {"once": {"0": 3, "1": 0, "2": 0, "3": 1}}]
    assert handle.last_progress["sources"][0]["startOffset"] == end


def test_a_batch_that_was_not_committed_reads_the_same_again(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.send("again", "a", "b")
    run(cluster.options("again"), tmp_path)
    for path in (tmp_path / "commits").iterdir():
        path.unlink()
    cluster.send("again", "c")
    assert run(cluster.options("again"), tmp_path)[1] == [
        [("a", 0, 0), ("b", 0, 1)],
        [("c", 0, 2)],
    ]


def test_limits_share_what_is_new(cluster: Cluster, tmp_path: Path) -> None:
    cluster.send("many", *"abcdef")
    cluster.send("many", "x", partition=1)
    options = cluster.options("many", maxOffsetsPerTrigger=3)
    _, batches = run(options, tmp_path)
    assert [[value for value, _, _ in batch] for batch in batches] == [
        ["a", "b", "x"],
        ["c", "d", "e"],
        ["f"],
    ]
    _, (whole,) = run(options, tmp_path / "once", trigger="once")
    assert whole == sorted(row for batch in batches for row in batch)


def test_the_share_of_a_partition() -> None:
    start, end = {("t", 0): 10, ("t", 1): 0}, {("t", 0): 110, ("t", 1): 1, ("t", 2): 50}
    assert limited(10, start, end, {("t", 2): 40}) == {("t", 0): 19, ("t", 1): 1, ("t", 2): 41}
    assert limited(1000, start, end, {("t", 2): 40}) == end
    assert limited(10, end, end, {}) == end


def test_the_least_that_a_batch_waits_for(cluster: Cluster) -> None:
    cluster.send("few", "a")
    options = cluster.options("few", minOffsetsPerTrigger=2, maxTriggerDelay="1h")
    source: Any = make_source("kafka", options=options)
    source._initial = {("few", number): 0 for number in range(4)}
    first = source.latest_offset(None)
    assert first["few"]["0"] == 1  # the first batch does not wait
    cluster.send("few", "b")
    assert source.latest_offset(first) == first
    cluster.send("few", "c")
    assert source.latest_offset(first)["few"]["0"] == 3
    source.stop()


def test_where_a_stream_begins(cluster: Cluster, tmp_path: Path) -> None:
    cluster.send("begin", "a", "b", "c")

    def first(name: str, starting: str) -> list[Any]:
        options = cluster.options("begin", startingOffsets=starting)
        return [v for batch in run(options, tmp_path / name)[1] for v, _, _ in batch]

    assert first("latest", "latest") == []
    given = {"begin": {"0": 1, "1": -1, "2": -2, "3": 0}}
    assert first("given", json.dumps(given)) == ["b", "c"]
    with pytest.raises(StateplanError, match="Assigned: begin-0, begin-1, begin-2") as caught:
        first("wrong", '{"begin": {"0": 1}}')
    assert caught.value.condition == "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED"


def test_assign_and_pattern(cluster: Cluster, tmp_path: Path) -> None:
    cluster.send("one-a", "a")
    cluster.send("one-b", "b", partition=2)
    earliest = {"startingOffsets": "earliest"}
    options = cluster.options("", subscribePattern="one-.", **earliest)
    handle, batches = run(options, tmp_path / "pattern")
    assert batches == [[("a", 0, 0), ("b", 2, 0)]]
    assert handle.last_progress["sources"][0]["description"] == "KafkaV2[SubscribePattern[one-.]]"
    options = cluster.options("", assign='{"one-b": [2, 3]}', **earliest)
    handle, batches = run(options, tmp_path / "assign")
    assert batches == [[("b", 2, 0)]]
    assert handle.last_progress["sources"][0]["description"] == "KafkaV2[Assign[one-b-2, one-b-3]]"


def test_all_columns(cluster: Cluster, tmp_path: Path) -> None:
    headers = [("h", b"1"), ("none", None)]
    cluster.send("columns", b"\xff", key=b"k", headers=headers, timestamp=1_700_000_000_123)
    cluster.send("columns", None, timestamp=1)
    options = cluster.options("columns", includeHeaders="true")
    _, ((without, with_headers),) = run(options, tmp_path, "SELECT * FROM STREAM t")
    assert with_headers[:5] == (b"k", b"\xff", "columns", 0, 0)
    assert with_headers[5].timestamp() == 1_700_000_000.123
    assert with_headers[6:] == (
        0,
        [{"key": "h", "value": b"1"}, {"key": "none", "value": None}],
    )
    assert without[:2] == (None, None) and without[7] is None


def test_data_that_is_gone(cluster: Cluster, tmp_path: Path) -> None:
    cluster.send("gone", *"abc")
    run(cluster.options("gone"), tmp_path)
    other = Cluster()  # with the same topic, anew
    other.send("gone", "x")
    with pytest.raises(StateplanError, match=r"offset was changed from 3 to 1") as caught:
        run(other.options("gone"), tmp_path)
    assert caught.value.condition == "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED"
    with pytest.warns(UserWarning, match="KAFKA_DATA_LOSS"):
        assert run(other.options("gone", failOnDataLoss="false"), tmp_path)[1] == [[]]


def test_records_that_are_gone_while_they_are_read(cluster: Cluster, tmp_path: Path) -> None:
    cluster.send("aged", *"ab")
    source: Any = make_source("kafka", options=cluster.options("aged"))
    part = [("aged", 0, 0, 5)]
    with pytest.raises(ValueError, match=r"COULD_NOT_READ_OFFSET_RANGE.*\[2, 5\).* aged-0"):
        list(source.reading()(part))
    lenient: Any = make_source("kafka", options=cluster.options("aged", failOnDataLoss="false"))
    assert sum(batch.num_rows for batch in lenient.reading()(part)) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "One of the following options must be specified"),
        ({"subscribe": "a", "assign": "{}"}, "Only one of the following options"),
        ({"subscribe": " , "}, "no topics to subscribe to"),
        ({"assign": "a"}, r"expected e.g. \{"),
        ({"subscribe": "a", "endingOffsets": "latest"}, "ending offset not valid in streaming"),
        ({"subscribe": "a", "startingOffset": "latest"}, "has no option 'startingOffset'"),
        ({"subscribe": "a", "startingOffsets": "soon"}, r"expected e.g. \{"),
        ({"subscribe": "a"}, "Option 'kafka.bootstrap.servers' must be specified"),
        ({"subscribe": "a", "kafka.auto.offset.reset": "x"}, "'auto.offset.reset' is not supp"),
        ({"subscribe": "a", "maxOffsetsPerTrigger": "0"}, "must be a whole number above 0"),
    ],
)
def test_bad_options(options: dict[str, str], message: str) -> None:
    names_none = "bootstrap" in message
    with pytest.raises(StateplanError, match=message):
        make_source("kafka", options=options if names_none else {**SERVERS, **options})


def test_librdkafka_names_a_setting_that_it_does_not_know(tmp_path: Path) -> None:
    options = {"subscribe": "a", "kafka.bootstrap.servers": "x:1", "kafka.no.such": "1"}
    with pytest.raises(StateplanError, match=r"no\.such"):
        run(options, tmp_path)


def test_bytes_that_are_no_text_are_an_error(cluster: Cluster, tmp_path: Path) -> None:
    cluster.send("bytes", b"\xff")
    with pytest.raises(StateplanError, match="no UTF-8") as caught:
        run(cluster.options("bytes"), tmp_path)
    assert caught.value.condition == "STATEPLAN_NOT_EXACT"


def test_texts_go_on_to_the_engine(cluster: Cluster, tmp_path: Path) -> None:
    cluster.send("texts", "a,b", "c")
    sql = """SELECT split(CAST(value AS STRING), ',') AS v FROM STREAM t
             WHERE CAST(value AS STRING) LIKE '%,%'"""
    assert run(cluster.options("texts"), tmp_path, sql)[1] == [[(["a", "b"],)]]


def test_tasks_on_spark_leave_bytes_to_spark() -> None:
    column = AttributeReference(name="b", type_=BINARY, expr_id=1)
    for data_type, refuses in ((STRING, True), (BINARY, False)):
        program = compile_program([Cast(child=column, type_=data_type)], [column])
        assert program is not None and program.refuses_values == refuses


def test_explain_knows_the_columns() -> None:
    query = stateplan.sql(
        "SELECT topic, headers FROM STREAM t",
        {"t": {"format": "kafka", "options": {"includeHeaders": True}}},
    )
    assert "StreamingRelation kafka, [key#" in query.explain()


# ---------------------------------------------------------------------------------------- the sink


COLUMNS = "id INT, name STRING, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"


def write(cluster: Cluster, sql: str, *rows: Any, place: Path | None = None, **options: Any) -> Any:
    query = stateplan.sql(sql, {"t": COLUMNS})
    rows = [(*row, None)[:3] for row in rows]
    sink = {"format": "kafka", "options": {"kafka.bootstrap.servers": cluster.servers, **options}}
    given = {"sink": sink, "trigger": "available_now", "background": False, "checkpoint": place}
    handle = query.run(engine="embedded", sources={"t": list(rows)}, **given)
    if handle.exception() is not None:
        raise handle.exception()
    return handle


def test_rows_are_records(cluster: Cluster) -> None:
    sql = """SELECT name AS key, CAST(id AS STRING) AS value, id % 4 AS partition, id AS other,
             headers FROM STREAM t"""
    headers = [{"key": "h", "value": b"a"}, {"key": "none", "value": None}]
    rows = [(1, "a", headers), (2, None, None)]
    handle = write(cluster, sql, *rows, topic="out")
    assert handle.last_progress["sink"] == {"description": "KafkaTable", "numOutputRows": 2}
    assert cluster.records("out") == [
        (1, b"a", b"1", [("h", b"a"), ("none", None)]),
        (2, None, b"2", None),
    ]


def test_topics_of_rows_and_keys_by_javas_hash(cluster: Cluster) -> None:
    sql = "SELECT name AS topic, 'key' AS key, CAST(name AS BINARY) AS value FROM STREAM t"
    write(cluster, sql, (1, "here"), (2, "there"))
    # murmur2 of "key", as the Java client computes it, modulo 4
    assert cluster.records("here") == [(1, b"key", b"here", None)]
    assert cluster.records("there") == [(1, b"key", b"there", None)]
    with pytest.raises(StateplanError, match="contains a null topic") as caught:
        write(cluster, sql, (1, None))
    assert caught.value.condition == "KAFKA_NULL_TOPIC_IN_DATA"


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT name AS value FROM STREAM t", "topic option required when no 'topic' attribute"),
        ("SELECT name AS topic FROM STREAM t", "Required attribute 'value' not found"),
        ("SELECT name AS topic, id AS value FROM STREAM t", "value attribute unsupported type int"),
    ],
)
def test_columns_that_cannot_be_records(cluster: Cluster, sql: str, message: str) -> None:
    with pytest.raises(StateplanError, match=message):
        write(cluster, sql, (1, "a"))
