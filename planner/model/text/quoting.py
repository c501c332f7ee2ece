"""How Spark's messages quote names, expressions, types and settings."""

from __future__ import annotations

from collections.abc import Iterable

from ..expressions.core import Expression
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


def in_quotes(text: str) -> str:
    """A text in double quotes: an expression, a type or a setting as it is written."""
    return f'"{text}"'
