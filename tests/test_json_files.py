"""JSON files read here and by a live Spark: every line gives the same, or is refused."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from stateplan.planner.model.schemas import types as t
from stateplan.runtime.arrow_types import arrow_type
from stateplan.runtime.kernels.errors import KernelError
from stateplan.runtime.kernels.file_parts import FilePart
from stateplan.runtime.kernels.json.files import read_json
from stateplan.runtime.kernels.json.support import unsupported
from stateplan.runtime.sources.inferred_json import inferred_from_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZONE = "America/New_York"
COLUMNS: dict[str, t.DataType] = {
    "boolean": t.BooleanType(),
    "tinyint": t.ByteType(),
    "smallint": t.ShortType(),
    "int": t.IntegerType(),
    "bigint": t.LongType(),
    "float": t.FloatType(),
    "double": t.DoubleType(),
    "decimal(10,2)": t.DecimalType(10, 2),
    "decimal(38,10)": t.DecimalType(38, 10),
    "string": t.StringType(),
    "binary": t.BinaryType(),
    "date": t.DateType(),
    "timestamp": t.TimestampType(),
    "timestamp_ntz": t.TimestampNTZType(),
    "array<int>": t.ArrayType(t.IntegerType()),
    "array<timestamp>": t.ArrayType(t.TimestampType()),
    "map<string,double>": t.MapType(t.StringType(), t.DoubleType()),
    "struct<a:int,b:array<string>>": t.StructType(
        (
            t.StructField("a", t.IntegerType()),
            t.StructField("b", t.ArrayType(t.StringType())),
        )
    ),
    "array<struct<a:date>>": t.ArrayType(t.StructType((t.StructField("a", t.DateType()),))),
}


def _words(text: str) -> list[str]:
    return text.split()


NUMBERS = _words(
    r"""
    0 -0 1 -1 7 127 128 200 255 256 -128 -129 32767 32768 2147483647 2147483648
    9223372036854775807 9223372036854775808 -9223372036854775809 123456789012345678901234567890
    0.0 -0.0 1.0 1.5 1.555 1.545 -0.001 99999999.995 12345678.9 1e2 1E+2 1e-50 1e39 1e400 -1e400
    3.4028235677973366e38 0.1 16777217 9007199254740993 9007199791611905 1700000000
    1.00000017881393432617187499 1.00000017881393432617187500001
    9999999999999999999999999999.9999999999 -9999999999999999999999999999.99999999994
    """
)
WORDS = _words(
    r"""
    true false null NaN Infinity -Infinity {} [] [1,2] [null] ["x"] [1,"x",{"w":7}] [[1],2]
    {"a":1} {"a":"x","b":["y",1.50,{"k":[1,2]}]} {"a":1,"a":2} {"a":null} [{"a":"2026-01-01"}]
    [{"a":"x"},null,{}] {"a":1.5,"c":"NaN"} {"x":[1,"y"]} ["2026-01-01","2026-01-01T00:00:00Z"]
    """
)
TEXTS = _words(
    r"""
    9999999999999999999999999999.9999999999 -9999999999999999999999999999.99999999994
    9999999999999999999999999999.99999999995
    x 1 1.5 true NaN -INF Infinity 1,000.5 .5 +1. 1e2 AQID AQI= \u00e9 \ud83d\ude00 \ud800
    a\udc00b \n\t\"\\ \u0000 ü 日本 😀 2026 2026-01 2026-01-01 2026-1-1 2026-02-30 12026-01-01
    +12026-01-01 -0001-01-01 0001-01-01 0000-01-01 2026-13-01 20260101 2026/01/01 1970-01-01
    10:20:30 T10 12 T 123 Z hello 2026-01-01T 2026-01-01T10 2026-01T10 2026-01-01T10:20
    2026-01-01T10:20Z 2026-01-01T00:00:00 2026-01-01T00:00:00Z 2026-03-08T02:30:00
    2026-11-01T01:30:00 2026-11-01T01:30:00.5 1883-11-18T12:00:00 1700-01-01T00:00:00
    2026-01-01T00:00:00.123Z 2026-01-01T00:00:00.1234567 2026-01-01T00:00:00.123456789Z
    2026-01-01T00:00:00.12345678+01:00 2026-01-01T00:00:00. 2026-01-01T00:00:00.Z
    2026-01-01T00:00:00+01 2026-01-01T00:00:00+0130 2026-01-01T00:00:00+01:30
    2026-01-01T00:00:00-17:59 2026-01-01T00:00:00+18:00 2026-01-01T00:00:00+18:30
    2026-01-01T00:00:00+19:00 2026-01-01T00:00:00+1:30 2026-01-01T00:00:00-01:00:30
    2026-01-01T00:00:00+01:60 2026-01-01T00:00:00GMT 2026-01-01T00:00:00GMT+01:00
    2026-01-01T00:00:00UTC+1 2026-01-01T00:00:00Europe/Berlin 2026-01-01T00:00:00z
    2026-01-01T24:00:00Z 2026-01-01T23:59:60Z 2026-02-29T00:00:00Z 0000-01-01T00:00:00Z
    9999-12-31T23:59:59.999999Z 999999-01-01T00:00:00 294247-01-10T04:00:54Z
    2026-01-01T00:00:00EST 2026-01-01T00:00:00,5 2026-01-01T00:00:00-0 2026-01-01T00:00:00+123
    2026-01-01T00:00:00-01-30 2026-01-01T00:00+01:00 2026-01-01T00:00:00+01:00Z
    """
)
TEXTS += [
    "",
    " ",
    " 1",
    " 2026-01-01 ",
    "2026-01-01 10:11:12",
    "2026-01-01 10:11:12.5 Europe/Berlin",
    "2026-01-01 10:11:12 Z",
    "2026-01-01 10",
    "2026-01-01 AD",
]
VALUES = [*NUMBERS, *WORDS, *(f'"{text}"' for text in TEXTS)]


REFUSED = {
    "binary": ["\\u0000", " "],
    "date": ["1", "20260101", "12", "123"],  # days since 1970, of Spark 1.5
    "timestamp": ["10:20:30", "T10", "2026-01-01T00:00:00EST"],  # the first two are of today
    "map<string,double>": ["a"],  # a key that stands twice
}
"""Values that Spark reads and that are refused here, by column."""


def schema_of(columns: dict[str, t.DataType]) -> Any:
    return pa.schema([pa.field(name, arrow_type(kind)) for name, kind in columns.items()])


def read(path: Path, schema: Any, mode: str) -> Any:
    return pa.Table.from_batches(read_json(str(path), schema, {"mode": mode}, ZONE), schema)


class Oracle:
    """Spark's reader."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark = spark
        self.path = path

    def read(self, lines: list[bytes], kinds: list[str], mode: str = "PERMISSIVE") -> list[Any]:
        """The rows of lines that begin with a column `i`."""
        self.path.write_bytes(b"\n".join(lines) + b"\n")
        ddl = ", ".join(f"c{place} {kind}" for place, kind in enumerate(kinds))
        reader = self.spark.read.schema(f"i int, {ddl}").option("mode", mode)
        frame = reader.json(str(self.path))
        table = frame.toArrow()
        return [table.slice(place, 1) for place in range(table.num_rows)]


