"""Columns whose values the names of folders have (Spark's partition columns), where the embedded
engine or our own code reads the files."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...planner.model.errors import RuntimeFailure
from ...planner.model.expressions.core import AttributeReference, Cast
from ...planner.model.schemas.types import (
    DATE,
    DOUBLE,
    INT,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from ...planner.model.text.spark_sql import quote, type_sql
from ..arrow_types import arrow_type
from ..kernels.errors import NOT_EXACT
from ..kernels.writers.folders import NO_VALUE, folder_texts, unescaped
from ..state.rows import columns_of
from .evaluating import evaluator

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_WHOLE = re.compile(r"[+-]?[0-9]+")
_FRACTION = re.compile(r"[+-]?[0-9]*\.[0-9]+")
_OF_JAVA = re.compile(
    r"\s*[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?[fd]?|0x[0-9a-f.]+p.*)\s*",
    re.IGNORECASE,
)
"""What Java reads as a number, in part in ways of its own."""
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LOCAL = AttributeReference(name="local", type_=TIMESTAMP_NTZ)


@dataclass(frozen=True)
class FolderColumns:
    """The columns of a batch of files whose values the names of their folders have.

    Attributes:
        schema: all columns.
        places: theirs, in order.
        base: the directory below which folders' names say something; None: they do nowhere.
        zone: the session's time zone.
    """

    schema: StructType
    places: tuple[int, ...]
    base: Path | None
    zone: str

    @classmethod
    def of(
        cls, paths: Sequence[str], base: Path | None, schema: StructType, zone: str
    ) -> FolderColumns:
        """Those of some files.

        Raises:
            RuntimeFailure: the folders of one name other columns than those of another.
        """
        names = {field.name.lower(): place for place, field in enumerate(schema.fields)}
        found: tuple[int, ...] | None = None
        for path in paths:
            texts = folder_texts(path, base)
            own = tuple(sorted(names[name.lower()] for name in texts if name.lower() in names))
            if found is not None and own != found:
                raise _refused(path, "others have other columns in the names of theirs")
            found = own
        return cls(schema, found or (), base, zone)

    @cached_property
    def in_files(self) -> StructType:
        """The other columns."""
        fields = enumerate(self.schema.fields)
        return StructType(tuple(field for place, field in fields if place not in self.places))

    @cached_property
    def arrow_schema(self) -> Any:
        """The other columns, as an Arrow schema."""
        fields = self.in_files.fields
        return pa.schema([(field.name, arrow_type(field.data_type)) for field in fields])

    def place_in_files(self, place: int) -> int:
        """The place of one of the other columns among these."""
        return place - sum(one < place for one in self.places)

    def values(self, path: str) -> Mapping[int, Any]:
        """What the folders of a file say, as Arrow's scalars, by the columns' places.

        Raises:
            RuntimeFailure: a text is no value of the column's type, or may be none.
        """
        if not self.places:
            return {}
        texts = {name.lower(): text for name, text in folder_texts(path, self.base).items()}
        found = {}
        for place in self.places:
            field = self.schema.fields[place]
            try:
                found[place] = _value(texts[field.name.lower()], field.data_type, self.zone)
            except (ValueError, pa.ArrowException):
                why = f"'{field.name}' is {type_sql(field.data_type)}"
                raise _refused(path, why) from None
        return found

    def between(self, batch: Any, places: Sequence[int], values: Mapping[int, Any]) -> Any:
        """Rows of a file with the columns of its folders.

        Args:
            batch: the rows, of those columns of `places` that are in the file.
            places: the columns that are wanted.
            values: what the folders say.
        """
        given = iter(batch.columns)
        columns = [
            pa.repeat(values[place], batch.num_rows) if place in values else next(given)
            for place in places
        ]
        fields = [self.schema.fields[place] for place in places]
        schema = pa.schema([(field.name, arrow_type(field.data_type)) for field in fields])
        return columns_of(columns, schema, batch.num_rows)


def engine_rows(
    read: Callable[[list[str], StructType], DataFrame], paths: Sequence[str], folders: FolderColumns
) -> DataFrame:
    """The rows of files that the engine reads, with the columns of their folders.

    Args:
        read: gives the columns of some files that are in these.
        paths: the files.
        folders: of them or of more files.
    """
    if not folders.places:
        return read(list(paths), folders.schema)
    groups: dict[tuple[Any, ...], list[str]] = {}
    for path in paths:
        groups.setdefault(tuple(folders.values(path).items()), []).append(path)
    frames = [
        read(group, folders.in_files).select(*_in_order(folders, dict(values)))
        for values, group in groups.items()
    ]
    return reduce(lambda left, right: left.union(right), frames)


def _in_order(folders: FolderColumns, values: Mapping[int, Any]) -> Iterator[Column | str]:
    for place, field in enumerate(folders.schema.fields):
        if place in values:
            value = values[place]
            is_instant = isinstance(field.data_type, TimestampType)
            yield literal(value.value if is_instant else value.as_py(), field)
        else:
            yield quote(field.name)


def literal(value: Any, column: StructField) -> Column:
    """A value as a nullable column of the engine's; instants as microseconds since 1970."""
    from pyspark.sql import functions as F

    if isinstance(column.data_type, TimestampType):
        shown = F.timestamp_micros(F.lit(value).cast("bigint"))
    else:
        if isinstance(column.data_type, TimestampNTZType) and value is not None:
            value = value.isoformat(" ")
        shown = F.lit(value).cast(type_sql(column.data_type))
    return F.when(F.lit(True), shown).alias(column.name)


