"""from_json against a live Spark: every value in every column, odd texts, many texts at once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from test_json_files import COLUMNS, CUT, FEW, ODD_LINES, VALUES, ZONE, _record, schema_of, shown

from stateplan.planner.model.schemas import types as t
from stateplan.runtime.kernels.errors import KernelError
from stateplan.runtime.kernels.json_texts import read_path, read_texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ODD = [
    "",
    " ",
    "\n",
    "null",
    "5",
    '"a"',
    "[]",
    '[{"i": 1}]',
    '{"i": 1} x',
    '{"i":\n 1}',
    '{"i":1}\r',
]
EVENTS = [
    '{"i": 1, "c0": {"b": [1.5, -2, "ü"], "a": {}}}',
    '{"c0": [ true , null, {"k" : 1, "k" : 2} ]}',
    '{"c0": 1e3, "i": 2}',
    '{"c0": {"🙂": ["ü🙂", 1.50, 1E-7, -0.0]}}',
    "\0",
    "a\0",
]


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", ZONE)
    yield spark
    spark.conf.set("spark.sql.session.timeZone", str(before))


def by_spark(session: SparkSession, texts: list[str | None], ddl: str) -> list[str]:
    table = pa.table({"v": pa.array(texts, pa.string())})
    frame = session.createDataFrame(table).coalesce(1).selectExpr(f"from_json(v, '{ddl}') AS s")
    found = frame.toArrow()
    return [shown(found.slice(place, 1)) for place in range(len(texts))]


def here(texts: list[str | None], columns: dict[str, t.DataType]) -> list[str]:
    found = read_texts(pa.array(texts, pa.string()), pa.struct(list(schema_of(columns))), ZONE)
    rows = pa.table({"s": found})
    return [shown(rows.slice(place, 1)) for place in range(len(texts))]


@pytest.mark.parametrize("kind", COLUMNS)
def test_texts_are_what_spark_makes_of_them(session: SparkSession, kind: str) -> None:
    lines = [line.decode() for line in ODD_LINES if line.isascii()]
    cut = [CUT[:end].decode() for end in range(1, len(CUT), 5)]
    values = [f'{{"i": 0, "c0": {value}}}' for value in VALUES]
    texts: list[str | None] = [*values, *EVENTS, *ODD, *lines, *cut, None]
    columns = {"i": t.IntegerType(), "c0": COLUMNS[kind]}
    expected = by_spark(session, texts, f"i int, c0 {kind}")
    taken: list[tuple[str | None, str]] = []
    for text, row in zip(texts, expected, strict=True):
        try:
            (found,) = here([text], columns)
        except KernelError as error:
            assert error.condition == "STATEPLAN_NOT_EXACT"
            continue
        assert found == row, text
        taken.append((text, row))
    assert len(taken) > len(texts) / 2
    chance = random.Random(kind)
    many = [chance.choice(taken) for _ in range(2000)]
    assert here([text for text, _ in many], columns) == [row for _, row in many]


def test_records_are_read_at_once(session: SparkSession) -> None:
    chance = random.Random(5)
    texts: list[str | None]
    texts = [chance.choice(FEW) if chance.random() < 0.99 else None for _ in range(3000)]
    texts += [_record({"c0": t.BooleanType(), "c5": t.DoubleType()}, chance) for _ in range(500)]
    chosen = ["string" if name == "binary" else name for name in COLUMNS]
    columns = {f"c{place}": COLUMNS[name] for place, name in enumerate(chosen)}
    ddl = ", ".join(f"c{place} {name}" for place, name in enumerate(chosen))
    taken = [text for text in texts if text is None or "unknown" not in text]
    assert here(taken, columns) == by_spark(session, taken, ddl)


@pytest.mark.parametrize("names", [("c0",), ("c0", "b"), ("i",)], ids=".".join)
def test_paths_lead_to_what_spark_finds(session: SparkSession, names: tuple[str, ...]) -> None:
    texts = [*ODD, *EVENTS, '{"i": 1, "i": 2}', '{"i": tru', '{"c0": {"b": "\\u00e9"}} x']
    texts += [f'{{"c0": {{"b": {value}}}, "i": {value}}}' for value in ("1", "2.50", '"x"', "null")]
    table = pa.table({"v": pa.array([*texts, None], pa.string())})
    path = ".".join(("$", *names))
    frame = session.createDataFrame(table).coalesce(1).selectExpr(f"get_json_object(v, '{path}') p")
    theirs = frame.toArrow().column(0).to_pylist()
    differ, refused = [], 0
    for text, answer in zip(table.column(0).to_pylist(), theirs, strict=True):
        try:
            (value,) = read_path(pa.array([text], pa.string()), names).to_pylist()
        except KernelError:
            refused += 1
        else:
            differ += [(text, answer, value)] if value != answer else []
    assert differ == []
    assert refused <= 2
    plain = [f'{{"c0": "{n}", "i": {n}}}' for n in range(1000)]
    found = read_path(pa.array(plain), ("i",)).to_pylist()
    assert found == [str(n) for n in range(1000)]