@pytest.fixture(scope="module")
def oracle(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", ZONE)
    yield Oracle(spark, tmp_path_factory.mktemp("json") / "oracle.json")
    spark.conf.set("spark.sql.session.timeZone", str(before))


def shown(table: Any) -> str:
    """Rows as text; far times as numbers."""

    def plain(array: Any) -> Any:
        kind = array.type
        if pa.types.is_timestamp(kind):
            return array.cast(pa.int64()).to_pylist()
        if pa.types.is_date(kind):
            return array.cast(pa.int32()).to_pylist()
        if pa.types.is_struct(kind):
            parts = [plain(array.field(i)) for i in range(kind.num_fields)]
            rows = list(zip(*parts, strict=True))
            return [
                row if valid else None
                for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)
            ]
        if pa.types.is_list(kind):
            return [None if not item.is_valid else plain(item.values) for item in array]
        return array.to_pylist()

    return repr([plain(column.combine_chunks()) for column in table.columns])


def compare(oracle: Oracle, tmp_path: Path, kinds: list[str], lines: list[bytes]) -> list[bytes]:
    """Compare each line in all modes; returns the well-formed lines that are refused."""
    expected = oracle.read(lines, kinds)
    dropped = oracle.read(lines, kinds, "DROPMALFORMED")
    kept = {row.column("i")[0].as_py() for row in dropped}
    assert len(expected) == len(lines)
    columns = {"i": t.IntegerType(), **{f"c{n}": COLUMNS[kind] for n, kind in enumerate(kinds)}}
    schema = schema_of(columns)
    refused, read_here, whole = [], [], []
    path = tmp_path / "one.json"
    for place, (line, row) in enumerate(zip(lines, expected, strict=True)):
        path.write_bytes(line + b"\n")
        well_formed = place in kept
        try:
            found = read(path, schema, "PERMISSIVE")
        except KernelError as error:
            assert error.condition == "STATEPLAN_NOT_EXACT"
            if well_formed:
                refused.append(line)
            continue
        assert shown(found) == shown(row), (kinds, line)
        read_here.append(line)
        if well_formed:
            whole.append((line, row))
        else:
            with pytest.raises(KernelError):
                read(path, schema, "FAILFAST")
    rows = pa.concat_tables([row for _, row in whole])
    for mode, some in (("DROPMALFORMED", read_here), ("FAILFAST", [line for line, _ in whole])):
        path.write_bytes(b"\n".join(some) + b"\n")
        assert shown(read(path, schema, mode)) == shown(rows), (mode, kinds)
    return refused


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_value_in_every_column(oracle: Oracle, tmp_path: Path, kind: str) -> None:
    lines = [
        b'{"i": %d, "c0": %s, "c1": "z"}' % (place, value.encode())
        for place, value in enumerate(VALUES)
    ]
    refused = compare(oracle, tmp_path, [kind, "string"], lines)
    assert [line.split(b'"')[5].decode() for line in refused] == REFUSED.get(kind, [])


