"""CSV files read here and by a live Spark: every line gives the same, or is refused."""

from __future__ import annotations

import gzip
import itertools
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from test_json_files import NUMBERS, TEXTS, _words
from test_json_records import SCHEMA, reading, told

from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.runtime.arrow_types import arrow_type
from stateplan.runtime.engines.evaluating import pushed_filters
from stateplan.runtime.kernels.errors import KernelError
from stateplan.runtime.kernels.readers.csv_files import read_csv
from stateplan.runtime.kernels.readers.csv_options import unsupported
from stateplan.runtime.kernels.readers.line_files import BLOCK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZONE = "America/New_York"
BLANKS = "".join(map(chr, range(33)))
CORRUPT = "_corrupt_record"


class Files:
    """One file, and who reads it."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark = spark
        self.path = path

    def write(self, lines: Sequence[str], end: str = "\n") -> None:
        text = end.join(lines) + end
        self.path.write_bytes(text.encode())

    def here(self, ddl: str, options: dict[str, str], columns: list[str] | None = None) -> Any:
        schema = arrow_schema(ddl)
        places = [schema.names.index(name) for name in columns or schema.names]
        batches = list(read_csv(str(self.path), schema, places, options, ZONE))
        return pa.Table.from_batches(batches, pa.schema([schema.field(p) for p in places]))

    def by_spark(self, ddl: str, options: dict[str, str], columns: list[str] | None = None) -> Any:
        frame = self.spark.read.schema(ddl).options(**options).csv(str(self.path))
        return (frame if columns is None else frame.select(*columns)).toArrow()

    def refused(
        self, lines: Sequence[str], ddl: str, options: dict[str, str], columns: list[str] | None
    ) -> list[str]:
        """Compare the rows of lines; returns those that are refused here."""
        assert unsupported(parse_schema(ddl), options) is None
        kept, refused = list(lines), []
        while True:
            self.write(kept)
            try:
                found = self.here(ddl, options, columns)
                break
            except KernelError as error:
                place = re.search(r"Line (\d+) of", error.message)
                assert place and error.condition == "STATEPLAN_NOT_EXACT", error
                refused.append(kept.pop(int(place[1]) - 1))
        expected = rows(self.by_spark(ddl, options, columns))
        comment = options.get("comment", "\n")
        records = [one for one in kept if one.strip(BLANKS) and not one.startswith(comment)]
        ours = rows(found)
        assert len(ours) == len(expected) == len(records)
        for line, our, their in zip(records, ours, expected, strict=True):
            assert our == their, (options, columns, line)
        return refused


def arrow_schema(ddl: str) -> Any:
    return pa.schema([(f.name, arrow_type(f.data_type)) for f in parse_schema(ddl).fields])


def rows(table: Any) -> list[Any]:
    """Rows that can be compared: far times as numbers, NaN and -0.0 by name."""

    def values(column: Any) -> list[Any]:
        kind = column.type
        if pa.types.is_timestamp(kind):
            column = column.cast(pa.int64())
        elif pa.types.is_date(kind):
            column = column.cast(pa.int32())
        return [repr(v) if isinstance(v, float) else v for v in column.to_pylist()]

    return list(zip(*map(values, table.columns), strict=True))


@pytest.fixture(scope="module")
def files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Files]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", ZONE)
    yield Files(spark, tmp_path_factory.mktemp("csv") / "lines.csv")
    spark.conf.set("spark.sql.session.timeZone", str(before))


# ------------------------------------------------------------------------------------ lines

LEADING, TRAILING = "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace"
LETTERS: list[tuple[dict[str, str], str, float]] = [
    ({}, 'ab,",\\ ', 0),
    ({}, '😀é,"\\', 0),
    ({"escape": '"'}, 'a,"\\ ', 0),
    ({"escape": ""}, 'a,"\\ ', 0),
    ({"quote": ""}, 'a,"\\ ', 0),
    ({"quote": "'", "sep": ";", "comment": "#"}, "#a;'\\", 0),
    ({LEADING: "true"}, 'a,"\\ \t', 0),
    ({TRAILING: "true"}, 'a,"\\ \t', 0.1),
    ({LEADING: "true", TRAILING: "true", "sep": "\\t"}, 'a\t,"\\ ', 0),
    ({"nullValue": "a", "emptyValue": "E", TRAILING: "true"}, 'a,"\\ ', 0.1),
    ({"nullValue": "a", "emptyValue": "E", LEADING: "true"}, 'a,"\\ ', 0.02),
    ({"escape": "|", "charToEscapeQuoteEscaping": "\\"}, 'a|,"\\', 0),
    ({"sep": "||"}, 'a|,"', 0.6),
    ({"sep": "ab"}, "abc", 0),
]
"""Options, the letters of lines, and the share of lines that is refused at most."""


@pytest.mark.parametrize("number", range(len(LETTERS)))
def test_random_lines(files: Files, number: int) -> None:
    """What univocity makes of any order of quotes, escapes, separators and blanks."""
    options, letters, share = LETTERS[number]
    chance = random.Random(number)
    ddl = f"c0 string, c1 string, c2 string, c3 string, {CORRUPT} string"
    for columns in (None, ["c1", "c3", CORRUPT], ["c0"]):
        lines = ["".join(chance.choices(letters, k=chance.randrange(1, 14))) for _ in range(400)]
        assert len(files.refused(lines, ddl, options, columns)) <= share * len(lines)


def test_quotes_in_values_that_are_skipped(files: Files) -> None:
    """univocity finds another end of a value that is not read: a known mistake of it."""
    lines = ["a,b,c,d", '"",\\a",a" \\,', '"",x,"y",z', '"a\\\\",b,"c",d', 'x,"","p",q']
    for escape in ('"', "\\", ""):
        for columns in (None, ["b", "d"], ["a"]):
            assert not files.refused(
                lines, "a string, b string, c string, d string", {"escape": escape}, columns
            )


def test_bytes_that_are_no_utf8(files: Files) -> None:
    chance = random.Random(0)
    some = b"A\x80\xa0\xbf\xc0\xc3\xe0\xe2\xed\xef\xf0\xf4\xf8\x90\xff,"
    lines = [bytes(chance.choices(some, k=chance.randrange(1, 6))) for _ in range(2000)]
    files.path.write_bytes(b"\n".join(lines) + b"\n")
    ddl = f"a string, b string, {CORRUPT} string"
    assert rows(files.here(ddl, {})) == rows(files.by_spark(ddl, {}))


@pytest.mark.parametrize("line_sep", [None, "\n", "\r", "|"])
def test_ends_of_lines(files: Files, line_sep: str | None) -> None:
    chance = random.Random(5)
    text = "".join(chance.choices('ab,"\r\n| ', k=3000))
    options = {} if line_sep is None else {"lineSep": line_sep}
    ddl = f"a string, b string, {CORRUPT} string"
    for mark in (b"", b"\xef\xbb\xbf"):
        files.path.write_bytes(mark + b"x,y\n" + text.encode())
        assert rows(files.here(ddl, options)) == rows(files.by_spark(ddl, options))


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "us-ascii"])
def test_encodings_of_one_byte(files: Files, encoding: str) -> None:
    chance = random.Random(8)
    files.path.write_bytes(bytes(chance.choices([*b'ab,"\n\r', 0x80, 0xE9, 0xFF], k=3000)))
    ddl, options = f"a string, b string, {CORRUPT} string", {"encoding": encoding}
    assert rows(files.here(ddl, options)) == rows(files.by_spark(ddl, options))


SEVERAL: list[tuple[dict[str, str], str]] = [
    ({}, '\\"'),
    ({"escape": '"', "header": "true"}, '""'),
    ({"quote": "'", "sep": ";", "nullValue": "a", "emptyValue": "E"}, "\\'"),
    ({"escape": '"', LEADING: "true", TRAILING: "true", "encoding": "ISO-8859-1"}, '""'),
    ({"escape": "|", LEADING: "true"}, '|"'),
]
"""Options, and how a quote is written within a value."""


@pytest.mark.parametrize("number", range(len(SEVERAL)))
def test_records_of_several_lines(files: Files, number: int) -> None:
    given, inner = SEVERAL[number]
    options = {"multiLine": "true", **given}
    sep, quote = options.get("sep", ","), options.get("quote", '"')
    chance = random.Random(number)
    words = ("a", "é", "\n", "\r\n", "\r", " ", sep, inner, "\\x", "1", "\n\n")

    def value() -> str:
        if chance.random() < 0.5:
            return chance.choice(("", "a", "b c", "12", "é\\x", "y "))
        return quote + "".join(chance.choices(words, k=chance.randrange(5))) + quote

    for end in ("\n", "\r\n"):
        records = [
            sep.join(value() for _ in range(chance.choice((3, 3, 3, 2)))) for _ in range(300)
        ]
        text = end.join([sep.join("xyz"), *records, "", "  ", "z", ""])
        files.path.write_bytes(text.encode(options.get("encoding", "utf-8")))
        for columns in (None, ["y"]):
            asked = "x string, y string, z int", options, columns
            try:
                found = files.here(*asked)
            except KernelError:
                assert columns and '""' in inner  # of values that are skipped
            else:
                assert rows(found) == rows(files.by_spark(*asked))


@pytest.mark.parametrize("escape", ['"', "\\"])
def test_records_that_may_have_several_lines_are_refused_or_right(
    files: Files, tmp_path: Path, escape: str
) -> None:
    chance = random.Random(escape)
    schema = arrow_schema("a string, b string, n int")
    options = {"multiLine": "true", "escape": escape}
    kept, refused = {}, 0
    for number in range(400):
        path = tmp_path / f"{number}.csv"
        path.write_text("".join(chance.choices('aa,,""\n\r\\ ', k=chance.randrange(1, 12))))
        try:
            batches = list(read_csv(str(path), schema, [0, 1, 2], options, ZONE))
        except KernelError as error:
            assert error.condition == "STATEPLAN_NOT_EXACT"
            refused += 1
            path.unlink()
        else:
            kept[path.name] = rows(pa.Table.from_batches(batches, schema))
    frame = files.spark.read.schema("a string, b string, n int").options(**options)
    frame = frame.csv(str(tmp_path)).select("_metadata.file_name", "*")
    found: dict[str, list[Any]] = {name: [] for name in kept}
    for name, *values in frame.collect():
        found[name].append(tuple(values))
    assert found == kept
    assert refused < 250


def test_long_files(files: Files) -> None:
    """Files of several blocks: most lines clean, some not, in the order of the file."""
    chance = random.Random(1)
    plain = ['1,"a, b",2.5', "2,x,-1e3", ',"",', '7,"é😀",0.1']
    odd = ['3,"say ""hi""",4', "4,too,5,many", "5", "x,y,z", " ", '6,"a" b,1', '"8",\\,"1.5"']
    lines = [chance.choice(odd if chance.random() < 0.01 else plain) for _ in range(450_000)]
    files.write(["i,s,d", *lines], "\r\n")
    assert files.path.stat().st_size > BLOCK
    for columns, mode in ((None, "PERMISSIVE"), (["d"], "DROPMALFORMED")):
        options = {"header": "true", "mode": mode}
        ddl = "i int, s string, d double"
        found, expected = (read(ddl, options, columns) for read in (files.here, files.by_spark))
        assert found.equals(expected)


