"""The columns of a table that several flows write, and those that its definition declares."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..model.schemas.types import ArrayType, DataType, MapType, StructField, StructType
from .model import Dataset
from .refusals import declared_differs, schemas_differ


class _Differ(Exception):
    """Two types of one column cannot be brought together."""


def table_schema(
    dataset: Dataset, flows: Sequence[StructType], fold: Callable[[str], str]
) -> StructType:
    """The columns of a table: those declared, else those of all its flows together.

    `fold` gives a name as it is compared.

    Raises:
        AnalysisError: the flows give a column different types, or do not fit what is declared.
    """
    inferred = flows[0]
    for schema in flows[1:]:
        try:
            inferred = _merged_struct(inferred, schema, fold)
        except _Differ:
            raise schemas_differ(dataset, inferred, schema) from None
    if dataset.schema is None:
        return inferred
    try:
        merged = _merged_struct(dataset.schema, inferred, fold)
    except _Differ:
        raise declared_differs(dataset, dataset.schema, inferred) from None
    if merged != dataset.schema:
        raise declared_differs(dataset, dataset.schema, merged)
    return dataset.schema


def _merged_struct(first: StructType, second: StructType, fold: Callable[[str], str]) -> StructType:
    """All columns of both, the first's first; null where one of them may be."""
    others = {fold(f.name): f for f in second.fields}
    found: list[StructField] = []
    for field in first.fields:
        other = others.pop(fold(field.name), None)
        if other is None:
            found.append(field)
            continue
        type_ = _merged(field.data_type, other.data_type, fold)
        found.append(StructField(field.name, type_, field.nullable or other.nullable))
    return StructType((*found, *others.values()))


def _merged(first: DataType, second: DataType, fold: Callable[[str], str]) -> DataType:
    match first, second:
        case StructType(), StructType():
            return _merged_struct(first, second, fold)
        case ArrayType(), ArrayType():
            element = _merged(first.element_type, second.element_type, fold)
            return ArrayType(element, first.contains_null or second.contains_null)
        case MapType(), MapType():
            key = _merged(first.key_type, second.key_type, fold)
            value = _merged(first.value_type, second.value_type, fold)
            return MapType(key, value, first.value_contains_null or second.value_contains_null)
    if first != second:
        raise _Differ
    return first