ODD_LINES = [
    b'{"i": 1, "c0": 2, "c1": "a\\q b',
    b'{"i": 1, "c0": "a\x01b", "c1": "a',
    b'{"i": 1, "c0": -, 01, [ "c1": "a',
    b'{"i": 1] {"c0": 5',
    b"",
    b"  ",
    b"hello",
    b"5",
    b'"x"',
    b"'x'",
    b"null",
    b"}",
    b"[]",
    b"[1]",
    b'[{"i": 1, "c0": 2}, {"i": 3}]',
    b'[{"i": 1}, null]',
    b'[{"i": 1}, {"i": "x"}]',
    b'{"i": 1, "c0": 2} more',
    b'{"i": 1, "c0": 2}{"i": 3}',
    b'{"i": 1, "c0": 2} null {"i": 3}',
    b'{"i": 1, "c0": 2}\x00',
    b' \t{"i": 1, "c0": 2} ',
    b'\xef\xbb\xbf{"i": 1, "c0": 2}',
    b'{"i": 1, "c0": 2, "c0": 3}',
    b'{"i": 1, "c0": 2, "c0": null}',
    b'{"i": 1, "c0": 2, "c0": "x"}',
    b'{"i": 1, "C0": 2}',
    b'{"i": 1, "\\u00630": 2}',
    b'{"i": 1, "c0": 2, "z": "\xff"}',
    b'{"i": 1, "c0": 2, "z": "\\ud800"}',
    b'{"i": 1, "c0": 2, "z": "\\q"}',
    b'{"i": 1, "c0": 2, "z": "\x01"}',
    b'{"i": 1, "c0": 2, "z": {"a": 1, "a": [NaN, {}]}}',
    b'{"i": 1, "c0": 2, "z": Inf}',
    b'{"i": 1, "c0": 2, "z": 1.}',
    b'{"i": 1, "c0": 2, "z": 1e99999}',
    b'{"i": 1, "c0": 2, "z": 01}',
    b'{"i": 1, "c0": 01}',
    b'{"i": 1, "c0": 2,}',
    b"{'i': 1, 'c0': 2}",
    b'{"i": 1, "c0": 2 /* two */}',
    b'{i: 1, "c0": 2}',
    b'{"i": 1, "c1": "a\xff", "c0": 2}',
    b'{"i": 1, "c1": "a\\q", "c0": 2}',
    b'{"i": 1, "c1": tru, "c0": 2}',
    b'{"i": 1, "c0": ' + b"9" * 1001 + b"}",
    b'{"i": 1, "c1": ' + b"9" * 1001 + b"}",
    b'{"i": 1, "z": ' + b"9" * 1001 + b', "c0": 1}',
    b'{"i": 1, "c0": 2, "z": "' + b"long " * 300 + b'"}',
    b'{"i": 1, "c0": 2, "z": ' + b"[" * 600 + b"]" * 600 + b"}",
    b'{"i": 1, "c0": 2, "z": ' + b"[" * 1200 + b"]" * 1200 + b"}",
    b'{"i": 1, "c0": 2, "' + b"n" * 60_000 + b'": 3}',
]
CUT = b'{"i": 1, "c0": 25, "z": [{"x": "\\u00e9\\n"}, true, null, -1.5e3], "c1": "ab\\\\", "y": 1}'


