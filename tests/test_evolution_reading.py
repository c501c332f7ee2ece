"""Checkpoints as Spark's versions write them: log versions, schema files, operators' metadata."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from stateplan.planner.evolution.reading import read_checkpoint
from stateplan.planner.model.errors import DescriptionError

KEY = '{"type":"struct","fields":[{"name":"k","type":"string","nullable":true,"metadata":{}}]}'
VALUE = '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true,"metadata":{}}]}'


def utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def chunks(text: str, pieces: int = 1) -> bytes:
    size = -(-len(text) // pieces)
    parts = [text[i : i + size] for i in range(0, len(text), size)]
    return struct.pack(">I", len(parts)) + b"".join(map(utf, parts))


SCHEMAS = {
    "v1": utf("v1") + utf(KEY) + utf(VALUE),
    "v2 in pieces": utf("v2") + chunks(KEY, 3) + chunks(VALUE, 2),
    "v3": utf("v3") + struct.pack(">I", 1) + utf("default")
    + struct.pack(">H", 0) + chunks(KEY) + struct.pack(">H", 0) + chunks(VALUE)
    + chunks("{}") + chunks("{    }"),
    "v3 before schemas had numbers": utf("v3") + struct.pack(">I", 1) + utf("default")
    + chunks(KEY) + chunks(VALUE) + chunks("{}") + chunks("{    }"),
}  # fmt: skip


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    for name in ("offsets", "commits", "state/0/0/_metadata", "state/0/_metadata"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "metadata").write_text('{"id":"x"}')
    head = json.dumps({"batchWatermarkMs": 0, "conf": {"spark.sql.shuffle.partitions": "2"}})
    for batch in (9, 10):
        (tmp_path / f"offsets/{batch}").write_text(f'v1\n{head}\n{{"logOffset":{batch}}}\n-')
        (tmp_path / f"commits/{batch}").write_text("v1\n{}")
    return tmp_path


def metadata(name: str) -> str:
    info = {"operatorInfo": {"operatorId": 0, "operatorName": name}, "stateStoreInfo": []}
    return f"v1\n{json.dumps(info)}"


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_of_all_versions(name: str, checkpoint: Path) -> None:
    (checkpoint / "state/0/0/_metadata/schema").write_bytes(SCHEMAS[name])
    schema = read_checkpoint(checkpoint).operators[0].stores["default"]
    assert [f["name"] for f in (*schema.key, *schema.value)] == ["k", "n"]


@pytest.mark.parametrize("data", [b"", utf("v9"), utf("v2") + b"\0\0", utf("v1") + utf("no JSON")])
def test_a_broken_schema_is_said_so(data: bytes, checkpoint: Path) -> None:
    (checkpoint / "state/0/0/_metadata/schema").write_bytes(data)
    with pytest.raises(DescriptionError, match="_metadata/schema"):
        read_checkpoint(checkpoint)


def test_offsets_of_the_last_two_batches(checkpoint: Path) -> None:
    stored = read_checkpoint(checkpoint)
    assert (stored.last_batch, stored.committed) == (10, 10)
    first, second = stored.sources
    assert (first.start, first.end) == ('{"logOffset":9}', '{"logOffset":10}')
    assert (second.start, second.end) == (None, None)
    assert stored.conf == {"spark.sql.shuffle.partitions": "2"} and not stored.named


def test_offsets_by_name(checkpoint: Path) -> None:
    (checkpoint / "offsets/10").write_text('v2\n{"conf":{}}\nleft:{"logOffset":3}\nright:-')
    stored = read_checkpoint(checkpoint)
    assert stored.named
    assert [(s.key, s.end) for s in stored.sources] == [
        ("left", '{"logOffset":3}'),
        ("right", None),
    ]


def test_directories_of_a_file_source_from_its_compacted_log(checkpoint: Path) -> None:
    log = checkpoint / "sources/0"
    log.mkdir(parents=True)
    (log / "9.compact").write_text('v1\n{"path":"file:///data/a/1.json","batchId":0}\n')
    (log / "10").write_text('v1\n{"path":"file:///data/b/2.json","batchId":10}')
    assert read_checkpoint(checkpoint).sources[0].directories == (
        "file:///data/a",
        "file:///data/b",
    )


def test_the_newest_description_of_an_operator_counts(checkpoint: Path) -> None:
    (checkpoint / "state/0/_metadata/metadata").write_text(metadata("old"))
    assert read_checkpoint(checkpoint).operators[0].name == "old"
    (checkpoint / "state/0/_metadata/v2").mkdir()
    for batch, name in ((9, "newer"), (10, "newest")):
        (checkpoint / f"state/0/_metadata/v2/{batch}").write_text(metadata(name))
    assert read_checkpoint(checkpoint).operators[0].name == "newest"


def test_an_old_spark_names_no_operator(checkpoint: Path) -> None:
    (checkpoint / "state/0/0/1.delta").write_bytes(b"")
    stored = read_checkpoint(checkpoint)
    assert stored.operators[0].name is None and stored.has_state


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("offsets/10", "", "version"),
        ("offsets/10", "v1\nnone", "JSON"),
        ("offsets/10", "v2\n{}\nleft", "names no source"),
    ],
)
def test_a_broken_log_is_said_so(file: str, text: str, said: str, checkpoint: Path) -> None:
    (checkpoint / file).write_text(text)
    with pytest.raises(DescriptionError, match=said):
        read_checkpoint(checkpoint)


def test_before_a_batch_is_done_there_is_no_state(checkpoint: Path) -> None:
    for log in ("offsets", "commits"):
        for file in (checkpoint / log).iterdir():
            file.unlink()
    assert read_checkpoint(checkpoint).last_batch is None
    (checkpoint / "offsets/0").write_text('v1\n{}\n{"logOffset":0}')
    assert read_checkpoint(checkpoint).committed is None
    (checkpoint / "offsets/1").write_text('v1\n{}\n{"logOffset":1}')
    assert read_checkpoint(checkpoint).committed == 0  # Spark 2.1 wrote no commits


def test_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="There is no checkpoint"):
        read_checkpoint(tmp_path / "none")
    with pytest.raises(DescriptionError, match="neither"):
        read_checkpoint(tmp_path)
