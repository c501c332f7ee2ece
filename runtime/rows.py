"""Rows as people write them in programs: Python values, or text as scenario files have it."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import difflib
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..planner.model.errors import DescriptionError
from ..planner.model.schemas.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)


def read_rows(
    rows: Any, fields: Sequence[StructField], zone: dt.tzinfo, what: str
) -> list[tuple[Any, ...]]:
    """Rows as tuples of Python values.

    Args:
        rows: mappings by the names of columns (those left out are null), sequences of values in
            the order of the columns, or bare values where there is one column; or a pyarrow Table
            or RecordBatch, or a pandas DataFrame.
        fields: the columns.
        zone: that of timestamps without one.
        what: what errors call the rows, such as `the source 'events'`.

    Raises:
        DescriptionError: a row has another form, or a value is not of its column's type.
    """
    return [
        tuple(
            _checked(value, field, zone, what)
            for value, field in zip(in_order(row, fields, what), fields, strict=True)
        )
        for row in _listed(rows, what)
    ]


_WIDE = decimal.Context(prec=76)


def _listed(rows: Any, what: str) -> list[Any]:
    if type(rows).__module__.startswith("pandas."):
        import pyarrow as pa

        rows = pa.Table.from_pandas(rows, preserve_index=False)
    if hasattr(rows, "to_pylist"):
        return list(rows.to_pylist())
    if isinstance(rows, str | bytes | Mapping) or not hasattr(rows, "__iter__"):
        raise DescriptionError(
            "STATEPLAN_BAD_ROWS",
            f"The rows of {what} are a {type(rows).__name__}: {rows!r}.",
            hint="Give a list of rows, also where there is one: [('ann', 3)].",
        )
    return list(rows)


def in_order(row: Any, fields: Sequence[StructField], what: str) -> Sequence[Any]:
    """A row's values in the order of the columns; arguments and errors as of `read_rows`."""
    names = [field.name for field in fields]
    if isinstance(row, Mapping):
        for name in row:
            if name not in names:
                near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.0)
                raise DescriptionError(
                    "STATEPLAN_BAD_ROWS",
                    f"A row of {what} has a value for '{name}', which is no column: {row!r}.",
                    hint=f"Did you mean '{near[0] if near else ''}'? Columns: {', '.join(names)}.",
                )
        return [row.get(name) for name in names]
    if not isinstance(row, Sequence) or isinstance(row, str | bytes):
        row = (row,)
    if len(row) != len(names):
        raise DescriptionError(
            "STATEPLAN_BAD_ROWS",
            f"A row of {what} has {len(row)} values for {len(names)} columns: {row!r}.",
            hint=f"Columns: {', '.join(names)}.",
        )
    return list(row)


def _checked(value: Any, field: StructField, zone: dt.tzinfo, what: str) -> Any:
    try:
        return read_value(value, field.data_type, zone)
    except (ValueError, TypeError, AttributeError, decimal.InvalidOperation):
        raise DescriptionError(
            "STATEPLAN_BAD_ROWS",
            f"{value!r} is no value of '{field.name}', a column of type "
            f"{field.data_type.sql} of {what}.",
            hint="Give a Python value of that type, or text such as '2026-01-31 10:00:00' for a "
            "timestamp.",
        ) from None


def read_value(value: Any, data_type: DataType, zone: dt.tzinfo) -> Any:
    """A value in the Python type that PySpark has for it.

    Raises:
        ValueError, TypeError, AttributeError, decimal.InvalidOperation: it is no such value.
    """
    if value is None:
        return None

    def part(kind: DataType) -> Callable[[Any], Any]:
        return lambda inner: read_value(inner, kind, zone)

    match data_type:
        case TimestampType():
            moment = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
            moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)
            return moment.astimezone(dt.UTC)
        case TimestampNTZType():
            return (
                dt.datetime.fromisoformat(value)
                if isinstance(value, str)
                else value.replace(tzinfo=None)
            )
        case DateType():
            return dt.date.fromisoformat(value if isinstance(value, str) else value.isoformat())
        case DecimalType(scale=scale):
            exact = decimal.Decimal(str(value))
            scaled = exact.quantize(decimal.Decimal(1).scaleb(-scale), context=_WIDE)
            if scaled != exact:
                raise ValueError
            return scaled
        case FloatType() | DoubleType():
            return float(value)
        case BinaryType():
            return base64.b64decode(value) if isinstance(value, str) else bytes(value)
        case DayTimeIntervalType():
            return dt.timedelta(microseconds=value) if isinstance(value, int) else value
        case ArrayType(element_type=element):
            return list(map(part(element), value))
        case MapType(key_type=key, value_type=item):
            pairs = value.items() if isinstance(value, Mapping) else value
            return {part(key)(k): part(item)(v) for k, v in pairs}
        case StructType(fields=fields):
            inner = in_order(value, fields, "a struct")
            return {f.name: part(f.data_type)(v) for f, v in zip(fields, inner, strict=True)}
        case IntegralType():
            if isinstance(value, bool):
                raise TypeError
            return operator.index(value)
        case BooleanType() if not isinstance(value, bool):
            raise TypeError
        case StringType() if not isinstance(value, str):
            raise TypeError
    return value