@pytest.mark.parametrize("number", range(2))
def test_odd_lines(oracle: Oracle, tmp_path: Path, number: int) -> None:
    """Lines one by one: Spark's rows, whatever their number, or a refusal."""
    lines = ODD_LINES if number == 0 else [CUT[:end] for end in range(1, len(CUT))]
    ddl = "i int, c0 int, c1 string"
    schema = schema_of({"i": t.IntegerType(), "c0": t.IntegerType(), "c1": t.StringType()})
    # A marker line before each line shows where the rows of the next one begin.
    path = tmp_path / "one.json"
    refused = []
    separated = b"".join(b'{"c1": "--"}\n' + line + b"\n" for line in lines)
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        path.write_bytes(separated + b'{"c1": "--"}\n')
        frame = oracle.spark.read.schema(ddl).option("mode", mode).json(str(path))
        expected: list[list[Any]] = []
        for row in frame.toArrow().to_pylist():
            if row["c1"] == "--":
                expected.append([])
            else:
                expected[-1].append(row)
        assert len(expected) == len(lines) + 1
        for line, rows in zip(lines, expected, strict=False):
            path.write_bytes(b'{"i": 0}\n' + line)
            try:
                found = read(path, schema, mode)
            except KernelError as error:
                assert error.condition == "STATEPLAN_NOT_EXACT"
                refused.append(line)
                continue
            assert found.to_pylist()[1:] == rows, (mode, line[:100])
    print([line[:70] for line in refused])
    assert len(refused) < len(lines)


