"""Spark's error for a malformed JSON record in FAILFAST mode (FailureSafeParser)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ..errors import KernelError, failed_read
from ..expressions.values.java_numbers import java_double
from .errors import BadValue


def malformed(
    path: str,
    line: str,
    row: Sequence[Any],
    fields: Sequence[Any],
    first: tuple[str, BadValue] | None,
) -> KernelError:
    """The error.

    Args:
        path: the file.
        line: the record's line.
        row: what could be read of the line's first record, nulls for the rest.
        fields: the Arrow fields of the row.
        first: the field and the value that could not be read; None: the line is no JSON.
    """
    condition, shown, cannot = "WITHOUT_SUGGESTION", _row(row, fields), {}
    if first is not None and first[1].target:
        field, value = first
        if value.in_array:
            return failed_read(path)  # Spark looks for the element's name, and fails
        condition, shown = "CANNOT_PARSE_STRING_AS_DATATYPE", line
        cannot = {
            "fieldValue": f"'{value.token}'",
            "fieldName": f"`{field}`",
            "targetType": value.target,
            "inputType": "StringType",
        }
    error = KernelError.of(
        f"MALFORMED_RECORD_IN_PARSING.{condition}",
        badRecord=shown,
        failFastMode="FAILFAST",
        **cannot,
    )
    return KernelError(error.condition, f"{error.message} (file file://{path})")


def _row(row: Sequence[Any], fields: Sequence[Any]) -> str:
    parts = [_value(value, field.type) for value, field in zip(row, fields, strict=True)]
    return f"[{','.join(parts) if parts else 'empty row'}]"


def _value(value: Any, kind: Any) -> str:
    """A value as Spark's rows of internal values show it."""
    if value is None:
        return "null"
    if pa.types.is_struct(kind):
        return _row(value, list(kind))
    if pa.types.is_list(kind):
        return _items(value, kind.value_type)
    if pa.types.is_map(kind):
        kinds = kind.key_type, kind.item_type
        keys, items = (_items([pair[i] for pair in value], kinds[i]) for i in (0, 1))
        return f"keys: {keys}, values: {items}"
    if pa.types.is_binary(kind):
        return "[B@0"  # Java's name of an array of bytes; its number is by chance
    if pa.types.is_floating(kind):
        return java_double(value, single=pa.types.is_float32(kind))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _items(values: Sequence[Any], kind: Any) -> str:
    return f"[{','.join(_value(value, kind) for value in values)}]"