def with_folder_columns(
    schema: StructType, paths: Sequence[str], base: Path | None, *, declared_stay: bool = False
) -> StructType:
    """The columns of files: those that the names of their folders have stand last.

    What the schema does not declare has the type that all its values are of, as Spark infers it
    (PartitioningUtils.parsePartitions).

    Args:
        schema: the columns as they are declared.
        paths: the files.
        base: the directory below which folders' names say something; None: they do nowhere.
        declared_stay: whether what the schema declares stands where it does there, as Spark reads
            the output of a stream.

    Raises:
        RuntimeFailure: the folders of one name other columns than those of another, or have a
            number of which it is not known as what Spark takes it.
    """
    texts: dict[str, Mapping[str, str]] = {}
    names: list[str] = []
    for path in paths:
        if found := folder_texts(path, base):
            if texts and list(found) != names:
                raise _refused(path, "others have other columns in the names of theirs")
            texts[path], names = found, list(found)
    lower = [name.lower() for name in names]
    first = [f for f in schema.fields if declared_stay or f.name.lower() not in lower]
    declared = {field.name.lower(): field for field in schema.fields}
    last = []
    for name in names:
        field = declared.get(name.lower())
        if field is None:
            kinds = {_inferred(path, one[name]) for path, one in texts.items()}
            field = StructField(name, reduce(_wider, kinds - {NULL}) if kinds != {NULL} else NULL)
        elif declared_stay:
            continue
        last.append(field)
    return StructType((*first, *last))


def _inferred(path: str, text: str) -> DataType:
    if text == NO_VALUE:
        return NULL
    if _WHOLE.fullmatch(text):
        number = int(text)
        for kind in (INT, LONG):
            if _is_within(number, kind):
                return kind
    elif _FRACTION.fullmatch(text):
        return DOUBLE
    if _OF_JAVA.fullmatch(text):
        raise _refused(path, f"it is not known as which number Spark takes '{text}'")
    plain = unescaped(text)
    try:
        if _TIME.fullmatch(plain) and len(plain) <= len("2024-01-01 00:00:00.0"):
            dt.datetime.fromisoformat(plain)
            return TIMESTAMP
        if _DATE.fullmatch(text):
            dt.date.fromisoformat(text)
            return DATE
    except ValueError:
        pass
    return STRING


def _wider(one: DataType, other: DataType) -> DataType:
    """PartitioningUtils.findWiderTypeForPartitionColumn."""
    match {one, other}:
        case kinds if len(kinds) == 1:
            return one
        case kinds if kinds == {INT, LONG}:
            return LONG
        case kinds if kinds == {INT, DOUBLE}:
            return DOUBLE
        case kinds if kinds == {DATE, TIMESTAMP}:
            return TIMESTAMP
    return STRING


def _value(text: str, kind: DataType, zone: str) -> Any:
    """PartitioningUtils.castPartValueToDesiredType, of texts that are not taken in odd ways.

    Raises:
        ValueError, ArrowException: the text is no such value, or may be none.
    """
    wanted = arrow_type(kind)
    if text == NO_VALUE or isinstance(kind, NullType):
        return pa.scalar(None, wanted)
    is_number = _WHOLE.fullmatch(text) or _FRACTION.fullmatch(text)
    match kind:
        case StringType():
            return pa.scalar(unescaped(text), wanted)
        case BinaryType():
            return pa.scalar(text.encode(), wanted)
        case BooleanType() if text.lower() in ("true", "false"):
            return pa.scalar(text.lower() == "true", wanted)
        case IntegralType() if _WHOLE.fullmatch(text) and _is_within(int(text), kind):
            return pa.scalar(int(text), wanted)
        case DoubleType() if is_number:
            return pa.scalar(float(text), wanted)
        case FloatType() if is_number:
            return pa.array([text]).cast(wanted)[0]
        case DecimalType() if is_number and len(text.partition(".")[2]) == kind.scale:
            # Of other scales Spark's reader of Parquet takes the digits for those of this one.
            return pa.scalar(Decimal(text), wanted)
        case DateType() if _DATE.fullmatch(text):
            return pa.scalar(dt.date.fromisoformat(text), wanted)
        case TimestampType() | TimestampNTZType() if _TIME.fullmatch(unescaped(text)):
            local = dt.datetime.fromisoformat(unescaped(text))
        case TimestampType() | TimestampNTZType() if _DATE.fullmatch(text):
            local = dt.datetime.fromisoformat(text)
        case _:
            raise ValueError(text)
    if isinstance(kind, TimestampNTZType):
        return pa.scalar(local, wanted)
    rows = pa.record_batch([pa.array([local], pa.timestamp("us"))], [_LOCAL.name])
    return evaluator([Cast(child=_LOCAL, type_=kind, time_zone=zone)], [_LOCAL]).evaluate(rows)[0][
        0
    ]


def _is_within(number: int, kind: IntegralType) -> bool:
    most: int = 1 << (kind.bits - 1)
    return -most <= number < most


def _refused(path: str, why: str) -> RuntimeFailure:
    return RuntimeFailure(
        NOT_EXACT,
        f"The embedded engine cannot take the values of columns from the names of folders, as in "
        f"'{path}': {why}.",
        hint="Run the query on Spark: --engine spark.",
    )