def _value(kind: t.DataType, chance: random.Random) -> str:
    """A value that Spark takes for one of its type."""
    if chance.random() < 0.1:
        return "null"
    match kind:
        case t.ArrayType(element_type=element):
            return f"[{', '.join(_value(element, chance) for _ in range(chance.randrange(4)))}]"
        case t.MapType(value_type=value):
            pairs = (f'"k{n}":{_value(value, chance)}' for n in range(chance.randrange(3)))
            return f"{{{', '.join(pairs)}}}"
        case t.StructType(fields=fields):
            return _record({field.name: field.data_type for field in fields}, chance)
        case t.DecimalType():
            number = f"{chance.uniform(-1e6, 1e6):.{chance.randrange(5)}f}"
            return chance.choice([number, f'"{number}"'])
        case t.IntegralType(bits=bits):
            return str(chance.randrange(-(1 << bits - 1), 1 << bits - 1))
        case t.FloatType() | t.DoubleType():
            numbers = [repr(chance.uniform(-1e3, 1e3)), str(chance.randrange(1 << 63)), "1e-7"]
            return chance.choice([*numbers, repr(chance.random() * 10.0 ** chance.randrange(30))])
        case t.BooleanType():
            return chance.choice(["true", "false"])
        case t.BinaryType():
            return chance.choice(['"AQID"', '""', '"////"'])
    day = f"20{chance.randrange(10, 60)}-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}"
    clock = f"{chance.randrange(24):02}:{chance.randrange(60):02}:{chance.randrange(60):02}"
    moment = f"{day}{chance.choice('T ')}{clock}{chance.choice(['', '.5', '.123456', '.1234567'])}"
    match kind:
        case t.DateType():
            return f'"{day}"'
        case t.TimestampType():
            zone = chance.choice(["", "Z", "+02:00", "-0330", " Europe/Berlin"])
            return chance.choice([f'"{moment}{zone}"', str(chance.randrange(1 << 32))])
        case t.TimestampNTZType():
            return f'"{moment}"'
    return chance.choice(['"a"', '""', '"\\u00e9\\n"', '"日本 😀"', "1.50", '{"a" : [1 ]}', "true"])


def _record(columns: dict[str, t.DataType], chance: random.Random) -> str:
    """An object: fields in any order, some missing, some that no column has."""
    names = [*columns, "unknown"]
    chance.shuffle(names)
    parts = []
    for name in names:
        if chance.random() < 0.9:
            kind = columns.get(name) or COLUMNS[chance.choice(list(COLUMNS))]
            parts.append(f'"{name}": {_value(kind, chance)}')
    return f"{{{', '.join(parts)}}}"


@pytest.mark.parametrize("seed", range(3))
def test_well_formed_files(oracle: Oracle, tmp_path: Path, seed: int) -> None:
    """Files of several blocks of all types: the rows of Spark in its order, none refused."""
    chance = random.Random(seed)
    names = list(COLUMNS)
    chosen = names if seed == 0 else [name for name in names if name not in ("binary", MAP)]
    columns = {f"c{place}": COLUMNS[name] for place, name in enumerate(chosen)}
    path = tmp_path / "many.json"
    end = ["\n", "\r\n", "\n\n"][seed]
    lines = [_record(columns, chance) for _ in range(1500)]
    if seed == 1:  # Arrow reads all but a line
        lines = [FEW[place % len(FEW)] for place in range(3000)]
        lines[1700] = '{"c0": true, "c1": 200}'
    path.write_text(end.join(lines), encoding="utf-8", newline="")
    ddl = ", ".join(f"c{place} {name}" for place, name in enumerate(chosen))
    expected = oracle.spark.read.schema(ddl).json(str(path)).toArrow()
    schema = schema_of(columns)
    for mode in ("PERMISSIVE", "FAILFAST"):
        batches = list(read_json(str(path), schema, {"mode": mode}, ZONE))
        assert all(batch.schema.equals(schema) for batch in batches)
        found = pa.Table.from_batches(batches, schema)
        assert found.num_rows == len(lines)
        assert shown(found) == shown(expected)


MAP = "map<string,double>"
FEW = [
    '{"c0": true, "c1": -5, "c2": 7, "c3": 8, "c4": 9, "c5": 1.5, "c6": 0.1, "c7": 12.5}',
    '{"c9": "x", "c10": "2026-01-01", "c11": "2026-01-01T00:00:00.123Z"}',
    '{"c11": "2026-07-01T00:00:00.123456Z", "c12": "2026-01-01T00:00:00", "c13": [1, null]}',
    '{"c14": ["2026-01-01T00:00:00Z"], "c15": {"a": 1, "b": ["x"]}, "c16": [{"a": "2026-01-01"}]}',
    '{"c15": null, "c16": [null, {}], "c13": [], "c8": 1.25, "more": [NaN]}',
]


# ------------------------------------------------------------------------------ malformed lines

