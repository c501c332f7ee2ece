"""JSON files against a live Spark: what a query needs of them, errors of FAILFAST, compression."""

from __future__ import annotations

import bz2
import gzip
import itertools
import zlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from stateplan.planner.incremental_execution import IncrementalExecution
from stateplan.planner.model.catalog import Source
from stateplan.planner.model.ids import id_scope
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.sql import parse
from stateplan.runtime.arrow_types import arrow_type
from stateplan.runtime.engines.embedded_exactness import EMBEDDED
from stateplan.runtime.engines.evaluating import pushed_filters
from stateplan.runtime.failures import _causes, _conditions, innermost
from stateplan.runtime.kernels.errors import KernelError
from stateplan.runtime.kernels.json.files import read_json
from stateplan.runtime.plan.facts import BatchFacts, Reader
from stateplan.runtime.plan.make import runtime_plan
from stateplan.runtime.plan.nodes import ReadSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WIDE = (
    "i int, t timestamp, n timestamp_ntz, dt date, c decimal(12,3), l array<double>, "
    "m map<string,double>, r struct<x:int,y:double>, b boolean, f float, z tinyint, s string"
)
MALFORMED = [
    '{"i":"x","t":"2026-01-01T00:00:00Z","n":"2026-01-01T00:00:00","dt":"2026-01-02","c":1.5,'
    '"l":[1.0,null],"m":{"k":1e-9},"r":{"x":1,"y":2e10},"b":true,"f":1.1,"z":200,"s":"a, b"}',
    '{"i":1,"f":"zz"}',
    '{"r":{"x":1,"y":"zz"},"i":"q"}',
    '{"i":"q","r":{"x":1,"y":"zz"}}',
    '{"l":[1.0,"zz"]}',
    '{"m":{"k":"zz"},"i":1}',
    '{"r":[1],"c":0.0001}',
    '{"b":5,"r":{"x":null}}',
    '{"z":1000,"s":"é😀","dt":"x"}',
    '[{"i":1,"s":"k"},{"i":"x"}]',
    '[{"i":"y","s":"k"},{"i":1}]',
    '{"i":1, "c": 1e10, "s": ',
    '{"i":1,"s":"k",}',
    '{"i":01}',
    '{"s":"k" "i":1}',
    '\ufeff{"i":"q"}',
    "hello",
    "5",
]


def told(error: Exception) -> tuple[str, str]:
    """Condition and message of a record that cannot be read, or else of the file."""
    conditions = [found for cause in _causes(error) for found in _conditions(cause)]
    named = [found for found in conditions if found[0].startswith("MALFORMED_RECORD")]
    condition, message = (named or conditions)[-1]
    return condition, message.split("\n")[0].partition(" SQLSTATE")[0].partition(" (file")[
        0
    ].strip()


@pytest.mark.parametrize(
    "ddl", [WIDE, WIDE.replace(" f float", " _corrupt_record string, f float")]
)
def test_failfast_raises_what_spark_raises(spark: SparkSession, tmp_path: Path, ddl: str) -> None:
    path = tmp_path / "rows.json"
    schema = pa.schema([(f.name, arrow_type(f.data_type)) for f in parse_schema(ddl).fields])
    for line in MALFORMED:
        path.write_text(line + "\n")
        with pytest.raises(Exception) as theirs:
            spark.read.schema(ddl).option("mode", "FAILFAST").json(str(path)).collect()
        with pytest.raises(KernelError) as ours:
            list(read_json(str(path), schema, {"mode": "FAILFAST"}, "UTC"))
        expected = told(theirs.value)
        assert told(ours.value) == expected, line
        assert expected[0] in ours.value.message


# ------------------------------------------------------------------------- what a query needs

SCHEMA = "a int, d double, s string"
NEEDED = [
    ('{"a":1,"d":"zz"}', "a", None, "FAILFAST"),
    ('{"a":1,"d":', "a", None, "FAILFAST"),
    ('{"a":1,"d":"zz"}', "1 AS one", None, "FAILFAST"),
    ('{"a":1,"d":', "1 AS one", None, "FAILFAST"),
    ('[{"a":1},{"d":"x"},{}]', "1 AS one", None, "FAILFAST"),
    ('{"a":1,"d":', "1 AS one", None, "DROPMALFORMED"),
    ("hello", "1 AS one", None, "PERMISSIVE"),
    ('{"a":1,"d":"zz"}', "s", "a = 1", "FAILFAST"),
    ('{"a":1,"d":"zz"}', "*", "a > 5", "FAILFAST"),
    ('{"d":"zz","a":1}', "*", "a > 5", "FAILFAST"),
    ('{"a":1,"d":', "*", "a > 5", "FAILFAST"),
    ('{"a":1,"a":7}', "*", "a > 5", "PERMISSIVE"),
    ('{"a":null,"a":7}', "*", "a > 5", "PERMISSIVE"),
    ('{"a":7,"a":1}', "*", "a > 5", "PERMISSIVE"),
    ('{"a":1,"d":', "*", "a IS NULL", "PERMISSIVE"),
    ('{"a":null,"d":', "*", "a IS NULL", "PERMISSIVE"),
    ('[{"a":1,"a":7}]', "*", "a > 5", "PERMISSIVE"),
    ('{"a":1,"d":"zz"}', "*", "a + 1 > 5", "FAILFAST"),
    ('{"a":1,"d":2,"s":', "*", "a > 5 OR d > 5", "FAILFAST"),
    ('{"a":1,"s":"q","d":', "*", "s IN ('x', 'y') AND a < 9", "FAILFAST"),
    ('{"a":"x","a":7,"d":1}', "*", "a < 5", "PERMISSIVE"),
    ('{"s":"abc","s":"xyz"}', "a", "s LIKE 'x%'", "PERMISSIVE"),
    ('{"a":7,"a":8}', "*", "a > 5", "PERMISSIVE"),
    ('{"a":7,"a":8}', "*", "a > 5", "DROPMALFORMED"),
    ('{"a":1,"d":2,}', "*", "a > 5", "FAILFAST"),
    ('{"a":7,"d":2,}', "*", "a > 5", "FAILFAST"),
    ('{"a":1 "d":2}', "*", "a > 5", "FAILFAST"),
    ('{"a":1,"d":2,}', "*", "a IS NULL", "PERMISSIVE"),
    ('{"s":"q","d":2,}', "*", "s IS NULL", "PERMISSIVE"),
    ('{"d":01,"a":null}', "*", "a IS NULL", "PERMISSIVE"),
]


