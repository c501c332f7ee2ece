"""from_json against a live Spark: every value in every column, odd texts, many texts at once."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from test_csv_files import PATTERNS, TYPES, times_in_forms
from test_json_files import COLUMNS, CUT, FEW, ODD_LINES, VALUES, ZONE, _record, schema_of, shown

from stateplan.planner.model.schemas import types as t
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.runtime.kernels.errors import KernelError
from stateplan.runtime.kernels.expressions.nested.json_reading import read_paths, read_texts
from stateplan.runtime.kernels.json.support import path_steps, unsupported
from stateplan.runtime.kernels.json.times import TimeTexts

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


TIMES = TimeTexts(ZONE)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", ZONE)
    yield spark
    spark.conf.set("spark.sql.session.timeZone", str(before))


def by_spark(
    session: SparkSession,
    texts: list[str | None],
    ddl: str,
    options: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    from pyspark.sql import functions as F

    table = pa.table({"v": pa.array(texts, pa.string())})
    read = F.from_json("v", ddl, dict(options)).alias("s")
    frame = session.createDataFrame(table).coalesce(1).select(read)
    found = frame.toArrow()
    return [shown(found.slice(place, 1)) for place in range(len(texts))]


def here(
    texts: list[str | None], columns: dict[str, t.DataType], times: TimeTexts = TIMES
) -> list[str]:
    found = read_texts(pa.array(texts, pa.string()), pa.struct(list(schema_of(columns))), times)
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


@pytest.mark.parametrize(("option", "pattern"), PATTERNS)
def test_times_in_formats(session: SparkSession, option: str, pattern: str) -> None:
    kind = TYPES.get(option, "date")
    texts: list[str | None] = [
        f'{{"i": {place}, "c0": {value}}}'
        for place, value in enumerate(
            [*map(json.dumps, times_in_forms(pattern)), "12", "-3.5", '""', "null", "[1]", "true"]
        )
    ]
    options = {option: pattern}
    columns = {"i": t.IntegerType(), "c0": COLUMNS[kind]}
    times = TimeTexts.of(ZONE, options)
    assert times != TIMES
    assert unsupported(t.StructType((t.StructField("c0", COLUMNS[kind]),)), options) is None
    expected = by_spark(session, texts, f"i int, c0 {kind}", options)
    taken: list[tuple[str | None, str]] = []
    for text, row in zip(texts, expected, strict=True):
        try:
            (found,) = here([text], columns, times)
        except KernelError as error:
            assert error.condition == "STATEPLAN_NOT_EXACT"
            continue
        assert found == row, text
        taken.append((text, row))
    assert len(taken) > len(texts) - 10
    known = [one for one in taken if "None" not in one[1].rpartition(",")[2]]
    assert known
    many = [random.Random(pattern).choice(known) for _ in range(1000)] + taken
    assert here([text for text, _ in many], columns, times) == [row for _, row in many]


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


PATHS = ("$.c0", "$.c0.b", "$.i", "$.c0[0]", "$.c0[2].k", "$.c0.b[1]", "$['c0'].b[0][1]")


@pytest.mark.parametrize("path", PATHS)
def test_paths_lead_to_what_spark_finds(session: SparkSession, path: str) -> None:
    steps = path_steps(path)
    assert steps is not None
    texts = [*ODD, *EVENTS, '{"i": 1, "i": 2}', '{"i": tru', '{"c0": {"b": "\\u00e9"}} x']
    texts += [f'{{"c0": {{"b": {value}}}, "i": {value}}}' for value in ("1", "2.50", '"x"', "null")]
    lists = (
        "[1, 2]",
        "[null, {}, 3]",
        '["x", [1, null]]',
        "[]",
        "[[0, [ 7 ]], {}]",
        '[{"k": 1}, 2',
    )
    texts += [
        f'{{"c0": {value}}}' for value in (*lists, '[5, 6, {"k": [1.50]}]', '[0, 0, {"k": null}]')
    ]
    texts += [f'{{"c0": {{"b": {value}}}}}' for value in lists]
    table = pa.table({"v": pa.array([*texts, None], pa.string())})
    asked = f'get_json_object(v, "{path}") AS p'
    frame = session.createDataFrame(table).coalesce(1).selectExpr(asked)
    theirs = frame.toArrow().column(0).to_pylist()
    differ, refused = [], 0
    for text, answer in zip(table.column(0).to_pylist(), theirs, strict=True):
        try:
            (value,) = read_paths(pa.array([text], pa.string()), [steps])[0].to_pylist()
        except KernelError:
            refused += 1
        else:
            differ += [(text, answer, value)] if value != answer else []
    assert differ == []
    assert refused <= 2
    taken = [(text, answer) for text, answer in zip(texts, theirs, strict=False) if '": [' in text]
    taken = [pair for pair in taken if pair[0].endswith("}") and '"k" : 2' not in pair[0]]
    at_once = read_paths(pa.array([text for text, _ in taken]), [steps])[0].to_pylist()
    assert at_once == [answer for _, answer in taken]
    plain = [f'{{"c0": "{n}", "i": {n}}}' for n in range(1000)]
    found = read_paths(pa.array(plain), [("i",)])[0].to_pylist()
    assert found == [str(n) for n in range(1000)]


ROOTS = ("array<int>", "array<string>", "array<struct<i:int,b:string>>", "map<string,int>",
         "map<string,array<int>>", "map<string,struct<i:int,b:string>>")  # fmt: skip
OF_ROOTS = [
    *("[1,2]", "[]", "{}", '[1,"x"]', "[1, 2] x", "[1,2", "[1,2]]", '{"i":"x"}', '[{"i":1},5]'),
    *('[{"i":1},{"i":"x"}]', '[{"i":1},{"i":', '[null,{"b":"y"}]', '{"i":{"i":1}}', "[1.5]"),
    *('{"i":[1,2],"b":null}', "[[1]]", "[1,,2]", '[1],"value":[2]', '{"i" 1}', "[1]}{", "{'i':1}"),
]


def test_texts_of_lists_and_maps_are_what_spark_makes_of_them(session: SparkSession) -> None:
    texts: list[str | None] = [*OF_ROOTS, *ODD, *EVENTS, None]
    table = pa.table({"v": pa.array(texts, pa.string())})
    asked = [f"from_json(v, '{root}') AS s{place}" for place, root in enumerate(ROOTS)]
    theirs = session.createDataFrame(table).coalesce(1).selectExpr(*asked).toArrow()
    for place, root in enumerate(ROOTS):
        expected, taken = theirs.column(place).combine_chunks(), []
        kind = parse_schema(f"c {root}")
        (field,) = schema_of({"c": kind.fields[0].data_type})
        for row, text in enumerate(texts):
            one = pa.array([text], pa.string())
            try:
                found = read_texts(one, field.type, TIMES)
            except KernelError:
                continue
            assert found.to_pylist() == expected.slice(row, 1).to_pylist(), (root, text)
            taken.append(row)
        assert len(taken) > len(texts) - 8
        many = pa.array([text for text in texts if text is not None and text[:2] in ("[1", "[]")])
        read = [
            e for t, e in zip(texts, expected.to_pylist(), strict=True) if t in many.to_pylist()
        ]
        assert read_texts(many, field.type, TIMES).to_pylist() == read


def test_json_tuple_finds_what_paths_of_a_name_find(session: SparkSession) -> None:
    texts = [*ODD, *EVENTS, *OF_ROOTS, '{"i": tru', '{"i": 1.50, "c0": "\\u00e9"}', None]
    frame = session.createDataFrame(pa.table({"v": pa.array(texts, pa.string())})).coalesce(1)
    theirs = frame.selectExpr("json_tuple(v, 'i', 'c0')").toArrow().to_pylist()
    for text, row in zip(texts, theirs, strict=True):
        one = pa.array([text], pa.string())
        try:
            found = [c[0].as_py() for c in read_paths(one, [("i",), ("c0",)])]
        except KernelError:
            continue
        assert found == list(row.values()), text


def _scalar(chance: random.Random, kind: str) -> str:
    number = chance.choice((0, 1, 7, 20, 12345, 10**9))
    match kind:
        case "whole":
            return str(chance.choice((number, -number)))
        case "plain":
            return f"{number}.{chance.randrange(1000):03d}"
        case "double":
            return repr(chance.choice((-1, 1)) * chance.random() * 10 ** chance.randrange(-5, 12))
        case "mixed":
            return chance.choice((str(number), f"{number}.0", f"{number}.50", "1e3", "-0", "-0.0"))
        case "flag":
            return chance.choice(("true", "false"))
        case "text":
            return chance.choice(('"x"', '"ü y"', '"1.50"', '""', '"NaN"', '"2026-01-01"'))
    return chance.choice(("null", "1", '"one"', "true", "[1, 2.50]", '{"k": 1.0}'))


KINDS = ("whole", "plain", "double", "mixed", "flag", "text", "any")
READ_PATHS = (*(f"$.{kind}" for kind in KINDS), "$.in.mixed", "$.in", "$.in.text", "$.list[1]")


@pytest.mark.parametrize("tame", [True, False])
def test_values_that_are_no_strings_are_written_anew(session: SparkSession, tame: bool) -> None:
    chance = random.Random(11)
    kinds = KINDS[:-1] if tame else KINDS
    texts: list[str | None] = []
    for _ in range(3000):
        fields = [f'"{kind}": {_scalar(chance, kind)}' for kind in kinds if chance.random() < 0.98]
        inner = f'"mixed": {_scalar(chance, "mixed")}, "text": {_scalar(chance, "text")}'
        numbers = ", ".join(_scalar(chance, "mixed") for _ in range(chance.randrange(4)))
        fields += [f'"in": {{{inner}}}', f'"list": [{numbers}]']
        text = "{" + ", ".join(fields) + "}"
        odd = (None, "{}") if tame else (None, text[:-1], "")
        texts.append(chance.choice((text, text, text, text, *odd)))
    taken = [text for text in texts if text is None or '"NaN"' not in text]
    table = pa.table({"v": pa.array(taken, pa.string())})
    asked = [f"get_json_object(v, '{path}') AS p{i}" for i, path in enumerate(READ_PATHS)]
    schema = ", ".join(f"{kind} STRING" for kind in KINDS)
    asked += [f"from_json(v, '{schema}, list ARRAY<STRING>') AS s"]
    theirs = session.createDataFrame(table).coalesce(1).selectExpr(*asked).toArrow()
    found = read_paths(table.column(0).combine_chunks(), [path_steps(p) or () for p in READ_PATHS])
    for path, mine, column in zip(READ_PATHS, found, theirs.columns, strict=False):
        assert mine.to_pylist() == column.to_pylist(), path
    kind = theirs.column(len(READ_PATHS)).type
    mine = read_texts(table.column(0).combine_chunks(), kind, TIMES)
    assert mine.to_pylist() == theirs.column(len(READ_PATHS)).to_pylist()


MAPS = {
    "MAP<STRING, STRING>": ("whole", "plain", "double", "mixed", "flag", "text", "any", "parts"),
    "MAP<STRING, INT>": ("whole",),
    "MAP<STRING, DOUBLE>": ("whole", "plain", "double"),
    "MAP<STRING, ARRAY<STRING>>": ("list",),
    "MAP<STRING, STRUCT<i: INT, t: STRING>>": ("struct",),
}


def _value(chance: random.Random, kind: str) -> str:
    match kind:
        case "parts":
            letters = chance.choice(("a b", "ü", "🙂", r"\n\u001f\/\"\u00e9", r"\ud83d", "\x7f"))
            number = _scalar(chance, chance.choice(("whole", "mixed")))
            return f'{{"k" : ["{letters}",  {number} , null], "l": {{ }}}}'
        case "list":
            return f"[{_scalar(chance, 'whole')},  {_scalar(chance, 'text')}]"
        case "struct":
            return f'{{"i": {_scalar(chance, "whole")}, "t" : {_scalar(chance, "text")}}}'
    return _scalar(chance, kind)


@pytest.mark.parametrize("kind", MAPS)
def test_objects_are_maps(session: SparkSession, kind: str) -> None:
    chance = random.Random(kind)
    texts: list[str | None] = []
    for _ in range(2000):
        names = chance.sample(("a", "b", "ü", "long name", "x:y", "{", ""), chance.randrange(6))
        entries = [f'"{name}" : {_value(chance, chance.choice(MAPS[kind]))}' for name in names]
        entries += ['"n": null'] if chance.random() < 0.1 else []
        own = "{" + " , ".join(entries) + " }"
        tail = chance.choice(('"z": 1', '"z": "\\u00e9"', '"z": [{"m": {"q": 2}}]'))
        texts.append(chance.choice((own, own, "{}", None, f'{{"m": {own}, {tail}}}')))
    texts += ['{"m": null}', '{"m": 5}', '{"z": {"m": {"a": 1}}}', '{"m": {"a": "b\\"c"}}']
    texts = [text for text in texts if text is None or '"NaN"' not in text]
    table = pa.table({"v": pa.array(texts, pa.string())})
    asked = [f"from_json(v, '{kind}') AS m", f"from_json(v, 'm {kind}, z STRING') AS s"]
    theirs = session.createDataFrame(table).coalesce(1).selectExpr(*asked).toArrow()
    for column in theirs.columns:
        expected = column.combine_chunks()
        # What is read one by one, and at once.
        for size, count in ((1, 100), (7, 350), (len(texts), len(texts))):
            parts = (table.column(0).slice(i, size) for i in range(0, count, size))
            found = [read_texts(p.combine_chunks(), column.type, TIMES) for p in parts]
            read = pa.concat_arrays(found)
            assert read.to_pylist() == expected.slice(0, len(read)).to_pylist(), size