BROKEN = _words(
    r"""
    01 - --1 1. 1.e5 .5 1e +1 0x1 1x tru truex nul null NaN NaNx -Infinity INF +INF - Inf x
    "x" "x\q" "\u12" "x [] [1 [1,] [1,,2] {} {"a":1} {"a":01} {"a"1} {"x":} {,} [1} {x} ["\q"]
    / # é \ 1_000 99999999999 1.5 "2" -01 0. TRUE None undefined =1 :1 /*c*/1 "a""b" 
    """
)
NAMES = ['"a"', '"b"', '"z"', '"s"', "a", '"a\\q"', '"a', "", "1", '"\\u0061"', "-", "[", '"a" "b"']
BETWEEN = [",", ", ", " ,", ",,", "", ";", " ", ":", "}", "{", "]"]
ENDS = ["}", "} ", "", "]", "}}", "} x", ",}", "}]", '} {"a":1}', "}null"]
CORRUPT = "_corrupt_record"


def _broken(chance: random.Random) -> str:
    """An object, mostly with a mistake somewhere."""
    parts = []
    for _ in range(chance.randrange(1, 5)):
        name = chance.choice(NAMES[:4] if chance.random() < 0.9 else NAMES)
        value = chance.choice(BROKEN if chance.random() < 0.3 else ["1", '"x"', "[1]", "null"])
        colon = ":" if chance.random() < 0.95 else chance.choice(["", "=", "::", " : "])
        between = "," if chance.random() < 0.9 else chance.choice(BETWEEN)
        parts.append(f"{name}{colon}{value}{between}")
    parts[-1] = parts[-1].removesuffix(",")
    end = "}" if chance.random() < 0.8 else chance.choice(ENDS)
    return "{" + "".join(parts) + end


def _broken_lines(seed: int) -> list[str]:
    lines = [_broken(random.Random(f"{seed} {number}")) for number in range(800)]
    for value in BROKEN:
        lines += [f'{{"b":"x","{name}":{value},"a":1}}' for name in ("z", "a", "b", "s")]
        lines += [f'[{{"a":1}},{{"a":{value}}}]', f"[{value}]", f' {value} "', f'{{"a":1}}{value}']
    return [
        *lines,
        "\ufeffhello",
        '\ufeff{"a":"q"}',
        '[{"a":"q"},{"b":"x"}]',
        "  ",
        '{"a":1,"%s":5}',
    ]


@pytest.mark.parametrize(
    ("columns", "mode"),
    [
        (("a", "b", CORRUPT, "s"), "PERMISSIVE"),
        (("b", CORRUPT), "PERMISSIVE"),
        (("a", "b"), "PERMISSIVE"),
        (("b", CORRUPT), "DROPMALFORMED"),
    ],
)
def test_malformed_lines(
    oracle: Oracle, tmp_path: Path, columns: tuple[str, ...], mode: str
) -> None:
    """Which lines are malformed depends on the columns read; their text is in a column of its own.

    Refused are the few with a mistake within a string, an array or an object of a column, behind
    which Jackson goes on reading.
    """
    lines = [line.replace("%s", CORRUPT) for line in _broken_lines(len(columns))]
    ddl = f"a int, b string, {CORRUPT} string, s struct<a:int>"
    struct = t.StructType((t.StructField("a", t.IntegerType()),))
    kinds = {"a": t.IntegerType(), "b": t.StringType(), CORRUPT: t.StringType(), "s": struct}
    path = tmp_path / "one.json"
    # A marker line before each line shows where the rows of the next one begin.
    path.write_text("".join(f'{{"b": "--"}}\n{line}\n' for line in lines), encoding="utf-8")
    frame = oracle.spark.read.schema(ddl).option("mode", mode).json(str(path)).select(*columns)
    expected: list[list[Any]] = []
    for row in frame.toArrow().to_pylist():
        if row["b"] == "--":
            expected.append([])
        else:
            expected[-1].append(row)
    schema = schema_of({name: kinds[name] for name in columns})
    refused = []
    for line, rows in zip(lines, expected, strict=True):
        path.write_text(f'{{"b": "--"}}\n{line}\n', encoding="utf-8")
        try:
            found = read(path, schema, mode)
        except KernelError as error:
            assert error.condition == "STATEPLAN_NOT_EXACT"
            refused.append(line)
            continue
        assert found.to_pylist()[1:] == rows, line
    assert len(refused) < len(lines) / 6


