"""Queries that read files: each format with columns of each type, and each option of its reader.

CSV and ORC files are not among them: our own code alone reads these.
"""

from __future__ import annotations

from collections.abc import Iterator

from stateplan.runtime.engines.signatures import Signature, kinds, option_signature

from .columns import NESTED, TYPES, column_of, type_of

_JSON = {
    "boolean": ("true", "false", "null"),
    "tinyint": ("1", "-128", "null", "0"),
    "smallint": ("1", "-32768", "null"),
    "int": ("1", "-7", "2147483647", "null"),
    "bigint": ("1", "9223372036854775807", "null"),
    "float": ("1.5", "-0.0", "1e3", "3", "null"),
    "double": ("1.5", "-0.0", "1e300", "3", "0.1", "null", '"NaN"', '"Infinity"'),
    "decimal(10,2)": ("1.5", "12345678.12", "3", "null", "1.255"),
    "decimal(38,18)": ("1.5", "0.000000000000000001", "null"),
    "decimal(20,0)": ("15", "12345678901234567890", "null"),
    "string": ('"a"', '""', '"\\u00e9"', '"😀"', "null", "12", "1.50", "true", '{"b": 1}', "[1]"),
    "date": ('"2024-02-29"', '"1969-12-31"', '"0001-01-01"', "null"),
    "timestamp": (
        '"2024-02-29 01:02:03"', '"2024-02-29T01:02:03Z"', '"2024-02-29T01:02:03.123456+05:30"',
        '"2024-03-10 02:30:00"', '"2024-02-29"', "null",
    ),
    "timestamp_ntz": ('"2024-02-29 01:02:03"', '"2024-02-29T01:02:03.123"', "null"),
    "array<int>": ("[1, 2, null]", "[]", "null"),
    "array<string>": ('["a", null]', "[]", "null"),
    "map<string,int>": ('{"a": 1}', "{}", "null"),
    "struct<a:int,b:string>": ('{"a": 1, "b": "x"}', '{"b": "y"}', "{}", "null"),
    "array<struct<a:int,b:string>>": ('[{"a": 1}, {"b": "x"}]', "[]", "null"),
}  # fmt: skip
_BROKEN = {
    "malformed": ('{"c": 1', "x", "{}", "", '{"c": 2} trailing'),
    "other type": ('{"c": "x"}', '{"c": [1]}', '{"c": {"a": 1}}', '{"c": true}'),
    "too large": ('{"c": 99999999999}', '{"c": 1.5}'),
}
_FLAGS = ("true", "false")
_OPTIONS: dict[str, list[tuple[str, str]]] = {
    "json": [
        *(("mode", mode) for mode in ("PERMISSIVE", "DROPMALFORMED", "FAILFAST")),
        *(("multiLine", flag) for flag in _FLAGS),
        *(("allowComments", flag) for flag in _FLAGS),
        *(("allowSingleQuotes", flag) for flag in _FLAGS),
        *(("primitivesAsString", flag) for flag in _FLAGS),
        ("dateFormat", "yyyy-MM-dd"),
        ("timestampFormat", "yyyy-MM-dd HH:mm:ss"),
        ("timestampFormat", "yyyy-MM-dd'T'HH:mm:ss"),
        ("columnNameOfCorruptRecord", "bad"),
        ("encoding", "UTF-8"),
    ],
    "parquet": [("mergeSchema", flag) for flag in _FLAGS],
    "text": [("wholetext", flag) for flag in _FLAGS] + [("lineSep", "\n")],
}
_LINES = {
    "json": [
        '{"c": 1, "d": "a"}', '{"c": 2}', '{"d": "b", "c": null}', '{"c": "x", "d": "c"}', "{bad",
        "{'c': 4, 'd': 'single'}", '/* note */ {"c": 5}', "",
    ],
    "text": ["a", "", "😀 é", " x ", "tab\there", "NULL"],
}  # fmt: skip


def reader_programs() -> Iterator[tuple[Signature, str]]:
    """Signature and program; a signature may have several."""
    yield from _json_columns()
    for kind in (*TYPES, *NESTED):
        name = column_of(type_of(kind), 1).name
        for one in kinds(type_of(kind)):
            yield Signature("parquet", one), _columnar(name, kind)
    yield Signature("text", "string"), _text("text", _LINES["text"], "value STRING", {})
    for format, options in _OPTIONS.items():
        for name, value in options:
            signature = option_signature(format, name, value)
            if format in _LINES:
                schema = "value STRING" if format == "text" else "c INT, d STRING"
                schema += ", bad STRING" if name == "columnNameOfCorruptRecord" else ""
                yield signature, _text(format, _clean(format), schema, {name: value})
                if name in ("mode", "multiLine", "columnNameOfCorruptRecord"):
                    broken = Signature(f"{format} files", f"malformed; {signature.arguments}")
                    yield broken, _text(format, _LINES[format], schema, {name: value})
            else:
                column = column_of(type_of("int"), 1).name
                yield signature, _columnar(column, "int", {name: value})
    for format in _LINES:
        schema = "value STRING" if format == "text" else "c INT, d STRING"
        for what, text in (("gzip", ".gz"), ("bzip2", ".bz2")):
            yield (
                Signature(f"{format} files", what),
                _text(format, _clean(format), schema, {}, packed=text),
            )
    yield (
        Signature("json files", "missing and further columns"),
        _text("json", ['{"z": 1}', '{"c": 1, "z": 2}'], "c INT, d STRING", {}),
    )
    for what, lines in _BROKEN.items():
        yield Signature("json files", what), _text("json", list(lines), "c INT, d STRING", {})


def _clean(format: str) -> list[str]:
    if format == "json":
        return ['{"c": 1, "d": "a"}', '{"c": 2, "d": "é"}', '{"c": 3}']
    return ["a", "b"]


def _json_columns() -> Iterator[tuple[Signature, str]]:
    for kind, values in _JSON.items():
        lines = [f'{{"c": {value}}}' for value in values]
        for one in kinds(type_of(kind)):
            yield Signature("json", one), _text("json", lines, f"c {kind}", {})


def _text(
    format: str, lines: list[str], schema: str, options: dict[str, str], packed: str = ""
) -> str:
    opened = {"": "open", ".gz": "gzip.open", ".bz2": "bz2.open"}[packed]
    return "\n".join(
        (
            "import bz2, gzip, os, tempfile",
            "folder = tempfile.mkdtemp(dir=place)",
            f"target = {opened}(os.path.join(folder, 'part.{format}{packed}'), 'wt', newline='')",
            f"target.write('\\n'.join({lines!r}) + '\\n')",
            "target.close()",
            f"read = spark.read.format({format!r}).schema({schema!r}).options(**{options!r})",
            "result = read.load(folder)",
        )
    )


def _columnar(name: str, kind: str, options: dict[str, str] | None = None) -> str:
    return "\n".join(
        (
            "import os, tempfile",
            "from pyarrow import parquet",
            "folder = tempfile.mkdtemp(dir=place)",
            f"column = table.select([{name!r}]).rename_columns(['c'])",
            "parquet.write_table(column, os.path.join(folder, 'part.parquet'))",
            f"read = spark.read.format('parquet').schema('c {kind}, missing INT')",
            f"result = read.options(**{(options or {})!r}).load(folder)",
        )
    )
