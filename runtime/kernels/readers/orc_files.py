"""ORC files as Arrow batches, exactly as Spark's own ORC reader gives them with a given schema.

A column of a file is read where it has the column's type, or a whole number or float of fewer bits;
the conversions that ORC itself would make of other types are refused. So are times before the
Gregorian calendar, which Java's reader moves and Arrow's does not.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....planner.model.schemas.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from ...state.rows import columns_of
from ..errors import failed_read, not_exact
from ..json.errors import Uncertain
from .line_files import BATCH

_TYPES = (
    *(BooleanType, ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType, DecimalType),
    *(StringType, BinaryType, DateType, TimestampType, TimestampNTZType),
)
_OPTIONS = ("mergeschema", "compression", "orc.compress")
"""Those that change nothing where the schema is given."""
_SPARKS_TYPE = b"spark.sql.catalyst.type"
_GREGORIAN_DAY = -141_427
"""1582-10-15: Java's reader takes earlier days for those of the Julian calendar."""
_GREGORIAN = _GREGORIAN_DAY * 86_400 * 1_000_000_000
_WITHOUT_NAMES = "_col"


def unsupported(schema: StructType, options: Mapping[str, str]) -> str | None:
    """Why ORC files cannot be read here as Spark reads them; None: they can.

    Args:
        schema: all columns, given by the user.
        options: those of the reader that say how a file is read, without the file source's own.
    """
    for name, value in options.items():
        if name.lower() not in _OPTIONS:
            return f"the option '{name}' is '{value}'"
    names = [field.name.lower() for field in schema.fields]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        return f"the field '{repeated[0]}' stands twice in the schema"
    if not schema.fields:
        return "no column is read"
    return _unsupported_type(schema)


def _unsupported_type(data_type: DataType) -> str | None:
    match data_type:
        case StructType(fields=fields):
            found = (_unsupported_type(field.data_type) for field in fields)
            return next((reason for reason in found if reason is not None), None)
        case ArrayType(element_type=element):
            return _unsupported_type(element)
        case MapType(key_type=key, value_type=value):
            return _unsupported_type(key) or _unsupported_type(value)
        case TimestampType() if time.timezone or time.daylight:
            return (
                "the times in ORC files are those of the machine's time zone to Spark, and that "
                "is not UTC"
            )
    return None if type(data_type) in _TYPES else f"a value has the type {data_type.sql}"


def read_orc(path: str, schema: Any, columns: Sequence[int]) -> Iterator[Any]:
    """Read an ORC file.

    Args:
        path: the file.
        schema: all columns, a `pyarrow.Schema` of the types of arrow_types.py.
        columns: the places of those that the query needs, in order.

    Yields:
        Record batches of at most 65,536 rows of the needed columns; a column that the file has not
        is null.

    Raises:
        KernelError: what Spark makes of a column is not known here (`STATEPLAN_NOT_EXACT`), or the
            file is damaged.
    """
    from pyarrow import orc

    try:
        file = orc.ORCFile(path)
        reader = _FileReader(file, schema, columns)
        for stripe in range(file.nstripes if file.schema.names else 0):
            batch = reader.batch(stripe)
            for start in range(0, batch.num_rows, BATCH):
                yield batch.slice(start, BATCH)
    except Uncertain as error:
        raise not_exact(
            f"The file '{path}' has {error} and is not read as Spark would here."
        ) from None
    except (OSError, pa.ArrowException) as error:
        raise failed_read(path, " ".join(str(error).split())) from error