def test_blocks_of_lines_with_a_column_for_malformed_ones(oracle: Oracle, tmp_path: Path) -> None:
    """Long files: whole blocks of good lines have nulls, the others each malformed line's text."""
    path = tmp_path / "long.json"
    lines = [f'{{"a": {number}, "b": "x"}}' for number in range(20_000)]
    for number in range(3000, 20_000, 2500):
        lines[number] = f'{{"a": "{number}", "b": "x", }}'
        lines[number + 1] = f' {{"a": "{number}", "b": "y"}}'
    path.write_text("\n".join(lines), encoding="utf-8")
    ddl = "a int, bad string, b string"
    options = {"columnNameOfCorruptRecord": "bad"}
    expected = oracle.spark.read.schema(ddl).options(**options).json(str(path)).toArrow()
    schema = schema_of({"a": t.IntegerType(), "bad": t.StringType(), "b": t.StringType()})
    found = pa.Table.from_batches(read_json(str(path), schema, options, ZONE), schema)
    assert found.to_pydict() == expected.to_pydict()
    assert found.column("bad").null_count == len(lines) - 14


def test_the_column_for_malformed_lines_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_bytes(b'{"a": 1}\n')
    with pytest.raises(KernelError) as error:
        read(path, schema_of({CORRUPT: t.StringType()}), "PERMISSIVE")
    assert error.value.condition == "UNSUPPORTED_FEATURE.QUERY_ONLY_CORRUPT_RECORD_COLUMN"


QUOTES = (
    "{'i': 1, 'c0': 'x'}",
    "{'i': 2, \"c0\": 'it\\'s \"so\"'}",
    '{"i": 3, "c0": "it\\\'s \'so\'"}',
    "{'i': 4, 'c0': {'a': 'b', \"c\": [1, 'd']}}",
    "{'i': 5, 'c0': '\\u00e9\\n\\\\'}",
    "{'i': 6, 'c0': ''}",
    "{'i': 7, 'c0': \"\", 'c1': null}",
    "[{'i': 8, 'c0': '{'}, {'i': 9}]",
    "{'i': 10, 'c0': 'x'",
)


def test_strings_in_single_quotes(oracle: Oracle, tmp_path: Path) -> None:
    expected = pa.concat_tables(oracle.read([line.encode() for line in QUOTES], ["string"]))
    (tmp_path / "quotes.json").write_text("\n".join(QUOTES))
    schema = schema_of({"i": t.IntegerType(), "c0": t.StringType()})
    assert shown(read(tmp_path / "quotes.json", schema, "PERMISSIVE")) == shown(expected)
    (tmp_path / "open.json").write_text("{'i': 1, 'c0': 'x}\n")
    with pytest.raises(KernelError, match="STATEPLAN_NOT_EXACT"):
        read(tmp_path / "open.json", schema, "PERMISSIVE")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"multiLine": "true"}, '[{"i": 1,\n "c0": "x"},\r\n {"i": 2}]\n{"i": 3}'),
        ({"multiLine": "TRUE", "lineSep": ","}, '\n{"i": 1, "c0": {"a": [1,\n 2]}}\n{"i": 9}\n'),
        ({"multiLine": "true"}, '{"i": 1,\n "c0": '),
        ({"multiLine": "true"}, '\ufeff{"i": 1, \'c0\': "\u00e9"}'),
        ({"multiLine": "true"}, " \n"),
        ({"lineSep": ";"}, '{"i": 1,\n "c0": "x"};{"i": 2};;bad;{"i": 3}\n'),
        ({"lineSep": "\n"}, '{"i": 1}\n{"i": 2}\r\nbad\r{"i": 3}\n'),
    ],
)
def test_where_records_end(
    oracle: Oracle, tmp_path: Path, options: dict[str, str], text: str
) -> None:
    path = tmp_path / "records.json"
    path.write_bytes(text.encode())
    spark = oracle.spark
    ddl = f"i INT, c0 STRING, {CORRUPT} STRING"
    expected = spark.read.options(**options).schema(ddl).json(str(path)).toArrow()
    schema = schema_of({"i": t.IntegerType(), "c0": t.StringType(), CORRUPT: t.StringType()})
    found = pa.Table.from_batches(read_json(str(path), schema, options, ZONE), schema)
    assert shown(found) == shown(expected)
    inferred = inferred_from_json([str(path)], options).simple
    wanted = spark.read.options(**options).json(str(path)).schema.simpleString()
    assert inferred == wanted