# ----------------------------------------------------------------------------------- values

KINDS = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary"),
    *("decimal(10,2)", "decimal(38,10)", "decimal(5,0)", "date", "timestamp", "timestamp_ntz"),
)
MORE = _words(
    r"""
    +1 -+1 00012 - + . .5 5. 1e 1d 1f 1.5F 1_000 1,000 Infinity +Infinity -Infinity +NaN -NaN nan
    inf Inf -Inf INF TRUE False tRuE falſe yes t 1e-400 -1e-400 1e-46 4.9e-324 1.4e-45 99999999.994
    99999999.995 -0.005 1E5 1e+5 12345678901234567890123456789.1234567890123 12026 0
    5000000-01-01 1969-12-31 2026-1-1T1:1:1 2026-01-01T10:11:12.1 2026-02-29 2026-12-31T23:59:60
    """
)
VALUES = [word.strip('"') for word in (*NUMBERS, *TEXTS) if '"' not in word and "\\" not in word]
VALUES += [*MORE, "1 ", " 1", "1\x7f", "\u00a01", " 1.5 ", "true ", "  ", "2026-01-01 10:11:12.5"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_value_in_every_column(files: Files, kind: str) -> None:
    lines = [f"{number}|{value}|x" for number, value in enumerate(VALUES)]
    ddl = f"i int, c {kind}, {CORRUPT} string, z string"
    refused = files.refused(lines, ddl, {"sep": "|"}, None)
    # Of times: forms that json/times.py refuses, too.
    assert not refused or (kind in ("date", "timestamp", "timestamp_ntz") and len(refused) < 20)


def test_names_of_numbers(files: Files) -> None:
    names = {"nanValue": "-1", "positiveInf": "9", "negativeInf": "x", "nullValue": "0"}
    lines = [f"{value},{value}" for value in ("-1", "9", "x", "0", "1", "NaN", "Inf", '""', "")]
    ddl = f"f float, d double, {CORRUPT} string"
    assert files.refused(lines, ddl, names, None) == []


PATTERNS = [
    ("timestampFormat", "yyyy-MM-dd HH:mm:ss"),
    ("timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"),
    ("timestampFormat", "dd/MM/yyyy HH:mm"),
    ("timestampFormat", "MM/dd/yyyy hh:mm:ss a"),
    ("timestampFormat", "yyyyMMddHHmmss"),
    ("timestampNTZFormat", "dd-MMM-yyyy HH:mm:ss.SSSSSS"),
    ("dateFormat", "yyyy-MM-dd"),
    ("dateFormat", "d.M.yyyy"),
    ("dateFormat", "yyyyMMdd"),
]
TYPES = {"timestampFormat": "timestamp", "timestampNTZFormat": "timestamp_ntz"}
FORMS = ("{:04d}-{:02d}-{:02d} {:02d}:{:02d}:{:02d}", "{2:02d}/{1:02d}/{0:04d} {3:02d}:{4:02d}")
FORMS += (
    "{:04d}-{:02d}-{:02d}T{:02d}:{:02d}:{:02d}.5+01:00",
    "{:04d}{:02d}{:02d}{:02d}{:02d}{:02d}",
)
FORMS += (
    "{1:02d}/{2:02d}/{0:04d} {3:02d}:{4:02d}:{5:02d} PM",
    "{2:02d}-MAY-{0:04d} {3:02d}:{4:02d}:{5:02d}.25",
)
FORMS += ("{:04d}-{:02d}-{:02d}", "{2}.{1}.{0:04d}", "{:04d}{:02d}{:02d}")


def times_in_forms(pattern: str) -> list[str]:
    """Times of each form, some of them with a letter changed; others for another pattern."""
    chance = random.Random(pattern)
    values = []
    for form in FORMS * 30:
        year = chance.choice([1, 999, 1899, 1970, 2024, 2026])
        day = chance.choice([(3, 8), (11, 1), (2, 29), (12, 31), (chance.randrange(1, 13), 30)])
        text = form.format(year, *day, chance.randrange(26), chance.choice([0, 30, 59, 60]), 7)
        at = chance.randrange(len(text))
        changed = chance.choice(["", "9", "-", "x", " ", "t"])
        values.append(text if chance.random() < 0.6 else text[:at] + changed + text[at + 1 :])
    return values


@pytest.mark.parametrize(("option", "pattern"), PATTERNS)
def test_patterns(files: Files, option: str, pattern: str) -> None:
    values = times_in_forms(pattern)
    ddl = f"i int, c {TYPES.get(option, 'date')}, {CORRUPT} string"
    lines = [f"{number}|{value}" for number, value in enumerate(values)]
    assert len(files.refused(lines, ddl, {"sep": "|", option: pattern}, None)) < 10


# ------------------------------------------------------------- headers, modes and conditions


def both(files: Files, ddl: str, options: dict[str, str], columns: list[str] | None) -> list[Any]:
    """The rows, or else condition and message of the failure, here and in Spark."""
    found: list[Any] = []
    for read in (files.here, files.by_spark):
        try:
            found.append(rows(read(ddl, options, columns)))
        except Exception as error:
            if "CSV header" not in str(error):
                found.append(told(error))
                continue
            text = str(error)[re.search("CSV header|Number of", str(error)).start() :]  # type: ignore[union-attr]
            found.append(text.partition("\n\tat")[0].partition("CSV file")[0])
    return found


@pytest.mark.parametrize("enforce", ["true", "false"])
def test_headers(files: Files, enforce: str) -> None:
    options = {"header": "true", "enforceSchema": enforce, "comment": "#"}
    for header in ("a,b", "A,b", "b,a", "a", "a,b,c", "  ,", '"a","b"', "#x\n\n\na,b"):
        for columns in (None, ["b"], ["a"]):
            files.write([header, "1,x", "a,b"])
            here, spark = both(files, "a int, b string", options, columns)
            assert here == spark, (header, columns)


FAILING = ["1,x,zz", "q,x,2", "1", "1,2026-01-01,3,4", '"é😀",x,1', "1,2026-01-01,2.50"]


def test_failfast_raises_what_spark_raises(files: Files) -> None:
    ddl = f"a int, b date, c decimal(5,2), {CORRUPT} string"
    for line, columns in itertools.product(FAILING, (None, ["a"], ["c", CORRUPT])):
        files.write(["7,2026-01-02,1.5", line])
        here, spark = both(files, ddl, {"mode": "FAILFAST"}, columns)
        assert here == spark, (line, columns)


CONDITIONS = ("a > 5", "d > 5", "a IS NULL", "s = 'x' AND a < 3", "a > 5 OR d > 5")


def test_conditions_leave_malformed_records_out(files: Files) -> None:
    """A record that a condition leaves out is no failure, as far as its values were read."""
    for line, condition in itertools.product(("1,zz,x", "q,2,x", "7,8", "1,8"), CONDITIONS):
        files.write(["6,9,x", line])
        frame = files.spark.read.schema(SCHEMA).option("mode", "FAILFAST").csv(str(files.path))
        expected = found = None
        try:
            frame.where(condition).collect()
        except Exception as error:
            expected = told(error)
        node = reading(f"SELECT * FROM STREAM events WHERE {condition}", "csv")
        filters = pushed_filters(node.given, node.output)
        assert filters
        schema, path = arrow_schema(SCHEMA), str(files.path)
        try:
            list(read_csv(path, schema, [0, 1, 2], {"mode": "FAILFAST"}, ZONE, filters))
        except KernelError as error:
            found = told(error)
        assert found == expected, (line, condition)


# ------------------------------------------------------------------------------ without Spark


def test_compressed_and_empty_files(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    schema = arrow_schema("a int, b string")
    for text, expected in (("", []), ("1,x\n2,", [{"a": 1, "b": "x"}, {"a": 2, "b": None}])):
        path.write_bytes(gzip.compress(text.encode()))
        batches = read_csv(str(path), schema, [0, 1], {}, ZONE)
        assert [row for batch in batches for row in batch.to_pylist()] == expected


def test_lines_are_counted_where_no_column_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('a,b\n1,x\n\n  \n2,"\n')
    (batch,) = read_csv(str(path), arrow_schema("a int, b string"), [], {"header": "true"}, ZONE)
    assert batch.num_rows == 2


def test_message_names_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("1,x\n\n0x1p3,y\n")
    with pytest.raises(KernelError, match=r"Line 3 of .*'0x1p3' in the column 'a'.*--engine spark"):
        list(read_csv(str(path), arrow_schema("a double, b string"), [0, 1], {}, ZONE))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"HEADER": "true", "sep": "\\t", "mode": "failfast", "encoding": "UTF-8"}, None),
        ({"sep": "\\.", "header": "true"}, "the option 'sep' is '\\.'"),
        ({"sep": "abb"}, None),
        ({"sep": "aba"}, "the option 'sep' is 'aba'"),
        ({"sep": "||", TRAILING: "true"}, "the option 'sep' is '||'"),
        ({"multiLine": "true", "encoding": "iso-8859-1"}, None),
        ({"multiLine": "true", "comment": "#"}, "such a 'comment' is given with 'multiLine'"),
        ({"multiLine": "true", "lineSep": "|"}, "such a 'lineSep' is given with 'multiLine'"),
        ({"multiLine": "false", "comment": "#", "charset": "US-ASCII"}, None),
        ({"encoding": "latin1"}, "the option 'encoding' is 'latin1'"),
        ({"lineSep": "\r\n"}, "the option 'lineSep' is '\r\n'"),
        ({"unescapedQuoteHandling": "RAISE_ERROR"}, "the option 'unescapedQuoteHandling' is"),
        ({"dateFormat": "yyyy-MM-dd"}, None),
        ({"dateFormat": "D yyyy"}, "the option 'dateFormat' is 'D yyyy'"),
        ({"timestampNTZFormat": "yyyy-MM-dd'T'HH:mmXXX"}, "the option 'timestampNTZFormat' is"),
        ({"maxColumns": "7"}, "the option 'maxColumns' is '7'"),
        ({"quote": "ab"}, "the option 'quote' is 'ab'"),
        ({"unknown": "1"}, "the option 'unknown' is '1'"),
    ],
)
def test_unsupported_options(options: dict[str, str], reason: str | None) -> None:
    found = unsupported(parse_schema("a int"), options)
    assert found is None if reason is None else (found or "").startswith(reason)


def test_unsupported_types() -> None:
    assert unsupported(parse_schema("a array<int>"), {}) == "the column 'a' has the type ARRAY<INT>"
    assert "takes malformed lines" in (unsupported(parse_schema(f"a int, {CORRUPT} int"), {}) or "")
    several = unsupported(parse_schema(f"a int, {CORRUPT} string"), {"multiLine": "true"})
    assert "takes malformed records of several lines" in (several or "")
