"""Columns as `printSchema` shows them."""

from __future__ import annotations

from ..schemas.types import ArrayType, DataType, MapType, StructField, StructType


def tree_string(schema: StructType, level: int | None = None) -> str:
    """`printSchema`'s text; `level` is how deep it goes."""
    lines = ["root"]
    for field in schema.fields:
        _field_lines(field, " |", lines, level if level and level > 0 else 2**31)
    return "\n".join(lines) + "\n"


def _field_lines(field: StructField, prefix: str, lines: list[str], level: int) -> None:
    name, kind = field.name, field.data_type
    nullable = str(field.nullable).lower()
    lines.append(f"{prefix}-- {name}: {_type_name(kind)} (nullable = {nullable})")
    _type_lines(kind, f"{prefix}    |", lines, level - 1)


def _type_lines(kind: DataType, prefix: str, lines: list[str], level: int) -> None:
    if level <= 0:
        return
    match kind:
        case StructType(fields=fields):
            for field in fields:
                _field_lines(field, prefix, lines, level)
        case ArrayType(element_type=element, contains_null=contains):
            null = str(contains).lower()
            lines.append(f"{prefix}-- element: {_type_name(element)} (containsNull = {null})")
            _type_lines(element, f"{prefix}    |", lines, level - 1)
        case MapType(key_type=key, value_type=value, value_contains_null=contains):
            lines.append(f"{prefix}-- key: {_type_name(key)}")
            _type_lines(key, f"{prefix}    |", lines, level - 1)
            null = str(contains).lower()
            lines.append(f"{prefix}-- value: {_type_name(value)} (valueContainsNull = {null})")
            _type_lines(value, f"{prefix}    |", lines, level - 1)


def _type_name(kind: DataType) -> str:
    match kind:
        case StructType():
            return "struct"
        case ArrayType():
            return "array"
        case MapType():
            return "map"
    plain = kind.json
    return plain if isinstance(plain, str) else kind.simple
