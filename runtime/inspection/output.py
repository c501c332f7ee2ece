"""What `stateplan state show` prints and writes."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, TextIO

from ...planner.model.errors import RuntimeFailure
from .summary import StateSummary

Format = Literal["terminal", "json", "parquet"]
_WIDEST = 80  # characters of a value on a terminal


def print_summaries(summaries: Sequence[StateSummary], out: TextIO | None = None) -> None:
    """A table of operators, one a line."""
    header = [
        *("operator", "name", "version", "stores", "keys", "rows", "bytes", "files"),
        *("oldest event time", "keys per store (min/median/max)", "largest store"),
    ]
    lines = [
        (
            *(str(s.operator_id), s.operator_name, str(s.version), f"{s.stores:,}"),
            *(f"{s.keys:,}", f"{s.rows:,}", f"{s.bytes:,}", f"{s.files:,}"),
            _text(s.oldest),
            "/".join(f"{n:,g}" for n in s.keys_per_store),
            f"{s.largest_share:.1%}",
        )
        for s in summaries
    ]
    _print_table(header, lines, out)


def print_rows(table: Any, out: TextIO | None = None) -> None:
    """The rows of a table, aligned, one a line."""
    names = table.column_names
    lines = [tuple(_text(row[name]) for name in names) for row in table.to_pylist()]
    _print_table(names, lines, out)


def print_json(rows: Iterable[Any], out: TextIO | None = None) -> None:
    """Rows as JSON, one object a line."""
    for row in rows:
        print(json.dumps(_plain(row), ensure_ascii=False), file=out or sys.stdout)


def write_file(table: Any, path: Path, format: Format) -> None:
    """The rows of a table as a file: parquet, lines of JSON, or the text of the terminal.

    Raises:
        RuntimeFailure: the file cannot be written.
    """
    try:
        if format == "parquet":
            import pyarrow.parquet as pq

            pq.write_table(table, path)
            return
        with open(path, "w", encoding="utf-8") as out:
            print_json(table.to_pylist(), out) if format == "json" else print_rows(table, out)
    except OSError as problem:
        raise RuntimeFailure(
            "STATEPLAN_CANNOT_WRITE_FILE",
            f"The file '{path}' cannot be written: {problem.strerror or problem}.",
            hint="Name a file in a directory that is there, with --output.",
        ) from None


def _print_table(header: Sequence[str], lines: Sequence[Sequence[str]], out: TextIO | None) -> None:
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
    for line in (header, ["-" * width for width in widths], *lines):
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(cells).rstrip(), file=out or sys.stdout)


def _text(value: object) -> str:
    """A value on a terminal, cut where it is too wide."""
    match value:
        case None:
            text = "null"
        case dt.datetime():
            text = value.isoformat(sep=" ").removesuffix("+00:00")
        case dict():
            text = "{" + ", ".join(f"{name}: {_text(v)}" for name, v in value.items()) + "}"
        case list() | tuple():
            text = "[" + ", ".join(map(_text, value)) + "]"
        case str():
            text = value.translate({ord("\n"): "\\n", ord("\t"): "\\t", ord("\r"): "\\r"})
        case _:
            text = str(_plain(value))
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _plain(value: Any) -> Any:
    """A value as JSON has it: times in ISO 8601, decimals as text, bytes in hexadecimal."""
    match value:
        case dict():
            return {name: _plain(inner) for name, inner in value.items()}
        case tuple() | list():
            return [_plain(inner) for inner in value]
        case dt.datetime() | dt.date():
            return value.isoformat()
        case dt.timedelta() | decimal.Decimal():
            return str(value)
        case bytes():
            return value.hex()
        case float() if value != value or value in (float("inf"), float("-inf")):
            return str(value)
        case _:
            return value
