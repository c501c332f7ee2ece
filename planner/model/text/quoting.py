"""How Spark's messages quote names, expressions, types, settings and the query's text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..expressions.core import Expression, Origin
from ..schemas.types import DataType
from .text import pretty

# Where names of tables and functions are looked up.
SEARCH_PATH = "[`system`.`builtin`, `system`.`session`, `spark_catalog`.`default`]"


def to_sql_id(name: str | Iterable[str]) -> str:
    """A name of one or several parts, each in backticks: `` `a`.`b` ``."""
    parts = (name,) if isinstance(name, str) else name
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def to_sql_expr(expression: Expression) -> str:
    """An expression as the columns of results are named, in double quotes."""
    return in_quotes(pretty(expression))


def to_sql_type(data_type: DataType) -> str:
    """`"BIGINT"`."""
    return in_quotes(data_type.sql)


def to_sql_join(kind: str) -> str:
    """A kind of join in words: `LEFT OUTER` for LeftOuter."""
    return re.sub(r"\B(?=[A-Z])", " ", kind).upper()


def in_quotes(text: str) -> str:
    """A text in double quotes: an expression, a type or a setting as it is written."""
    return f'"{text}"'


_MARGIN = 32


def fragment_context(origin: Origin) -> str:
    """The block `== SQL (line 1, position 8) ==` with the fragment underlined.

    The first line is shown from at most 32 characters before the fragment, the last one to 32
    behind it. Of code it is `== DataFrame ==` with the function that was called and the line.
    """
    if origin.file:
        return f"== DataFrame ==\n{origin.context}" if origin.context else ""
    text, start, stop = origin.source, origin.start, min(origin.stop, len(origin.source) - 1)
    first = text.rfind("\n", 0, start) + 1
    cut_before = start - first >= _MARGIN
    first = start - _MARGIN if cut_before else first
    last = text.find("\n", stop)
    last = len(text) if last < 0 else last
    cut_behind = last - stop > _MARGIN
    last = stop + _MARGIN + 1 if cut_behind else last
    shown = ("..." if cut_before else "") + text[first:last] + ("..." if cut_behind else "")
    lines = [f"== SQL (line {origin.line}, position {origin.position + 1}) =="]
    place = first - (3 if cut_before else 0)
    for line in shown.split("\n"):
        marks = ("^" if start <= place + i <= stop else " " for i in range(len(line)))
        lines += [line, "".join(marks).rstrip()]
        place += len(line) + 1
    return "\n".join(lines)