class _FileReader:
    """Reads the stripes of a file; see `read_orc`."""

    def __init__(self, file: Any, schema: Any, columns: Sequence[int]) -> None:
        self._file = file
        self._output = pa.schema([schema.field(place) for place in columns])
        _check_times(file.schema, schema)
        # Others write times before 1970 with a fraction so that Spark fails over them.
        self._first = _GREGORIAN if file.writer == "ORC_JAVA" else 0
        self._places = [_place(file.schema, schema, column) for column in columns]
        for field, place in zip(self._output, self._places, strict=True):
            if place is not None:
                _check(field.name, file.schema.field(place), field.type)

    def batch(self, stripe: int) -> Any:
        """The rows of a stripe.

        Raises:
            Uncertain: a value of which it is not certain what Spark makes of it.
        """
        wanted = [place for place in self._places if place is not None]
        # Of no column Arrow would not say how many rows there are.
        try:
            found = self._file.read_stripe(stripe, columns=wanted or [0])
        except pa.ArrowInvalid as error:
            if "out of range for nanosecond" in str(error):
                raise Uncertain("a time that is far from 1970") from None
            raise
        rows = found.num_rows
        if not self._output.names:
            return columns_of([], self._output, rows)
        order = sorted(wanted)
        arrays = [
            pa.nulls(rows, field.type)
            if place is None
            else _converted(found.column(order.index(place)), field.type, self._first)
            for field, place in zip(self._output, self._places, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._output)


def _check_times(file: Any, wanted: Any) -> None:
    """Check what Spark's reader checks of a file's fields, by their places, whatever their names.

    Raises:
        Uncertain: it would find times with a time zone for such without one, or the reverse.
    """
    for field, other in zip(file, wanted, strict=False):
        kind = other.type
        if pa.types.is_struct(field.type) and pa.types.is_struct(kind):
            _check_times(field.type, kind)
        zoned = pa.types.is_timestamp(field.type)
        if pa.types.is_timestamp(kind) and (
            zoned if kind.tz is None else not zoned and _is_ntz(field)
        ):
            raise Uncertain(f"the type {field.type} in the place of the column '{other.name}'")


def _is_ntz(field: Any) -> bool:
    """Whether a field has timestamps without a time zone: Spark writes whole numbers."""
    named = (field.metadata or {}).get(_SPARKS_TYPE)
    return bool(pa.types.is_int64(field.type) and named == b"timestamp_ntz")


def _place(file: Any, schema: Any, column: int) -> int | None:
    """Where a column is in a file (OrcUtils.requestedColumnIds); None: it is not."""
    names = file.names
    if all(name.startswith(_WITHOUT_NAMES) for name in names):
        if len(names) > len(schema.names):
            raise Uncertain("more columns than the schema, and no names of them")
        return column if column < len(names) else None
    wanted = schema.names[column].lower()
    found = [place for place, name in enumerate(names) if name.lower() == wanted]
    if len(found) > 1:
        raise Uncertain(f"several columns '{wanted}'")
    return found[0] if found else None


def _check(name: str, field: Any, wanted: Any) -> None:
    """Check that a file's field is read as the type wanted.

    Raises:
        Uncertain: it is not certain.
    """
    if not _reads_as(field, wanted):
        raise Uncertain(f"the type {field.type} in the column '{name}', which is {wanted}")


def _reads_as(field: Any, wanted: Any) -> bool:
    kind = field.type
    if pa.types.is_struct(wanted):
        return (
            pa.types.is_struct(kind)
            and [part.name for part in kind] == [part.name for part in wanted]
            and all(_reads_as(*parts) for parts in _pairs(kind, wanted))
        )
    if pa.types.is_map(wanted):
        return pa.types.is_map(kind) and (
            _reads_as(kind.key_field, wanted.key_type)
            and _reads_as(kind.item_field, wanted.item_type)
        )
    if pa.types.is_list(wanted):
        return pa.types.is_list(kind) and _reads_as(kind.value_field, wanted.value_type)
    if pa.types.is_timestamp(wanted):
        if wanted.tz is None:
            return _is_ntz(field)
        return bool(pa.types.is_timestamp(kind) and kind.tz is None)
    if pa.types.is_integer(wanted):
        return bool(pa.types.is_integer(kind) and kind.bit_width <= wanted.bit_width)
    if pa.types.is_float64(wanted) and pa.types.is_float32(kind):
        return True
    return bool(kind == wanted)


def _pairs(kind: Any, wanted: Any) -> Iterator[tuple[Any, Any]]:
    for place in range(wanted.num_fields):
        yield kind.field(place), wanted.field(place).type


def _converted(array: Any, kind: Any, first: int) -> Any:
    """What Arrow read, as the type wanted; timestamps are not before `first`, in nanoseconds."""
    if pa.types.is_struct(kind):
        parts = [_converted(array.field(i), kind[i].type, first) for i in range(kind.num_fields)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask)
    if pa.types.is_map(kind):
        keys = _converted(array.keys, kind.key_type, first)
        items = _converted(array.items, kind.item_type, first)
        mask = array.is_null() if array.null_count else None
        return pa.MapArray.from_arrays(array.offsets, keys, items, type=kind, mask=mask)
    if pa.types.is_list(kind):
        values = _converted(array.values, kind.value_type, first)
        mask = array.is_null() if array.null_count else None
        return pa.ListArray.from_arrays(array.offsets, values, type=kind, mask=mask)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return _micros(array, first).view(kind)
    if pa.types.is_timestamp(kind):
        return array.view(kind)
    if pa.types.is_date(kind):
        _check_first(array.view(pa.int32()), _GREGORIAN_DAY)
    return array.cast(kind)


def _micros(array: Any, first: int) -> Any:
    """Nanoseconds as microseconds: Java's halves are rounded down, also before 1970."""
    nanos = array.view(pa.int64())
    _check_first(nanos, first)
    micros = pa.array(np.floor_divide(nanos.fill_null(0).to_numpy(zero_copy_only=False), 1000))
    if not nanos.null_count:
        return micros
    return pc.if_else(nanos.is_valid(), micros, pa.scalar(None, pa.int64()))


def _check_first(values: Any, first: int) -> None:
    least = pc.min(values).as_py()
    if least is not None and least < first:
        raise Uncertain("a time long ago, or before 1970 where another program wrote it")