def test_a_file_that_is_one_record_belongs_to_its_first_part(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text('[{"a": 1},\n {"a": 2}]')
    schema, options = schema_of({"a": t.LongType()}), {"multiLine": "true"}

    def rows(part: FilePart) -> list[Any]:
        batches = read_json(str(path), schema, options, ZONE, part=part)
        return pa.Table.from_batches(batches, schema).column("a").to_pylist()

    assert rows(FilePart(0, 5)) == [1, 2] and rows(FilePart(5, None)) == []


def test_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_bytes(b"")
    assert list(read_json(str(path), schema_of({"a": t.LongType()}), {}, ZONE)) == []


def test_message_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(b'{"a": 1}\n' * 2000 + b'{"a": 1, "b": +2}\n' + b'{"a": 1}\n' * 2000)
    with pytest.raises(KernelError, match=r"Line 2001 of .*broken.json.*column 15.*--engine spark"):
        read(path, schema_of({"a": t.LongType()}), "PERMISSIVE")


def test_null_behind_an_object(tmp_path: Path) -> None:
    """Arrow's reader ends the process over such a line."""
    path = tmp_path / "null.json"
    path.write_bytes(b'{"a": 1} null {"a": 2}\n{"a": 3}\n')
    found = read(path, schema_of({"a": t.LongType()}), "FAILFAST")
    assert found.column("a").to_pylist() == [1, 3]


@pytest.mark.parametrize(
    ("fields", "options", "reason"),
    [
        ({"a": t.LongType()}, {"MODE": "failfast", "multiLine": "false"}, None),
        ({"a": t.LongType()}, {"multiLine": "true", "lineSep": ";"}, None),
        (
            {"a": t.LongType()},
            {"multiLine": "true", "encoding": "UTF-8"},
            "an encoding is given with 'multiLine'",
        ),
        ({"a": t.LongType()}, {"lineSep": ";;"}, "the option 'lineSep' is ';;'"),
        ({"a": t.LongType()}, {"encoding": "UTF-16"}, "the option 'encoding' is 'UTF-16'"),
        (
            {"a": t.LongType()},
            {"timestampFormat": "yyyy"},
            "the option 'timestampFormat' is 'yyyy'",
        ),
        ({"bad": t.StringType()}, {"columnNameOfCorruptRecord": "bad"}, None),
        (
            {CORRUPT: t.IntegerType()},
            {},
            f"the column '{CORRUPT}' takes malformed lines, and is no STRING",
        ),
        ({}, {}, "no column is read"),
        (
            {"a": t.ArrayType(t.DayTimeIntervalType())},
            {},
            "a value has the type INTERVAL DAY TO SECOND",
        ),
        (
            {"a": t.MapType(t.LongType(), t.LongType())},
            {},
            "a map has keys of type BIGINT",
        ),
    ],
)
def test_unsupported(
    fields: dict[str, t.DataType], options: dict[str, str], reason: str | None
) -> None:
    schema = t.StructType(tuple(t.StructField(name, kind) for name, kind in fields.items()))
    assert unsupported(schema, options) == reason