def reading(sql: str, format: str = "json") -> ReadSource:
    """How the runtime plan of the embedded engine reads the query's source."""
    ids = itertools.count()
    with id_scope(ids):
        logical = parse(sql, Conf())
    schema = parse_schema(SCHEMA)
    source = Source(name="events", schema=schema, format=format)
    execution = IncrementalExecution(
        logical, catalog={"events": source}, output_mode="append", conf=Conf(), ids=ids
    )
    readers = {"events": Reader(format=format, schema=schema, here=True)}
    facts = BatchFacts(engine=replace(EMBEDDED, exactness=None), readers=readers)
    (found,) = runtime_plan(execution.executed_plan, facts).root.collect(ReadSource)
    return found


def test_only_what_the_query_needs_is_read(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    for line, columns, condition, mode in NEEDED:
        case = (line, columns, condition, mode)
        path.write_text(f'{{"a": 6, "d": 6, "s": "x"}}\n{line}\n')
        where = "" if condition is None else f" WHERE {condition}"
        spark.read.schema(SCHEMA).option("mode", mode).json(str(path)).createOrReplaceTempView("t")
        try:
            expected: Any = spark.sql(f"SELECT {columns} FROM t{where}").collect()
        except Exception as error:
            expected = told(error)
        node = reading(f"SELECT {columns} FROM STREAM events{where}")
        filters = pushed_filters(node.given, node.output)
        assert (node.read is None) == (columns == "*" and condition is None)
        try:
            schema = pa.schema([(a.name, arrow_type(a.data_type)) for a in node.output])
            batches = list(read_json(str(path), schema, {"mode": mode}, "UTC", filters))
        except KernelError as error:
            assert told(error) == expected, case
            continue
        names = [a.name for a in node.output]
        rows = [row for b in batches for row in (b.to_pylist() or [{}] * b.num_rows)]
        lines = [tuple(row.get(name) for name in names) or (None,) for row in rows]
        kinds = ", ".join(f"{a.name} {a.data_type.sql}" for a in node.output) or "nothing int"
        spark.createDataFrame(lines, kinds).createOrReplaceTempView("t")
        assert spark.sql(f"SELECT {columns} FROM t{where}").collect() == expected, case


# -------------------------------------------------------------------------------- compressed

GOOD = b'\xef\xbb\xbf{"a":1}\n{"a":2}\n'
LONG = GOOD * 100_000


def zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.compress(data)


COMPRESSED = {
    "x.json.gz": gzip.compress(GOOD) + gzip.compress(b'{"a":3}\n'),
    "x.json.GZ": gzip.compress(GOOD),
    "x.gzip": gzip.compress(GOOD),
    "long.json.gz": gzip.compress(LONG),
    "short.json.gz": gzip.compress(LONG)[:-20],
    "empty.json.gz": b"",
    "no.json.gz": b"this is none",
    "x.json.bz2": bz2.compress(GOOD) + bz2.compress(b'{"a":3}\n'),
    "x.json.bzip2": b"hello\n",
    "x.json.deflate": zlib.compress(GOOD) + zlib.compress(b'{"a":3}\n'),
    "short.json.deflate": zlib.compress(LONG)[:-5],
    "empty.json.deflate": b"",
    "x.json.zst": zstd(GOOD) + zstd(b'{"a":3}\n'),
    "x.json.zstd": zstd(GOOD),
    "x.json.zlib": b'{"a":4}\n',
}


def test_compressed_files_are_read_as_sparks_codecs_read_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    schema = pa.schema([("a", pa.int32())])
    for name, data in COMPRESSED.items():
        path = tmp_path / name
        path.write_bytes(data)
        try:
            frame = spark.read.schema("a int").json(str(path)).groupBy("a").count()
            expected: Any = sorted(map(tuple, frame.collect()))
        except Exception as error:
            expected = innermost(error)[0]
        try:
            table = pa.Table.from_batches(read_json(str(path), schema, {}, "UTC"), schema)
            counts = table.group_by("a").aggregate([([], "count_all")]).to_pydict()
            found: Any = sorted(zip(counts["a"], counts["count_all"], strict=True))
        except KernelError as error:
            found = error.condition
        assert found == expected, name


@pytest.mark.parametrize("name", ["x.json.lz4", "x.json.snappy"])
def test_what_nothing_else_reads_is_refused_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(KernelError, match=rf"STATEPLAN_NOT_EXACT.*{name}"):
        list(read_json(str(tmp_path / name), pa.schema([("a", pa.int32())]), {}, "UTC"))
