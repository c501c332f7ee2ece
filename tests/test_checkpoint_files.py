"""Checkpoint files: Spark's formats, whole or not at all, named when they are unusable."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from stateplan.physical.basic import StreamingRelationExec
from stateplan.physical.state import StatefulOperatorStateInfo
from stateplan.physical.stateful import StreamingDeduplicateExec
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.expressions.core import AttributeReference
from stateplan.planner.model.schemas.types import INT, STRING, DataType
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.model.settings.pinned import PINNED
from stateplan.runtime import files, state_files
from stateplan.runtime.checkpoint import (
    Checkpoint,
    CommitMetadata,
    OffsetMetadata,
    OffsetSeq,
    pinned_settings,
    restored_conf,
)
from stateplan.runtime.compactible_log import CompactibleLog
from stateplan.runtime.files import file_uri, local_path, location_of, read_whole, write_new
from stateplan.runtime.offsets import recover
from stateplan.runtime.state import Location
from stateplan.runtime.state_checks import check_state_files
from stateplan.runtime.state_files import (
    metadata_path,
    read_schema,
    schema_path,
    write_state_files,
)


def offsets(watermark: int, *ends: object) -> OffsetSeq:
    metadata = OffsetMetadata(
        batchWatermarkMs=watermark, batchTimestampMs=7, conf=pinned_settings(Conf())
    )
    return OffsetSeq(metadata=metadata, offsets=ends)


def committed(root: Path, batches: int) -> Checkpoint:
    """A checkpoint with so many committed batches; batch n runs under watermark 10 n."""
    checkpoint = Checkpoint.open(root)
    for n in range(batches):
        checkpoint.add_offsets(n, offsets(10 * n, {"logOffset": n}, None))
        checkpoint.add_commit(n, CommitMetadata(nextBatchWatermarkMs=10 * (n + 1)))
    return checkpoint


def test_files_are_written_as_spark_writes_them(tmp_path: Path) -> None:
    checkpoint = committed(tmp_path, 1)
    assert (tmp_path / "metadata").read_text() == f'{{"id":"{checkpoint.id}"}}'
    lines = (tmp_path / "offsets" / "0").read_text().split("\n")
    first = json.loads(lines[1])
    assert lines[0] == "v1"
    assert list(first) == ["batchWatermarkMs", "batchTimestampMs", "conf"]
    assert list(first["conf"]) == list(PINNED)
    assert lines[2:] == ['{"logOffset":0}', "-"]
    assert (tmp_path / "commits" / "0").read_text() == 'v1\n{"nextBatchWatermarkMs":10}'


def test_checksums_are_hadoops(tmp_path: Path) -> None:
    write_new(tmp_path / "metadata", b'{"id":"a0fa8cc3-cb10-416a-ae2c-590bc14f5a2d"}')
    assert (tmp_path / ".metadata.crc").read_bytes().hex() == "6372630000000200d59e413c"


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    write_new(tmp_path / "a", b"first")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "a", b"second")
    assert read_whole(tmp_path / "a") == b"first"
    assert sorted(p.name for p in tmp_path.iterdir()) == [".a.crc", "a"]


def test_a_second_query_on_the_checkpoint_is_noticed(tmp_path: Path) -> None:
    checkpoint = committed(tmp_path, 1)
    with pytest.raises(StateplanError) as caught:
        checkpoint.add_offsets(0, offsets(0, None, None))
    assert caught.value.condition == "CONCURRENT_STREAM_LOG_UPDATE"


def test_recovery_after_a_commit_starts_the_next_batch(tmp_path: Path) -> None:
    position, _ = recover(committed(tmp_path, 3), ["a", "b"], Conf())
    assert (position.batch_id, position.constructed) == (3, False)
    assert position.start == position.end == ({"logOffset": 2}, None)
    assert (position.watermark_ms, position.late_ms) == (30, 20)


def test_recovery_without_the_commit_repeats_the_batch(tmp_path: Path) -> None:
    checkpoint = committed(tmp_path, 2)
    checkpoint.add_offsets(2, offsets(15, {"logOffset": 5}, 3))
    position, _ = recover(Checkpoint.open(tmp_path), ["a", "b"], Conf())
    assert (position.batch_id, position.constructed, position.timestamp_ms) == (2, True, 7)
    assert (position.start, position.end) == (({"logOffset": 1}, None), ({"logOffset": 5}, 3))
    assert (position.watermark_ms, position.late_ms) == (15, 10)


def test_pinned_settings_win_over_the_new_ones() -> None:
    old = OffsetMetadata(conf={"spark.sql.shuffle.partitions": "7", "spark.other": "x"})
    conf = restored_conf(Conf({"spark.sql.shuffle.partitions": "9"}), old)
    assert (conf["spark.sql.shuffle.partitions"], "spark.other" in conf) == ("7", False)


def test_another_number_of_sources_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        StateplanError, match=r"There are \[2\] sources in the checkpoint"
    ) as caught:
        recover(committed(tmp_path, 1), ["a"], Conf())
    assert caught.value.condition == "STATEPLAN_CHECKPOINT_OTHER_QUERY"


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def garble(path: Path) -> None:
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    path.write_text("v1\n{nonsense")


def empty(path: Path) -> None:
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [truncate, garble, empty, Path.unlink])
@pytest.mark.parametrize("name", ["metadata", "offsets/2", "offsets/1", "commits/1", "commits/2"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str, damage: Callable[[Path], None]) -> None:
    checkpoint = committed(tmp_path, 3)
    if name == "commits/1":
        (tmp_path / "commits" / "2").unlink()
        (tmp_path / "commits" / "1").unlink()
        with pytest.raises(StateplanError, match=str(tmp_path / "commits" / "1")):
            recover(checkpoint, ["a", "b"], Conf())
        return
    damage(tmp_path / name)
    if name == "commits/2" and damage is Path.unlink:
        assert recover(checkpoint, ["a", "b"], Conf())[0].constructed  # as after a crash
        return
    with pytest.raises(StateplanError, match=str(tmp_path / name)) as caught:
        recover(Checkpoint.open(tmp_path), ["a", "b"], Conf())
    assert caught.value.condition == "STATEPLAN_CHECKPOINT_CORRUPT"


def test_purging_keeps_what_a_restart_needs(tmp_path: Path) -> None:
    checkpoint = committed(tmp_path, 103)
    checkpoint.purge(103)
    assert checkpoint.offset_log.ids() == list(range(3, 103))
    assert recover(checkpoint, ["a", "b"], Conf())[0].batch_id == 103


def test_a_log_is_compacted_every_tenth_batch(tmp_path: Path) -> None:
    log = CompactibleLog(tmp_path)
    for n in range(12):
        log.add(n, [{"path": f"file:///{n}", "batchId": n}])
    names = {p.name for p in tmp_path.iterdir() if not p.name.startswith(".")}
    assert names == {*map(str, range(9)), "9.compact", "10", "11"}
    assert [e["batchId"] for e in log.entries_up_to(11)] == list(range(12))
    assert CompactibleLog(tmp_path).latest() == 11


@pytest.mark.parametrize(
    ("default", "compacted", "interval"), [(10, 2, 3), (10, 9, 10), (3, 5, 6), (4, 5, 6), (2, 8, 3)]
)
def test_a_log_keeps_the_interval_it_was_begun_with(
    tmp_path: Path, default: int, compacted: int, interval: int
) -> None:
    write_new(tmp_path / f"{compacted}.compact", b"v1")
    assert CompactibleLog(tmp_path, default).compact_interval == interval


def test_a_gap_in_a_log_is_named(tmp_path: Path) -> None:
    log = CompactibleLog(tmp_path)
    for n in range(3):
        log.add(n, [])
    (tmp_path / "1").unlink()
    with pytest.raises(StateplanError, match=str(tmp_path / "1")):
        log.entries_up_to(2)


def dedup(name: str, data_type: DataType, operator_id: int = 0) -> StreamingDeduplicateExec:
    key = AttributeReference(name=name, type_=data_type)
    info = StatefulOperatorStateInfo(
        checkpoint_location="c", run_id="r", operator_id=operator_id, version=0, num_partitions=2
    )
    relation = StreamingRelationExec(name="events", format="json", attributes=(key,))
    return StreamingDeduplicateExec(child=relation, keys=(key,), state_info=info)


def test_another_run_may_write_the_same_state_files_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def twice(path: Path, data: bytes) -> None:
        write_new(path, data)
        write_new(path, data)

    monkeypatch.setattr(state_files, "write_new", twice)
    write_state_files(tmp_path, dedup("k", STRING))
    check_state_files(tmp_path, dedup("k", STRING))


def test_state_files_are_sparks(tmp_path: Path) -> None:
    write_state_files(tmp_path, dedup("k", STRING))
    assert metadata_path(tmp_path / "0").read_text() == (
        'v1\n{"operatorInfo":{"operatorId":0,"operatorName":"dedupe"},"stateStoreInfo":'
        '[{"storeName":"default","numColsPrefixKey":0,"numPartitions":2}]}'
    )
    key = b'{"type":"struct","fields":[{"name":"k","type":"string","nullable":true,"metadata":{}}]}'
    data = schema_path(tmp_path / "0").read_bytes()
    assert data.startswith(b"\x00\x02v2\x00\x00\x00\x01\x00W" + key + b"\x00\x00\x00\x01\x00]")
    keys, values = read_schema(schema_path(tmp_path / "0"))
    assert [f["name"] for f in keys + values] == ["k", "__dummy__"]


def test_renamed_state_columns_are_accepted(tmp_path: Path) -> None:
    write_state_files(tmp_path, dedup("k", STRING))
    check_state_files(tmp_path, dedup("other", STRING))


@pytest.mark.parametrize(
    ("plan", "condition"),
    [
        (dedup("k", INT), "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"),
        (dedup("k", STRING, 1), "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"),
        (dedup("k", STRING).child, "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"),
    ],
)
def test_the_state_of_another_query_is_refused(
    tmp_path: Path, plan: StreamingDeduplicateExec, condition: str
) -> None:
    write_state_files(tmp_path, dedup("k", STRING))
    with pytest.raises(StateplanError) as caught:
        check_state_files(tmp_path, plan)
    assert caught.value.condition == condition


def test_a_run_that_ended_between_two_operators_files_is_continued(tmp_path: Path) -> None:
    both = replace(dedup("k", STRING), child=dedup("k", STRING, 1))
    write_state_files(tmp_path, dedup("k", STRING))
    check_state_files(tmp_path, both, complete=False)
    with pytest.raises(StateplanError) as caught:
        check_state_files(tmp_path, both)
    assert caught.value.condition == "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
    write_state_files(tmp_path, both)
    check_state_files(tmp_path, both)
    with pytest.raises(StateplanError):
        check_state_files(tmp_path, dedup("k", STRING), complete=False)


def test_operator_metadata_that_is_gone_is_named(tmp_path: Path) -> None:
    write_state_files(tmp_path, dedup("k", STRING))
    (tmp_path / "0" / "runs").mkdir()
    metadata_path(tmp_path / "0").unlink()
    with pytest.raises(StateplanError, match=str(metadata_path(tmp_path / "0"))) as caught:
        check_state_files(tmp_path, dedup("k", STRING))
    assert caught.value.condition == "STATEPLAN_CHECKPOINT_CORRUPT"


def test_a_stateless_checkpoint_refuses_a_stateful_query(tmp_path: Path) -> None:
    with pytest.raises(StateplanError) as caught:
        check_state_files(tmp_path, dedup("k", STRING))
    assert caught.value.condition == "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"


def test_paths_and_uris() -> None:
    assert file_uri("/a b/ä%[1].json") == "file:///a%20b/ä%25%5B1%5D.json"
    assert local_path("file:///a%20b", "it") == local_path("file:/a b", "it") == Path("/a b")
    with pytest.raises(StateplanError, match="not a local file system"):
        local_path("s3a://bucket/x", "the source")
    with pytest.raises(StateplanError, match="on a file system that is not known") as caught:
        location_of("nowhere://bucket/x", "the checkpoint")
    assert caught.value.condition == "STATEPLAN_FILE_SYSTEM_NOT_SUPPORTED"


def test_two_writers_of_one_file_leave_no_checksums_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked, first = files._write_checksums, [True]

    def other_comes_first(location: Location, data: bytes) -> None:
        if first and first.pop():
            files.replace(tmp_path / "file", b"the other's")
        checked(location, data)

    monkeypatch.setattr(files, "_write_checksums", other_comes_first)
    files.replace(tmp_path / "file", b"ours")
    assert read_whole(tmp_path / "file") == b"the other's"
