"""The columns of JSON files whose schema nobody gives: what Spark's JsonInferSchema finds."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from ...planner.model.errors import AnalysisError, RuntimeFailure
from ...planner.model.functions.coercion import wider_without_strings
from ...planner.model.options import by_lower_name
from ...planner.model.schemas.types import (
    BOOLEAN,
    DOUBLE,
    LONG,
    NULL,
    STRING,
    ArrayType,
    DataType,
    DecimalType,
    StructField,
    StructType,
)
from ...planner.model.settings.conf import Conf
from ..kernels.errors import NOT_EXACT
from ..kernels.json.layout import Layout
from ..kernels.json.quotes import in_double_quotes
from ..kernels.json.support import corrupt_column

_CONF = Conf()
_BIG = re.compile(rb"[0-9]{19}")


def inferred_from_json(paths: Sequence[str], options: Mapping[str, str]) -> StructType:
    """The columns of all rows of some files.

    Args:
        paths: the files.
        options: of Spark's reader, as the reader of JSON here takes them.

    Raises:
        AnalysisError: an object has a name twice, or a line is none of JSON in mode FAILFAST.
        RuntimeFailure: it is not known here what Spark takes a line for.
    """
    given = by_lower_name(options)
    mode = given.get("mode", "PERMISSIVE").upper()
    as_texts = given.get("primitivesasstring", "").lower() == "true"
    no_nulls = given.get("dropfieldifallnull", "").lower() == "true"
    corrupt = StructType((StructField(corrupt_column(options), STRING),))
    found: DataType = NULL
    layout = Layout.of(options)
    for path in paths:
        for block in layout.blocks(path):
            for kind in _of_block(block, path, layout):
                if kind is None and mode == "FAILFAST":
                    raise AnalysisError.of(
                        "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
                        badRecord="_corrupt_record",
                        failFastMode=mode,
                        hint=f"Correct '{path}'.",
                    )
                if kind is not None:
                    found = _wider(found, _as_texts(kind) if as_texts else kind)
                elif mode == "PERMISSIVE":
                    found = _wider(found, corrupt)
    columns = _usable(found, no_nulls)
    return columns if isinstance(columns, StructType) else StructType(())


def _of_block(block: bytes, path: str, layout: Layout) -> Iterable[DataType | None]:
    """The types of records, or one of them all; None: of one that is no object of JSON."""
    lines = [line for line in layout.records(block) if line.strip()]
    if layout.in_lines and not _BIG.search(block):
        try:
            read = pa.json.read_json(
                io.BytesIO(block), pa.json.ReadOptions(block_size=len(block) + 1)
            )
        except pa.ArrowInvalid:  # it reads no lines whose types differ, either
            pass
        else:
            if read.num_rows == len(lines):
                return [_of_columns(read.column_names, read.combine_chunks().columns)]
    return [kind for line in lines for kind in _of_line(line, path)]


def _of_columns(names: Sequence[str], columns: Sequence[Any]) -> StructType:
    kinds = dict(zip(names, map(_of_column, columns), strict=True))
    return StructType(tuple(StructField(name, kinds[name]) for name in sorted(kinds)))


def _of_column(column: Any) -> DataType:
    """The type of values that Arrow has read: of empty texts alone it is as of nulls."""
    kind = column.type
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.nulls(0, kind)
    if pa.types.is_struct(kind):
        return _of_columns([field.name for field in kind], column.flatten())
    if pa.types.is_list(kind):
        return ArrayType(_of_column(column.flatten()), True)
    if pa.types.is_null(kind):
        return NULL
    if pa.types.is_boolean(kind):
        return BOOLEAN
    if pa.types.is_integer(kind):
        return LONG
    if pa.types.is_floating(kind):
        return DOUBLE
    if pa.types.is_string(kind) and not pc.any(pc.not_equal(column, "")).as_py():
        return NULL
    return STRING  # Arrow takes some texts for times


def _of_line(line: bytes, path: str) -> Iterable[DataType | None]:
    try:
        text = in_double_quotes(line.decode().removeprefix("\ufeff").lstrip())
        value, _ = json.JSONDecoder(object_pairs_hook=_pairs).raw_decode(text)
    except ValueError:
        if b"'" in line or b"\\" in line:
            raise RuntimeFailure(
                NOT_EXACT,
                "It is not known which columns Spark finds in the line "
                f"{line[:80].decode(errors='replace')!r} of '{path}'.",
                hint="Give the schema of the files, or run the query on Spark: --engine spark.",
            ) from None
        return [None]
    rows = value if isinstance(value, list) else [value]
    return [_of_value(row) if isinstance(row, dict) else None for row in rows]


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise AnalysisError.of("COLUMN_ALREADY_EXISTS", columnName=f"`{twice.lower()}`")
    return found


def _of_value(value: object) -> DataType:
    match value:
        case None | "":
            return NULL
        case bool():
            return BOOLEAN
        case int():
            if -(1 << 63) <= value < 1 << 63:
                return LONG
            digits = len(str(abs(value)))
            return DecimalType(digits, 0) if digits <= DecimalType.MAX_PRECISION else DOUBLE
        case float():
            return DOUBLE
        case dict():
            return StructType(tuple(StructField(n, _of_value(value[n])) for n in sorted(value)))
        case list():
            nothing: DataType = NULL
            return ArrayType(reduce(_wider, map(_of_value, value), nothing), True)
        case _:
            return STRING


def _wider(one: DataType, other: DataType) -> DataType:
    """JsonInferSchema.compatibleType: what values of both types are."""
    match one, other:
        case _ if one == other or other == NULL:
            return one
        case _ if one == NULL:
            return other
        case StructType(fields=left), StructType(fields=right):
            kinds = {field.name: field.data_type for field in left}
            for field in right:
                kinds[field.name] = _wider(kinds.get(field.name, NULL), field.data_type)
            return StructType(tuple(StructField(name, kinds[name]) for name in sorted(kinds)))
        case ArrayType(element_type=left), ArrayType(element_type=right):
            return ArrayType(_wider(left, right), True)
    return wider_without_strings(one, other, _CONF) or STRING


def _as_texts(kind: DataType) -> DataType:
    """A type as the option primitivesAsString has it."""
    match kind:
        case StructType(fields=fields):
            return StructType(tuple(StructField(f.name, _as_texts(f.data_type)) for f in fields))
        case ArrayType(element_type=element):
            return ArrayType(_as_texts(element), True)
    return kind if kind == NULL else STRING


def _usable(kind: DataType, no_nulls: bool) -> DataType | None:
    """JsonInferSchema.canonicalizeType: no type of nulls, no struct without fields.

    With the option dropFieldIfAllNull, no field of nulls either.
    """
    match kind:
        case StructType(fields=fields):
            usable = ((f.name, _usable(f.data_type, no_nulls)) for f in fields if f.name)
            kept = tuple(StructField(name, found) for name, found in usable if found is not None)
            return StructType(kept) if kept else None
        case ArrayType(element_type=element):
            found = _usable(element, no_nulls)
            return None if found is None else ArrayType(found, True)
    if kind == NULL:
        return None if no_nulls else STRING
    return kind
