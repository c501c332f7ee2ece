"""Constants as SQL that Spark's parser reads back."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, cast

from ..schemas.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from .literal_text import pretty_sql, value_text

if TYPE_CHECKING:
    from ..expressions.core import Literal


def literal_sql(literal: Literal, type_sql: Callable[[DataType], str]) -> str:
    """A constant as SQL that gives back the same value and type in any session time zone."""
    return _sql_of(literal.value, literal.type_, type_sql)


def _sql_of(value: object, data_type: DataType, type_sql: Callable[[DataType], str]) -> str:
    def part(inner: object, inner_type: DataType) -> str:
        return _sql_of(inner, inner_type, type_sql)

    if value is None:
        return "NULL" if isinstance(data_type, NullType) else f"CAST(NULL AS {type_sql(data_type)})"
    match data_type:
        case StringType():
            return sql_string(str(value))
        case TimestampType():
            # The least bigint is no literal of SQL.
            least = "CAST('-9223372036854775808' AS BIGINT)"
            return f"timestamp_micros({least if value == -(2**63) else f'{value}L'})"
        case DateType():
            return f"date_from_unix_date({value})"
        case TimestampNTZType():
            return f"TIMESTAMP_NTZ '{value_text(value, data_type)}'"
        case DoubleType() | FloatType():
            text = value_text(value, data_type)
            suffix = "D" if isinstance(data_type, DoubleType) else "F"
            if text in ("NaN", "Infinity", "-Infinity"):
                return f"CAST('{text}' AS {data_type.sql})"
            return f"({text}{suffix})" if text.startswith("-") else text + suffix
        case DecimalType():
            return f"CAST('{value_text(value, data_type)}' AS {data_type.sql})"
        case CalendarIntervalType():
            months, days, micros = cast("tuple[int, int, int]", value)
            seconds = f"CAST({Decimal(micros).scaleb(-6):f} AS DECIMAL(18,6))"
            return f"make_interval(0, {months}, 0, {days}, 0, 0, {seconds})"
        case ArrayType(element_type=element):
            items = ", ".join(part(v, element) for v in cast("tuple[object, ...]", value))
            return f"CAST(array({items}) AS {type_sql(data_type)})"
        case MapType(key_type=key, value_type=inner):
            pairs = cast("tuple[tuple[object, object], ...]", value)
            entries = ", ".join(f"{part(k, key)}, {part(v, inner)}" for k, v in pairs)
            return f"CAST(map({entries}) AS {type_sql(data_type)})"
        case StructType(fields=fields):
            row = cast("tuple[object, ...]", value)
            parts = ", ".join(
                f"{sql_string(f.name)}, {part(v, f.data_type)}"
                for f, v in zip(fields, row, strict=True)
            )
            return f"named_struct({parts})"
        case NumericType():
            text = pretty_sql(value, data_type)
            if text == "-9223372036854775808L":
                return "CAST('-9223372036854775808' AS BIGINT)"
            return f"({text})" if text.startswith("-") else text
        case _:
            return pretty_sql(value, data_type)


def sql_string(text: str) -> str:
    """A string constant in single quotes, escaped as Spark's parser reads it by default."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    for raw, shown in (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ("\0", "\\0")):
        escaped = escaped.replace(raw, shown)
    return f"'{escaped}'"
