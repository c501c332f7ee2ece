"""Text files read here and by a live Spark: the same lines, or a refusal."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.runtime.kernels.errors import KernelError
from stateplan.runtime.kernels.file_parts import FilePart
from stateplan.runtime.kernels.readers.text_files import read_text, unsupported

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema([("value", pa.string())])
MARK = b"\xef\xbb\xbf"


def read(path: Path, options: dict[str, str], *parts: FilePart) -> list[Any]:
    found = (read_text(str(path), SCHEMA, [0], options, part) for part in parts or (FilePart(),))
    batches = [batch for batches in found for batch in batches]
    return pa.Table.from_batches(batches, SCHEMA).column(0).to_pylist()


OPTIONS: list[dict[str, str]] = [
    {},
    {"lineSep": "|", "wholetext": "false"},  # PySpark's `text` gives both
    {"lineSep": "\n"},
    {"wholetext": "true"},
    {"encoding": "ISO-8859-1", "mode": "FAILFAST"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_lines_are_those_of_spark(
    spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    assert unsupported(parse_schema("value STRING, day DATE"), options) is None
    chance = random.Random(3)
    found = []
    for number in range(60):
        path = tmp_path / f"{number}.txt"
        text = "".join(chance.choices("a\u00e9\U0001f600|\n\n\r\t ", k=chance.randrange(14)))
        path.write_bytes(MARK * (number % 5 == 0) + text.encode())
        found += read(path, options)
    packed = tmp_path / "packed.txt.gz"
    packed.write_bytes(gzip.compress(MARK + b"p\nq"))
    found += read(packed, options)
    expected = spark.read.options(**options).format("text").load(str(tmp_path)).collect()
    assert sorted(found) == sorted(row.value for row in expected)


def test_parts_and_counts(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"line {i}\n" for i in range(100_000)))
    parts = FilePart(0, 500_003), FilePart(500_003, None)
    assert read(path, {}, *parts) == [f"line {i}" for i in range(100_000)]
    counted = list(read_text(str(path), SCHEMA, [], {}))
    assert sum(batch.num_rows for batch in counted) == 100_000
    assert max(batch.num_rows for batch in counted) <= 65_536
    whole = {"wholetext": "true"}
    assert len(read(path, whole, *parts)) == 1


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"a\n" * 70_000 + b"M\xfcller\nb\n")
    with pytest.raises(KernelError, match=r"Line 70001 of .*no text in UTF-8.*--engine spark"):
        read(path, {})
    with pytest.raises(KernelError, match=r"] '.*x.txt' is no text in UTF-8"):
        read(path, {"wholetext": "true"})
    assert sum(batch.num_rows for batch in read_text(str(path), SCHEMA, [], {})) == 70_002


@pytest.mark.parametrize(
    ("ddl", "options", "reason"),
    [
        ("v STRING", {"lineSep": "\r\n"}, "the option 'lineSep' is"),
        ("v STRING", {"lineSep": "|", "encoding": "UTF-16"}, "both 'lineSep' and 'encoding'"),
        ("v STRING", {"LINESEP": "|", "wholeText": "true"}, "both 'lineSep' and 'wholetext'"),
        ("v STRING", {"wholetext": "yes"}, "the option 'wholetext' is 'yes'"),
        ("v INT", {}, "no column is a STRING"),
    ],
)
def test_what_is_not_read(ddl: str, options: dict[str, str], reason: str) -> None:
    assert (unsupported(parse_schema(ddl), options) or "").startswith(reason)


def test_files_have_one_column(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("a\n")
    two = pa.schema([("a", pa.string()), ("b", pa.string())])
    with pytest.raises(KernelError, match="only a single column, and you have 2 columns"):
        list(read_text(str(tmp_path / "x.txt"), two, [0], {}))
