"""The Parquet files of a batch as tasks can read them without Spark: what their footers say."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from ...planner.model.schemas.types import DataType
from ..arrow_types import spark_type
from ..kernels.scans.parquet_files import ScanFile
from ..kernels.writers.folders import folder_texts
from ..plan.facts import Reader

ENABLED = "spark.sql.stateplan.columnarScan.enabled"
"""Whether the tasks of stateful operators may read Parquet files by themselves."""

_CREATED_BY_SPARK = b"org.apache.spark.version"
_LEGACY_DATES = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_PLAIN = (
    *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    *(pa.string(), pa.binary(), pa.date32(), pa.timestamp("us")),
)
MOST_FOOTERS = 64
"""Of more files than this the engine reads the footers itself."""
_MOST_IN_MEMORY = 64 << 20
"""Bytes of a table's files: Spark broadcasts tables of 10 MB unless it is asked to."""
_MOST_DEALT = 1 << 30
"""Bytes of files that are not Parquet files: what is read of them is in memory at once."""


@dataclass(frozen=True)
class FileBatch:
    """The files of a batch.

    Attributes:
        files: in order.
        types: the Arrow types of the columns whose values mean the same to Spark and to pyarrow,
            and that all files have under the same name and type. Times are in UTC.
        sizes: the bytes of each file.
        declared: the types of all columns in Spark's words, where our own reader reads them as
            declared; None: the files say what they are.
        metadata: columns of which file a row is, where our own reader knows them.
    """

    files: tuple[ScanFile, ...]
    types: Mapping[str, Any] = field(default_factory=dict)
    sizes: tuple[int, ...] = ()
    declared: Mapping[str, DataType] | None = None
    metadata: Mapping[str, DataType] = field(default_factory=dict)

    @property
    def columns(self) -> Mapping[str, DataType]:
        """The types of the columns that can be read here, in Spark's words."""
        own = self.declared
        if own is None:
            own = {name: spark_type(kind) for name, kind in self.types.items()}
        return {**own, **self.metadata} if self.metadata else own

    @property
    def rows(self) -> int:
        """The rows of all files."""
        return sum(file.rows for file in self.files)


def parquet_batch(paths: Sequence[str], *, nested: bool = True) -> FileBatch | None:
    """What the footers of some files say; None if one cannot be read here.

    Args:
        paths: the files.
        nested: whether columns with parts may be read, too.
    """
    files: list[ScanFile] = []
    types: dict[str, Any] | None = None
    try:
        for path in paths:
            with parquet.ParquetFile(path, memory_map=True, pre_buffer=False) as opened:
                metadata = opened.metadata
                files.append(ScanFile(path, metadata.num_rows))
                own = _types(opened.schema_arrow, metadata, nested=nested)
            types = own if types is None else _common(types, own)
    except (OSError, pa.ArrowException):
        return None
    return FileBatch(tuple(files), types or {})


def other_times(path: str, time_zone: str) -> list[str]:
    """The columns of a Parquet file whose times are no instants, or finer than microseconds.

    In UTC it is the same whether times are instants. None of a file that cannot be read here; those
    of INT96 are neither.
    """
    try:
        schema = parquet.read_metadata(path, memory_map=True).schema
    except (OSError, pa.ArrowException):
        return []
    columns = [schema.column(place) for place in range(len(schema))]
    in_utc = time_zone.upper() in ("UTC", "ETC/UTC", "GMT", "Z", "+00:00")
    return [column.path for column in columns if _is_other_time(column, in_utc)]


def _is_other_time(column: Any, in_utc: bool) -> bool:
    if column.logical_type.type != "TIMESTAMP":
        return False
    said = json.loads(column.logical_type.to_json())
    instants = bool(said["isAdjustedToUTC"]) or in_utc
    return not instants or said["timeUnit"] == "nanoseconds"


class TableFiles:
    """The Parquet files of a table at rest, of which tasks may have all rows in memory.

    Args:
        paths: the files, in order.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = tuple(paths)
        self._seen: list[tuple[int, int]] = []
        self._batch: FileBatch | None = None

    def now(self) -> FileBatch | None:
        """What the files' footers say; None if they cannot be read here, or are too large."""
        try:
            stats = list(map(os.stat, self._paths))
        except OSError:
            return None  # the engine says what is wrong
        seen = [(one.st_mtime_ns, one.st_size) for one in stats]
        if seen != self._seen:
            self._seen, self._batch = seen, None
            if sum(size for _, size in seen) <= _MOST_IN_MEMORY:
                self._batch = _written(
                    parquet_batch(self._paths, nested=False), [time for time, _ in seen]
                )
        return self._batch


def _written(batch: FileBatch | None, times: Sequence[int]) -> FileBatch | None:
    if batch is None:
        return None
    pairs = zip(batch.files, times, strict=True)
    return replace(batch, files=tuple(replace(file, written_ns=time) for file, time in pairs))


def files_of(paths: Sequence[str], reader: Reader) -> FileBatch | None:
    """Files that our own code reads as a reader says: all columns mean the same.

    None: they are too large, or names of folders may be columns, or one is gone.
    """
    try:
        sizes = tuple(map(os.path.getsize, paths))
    except OSError:
        return None
    if sum(sizes) > _MOST_DEALT or any(folder_texts(path, reader.base) for path in paths):
        return None
    declared = {field.name: field.data_type for field in reader.schema.fields}
    files = tuple(ScanFile(path, 0) for path in paths)
    return FileBatch(files, sizes=sizes, declared=declared)


def _types(schema: Any, metadata: Any, *, nested: bool) -> dict[str, Any]:
    """The columns that are read alike, of one file."""
    if not _dates_are_gregorian(metadata.metadata or {}):
        return {}
    leaves = [metadata.schema.column(place).path for place in range(metadata.num_columns)]
    found = {}
    for column in _once(schema):
        kind = _plain(column.type)
        if kind is not None and (nested or not pa.types.is_nested(kind)):
            own = [path for path in leaves if path.split(".")[0] == column.name]
            known = list(_paths(re.escape(column.name), kind))
            if len(own) == len(known) and all(map(re.fullmatch, known, own)):
                found[column.name] = kind
    return found


def _once(fields: Iterable[Any]) -> list[Any]:
    """Those of some fields whose names neither differ in case alone nor look like paths."""
    known = list(fields)
    counts = Counter(field.name.lower() for field in known)
    return [f for f in known if "." not in f.name and counts[f.name.lower()] == 1]


def _plain(kind: Any) -> Any | None:
    """The type as which a column is read; None: Spark may read other values."""
    if pa.types.is_timestamp(kind) and kind.unit == "us" and kind.tz is not None:
        return pa.timestamp("us", "UTC")
    if pa.types.is_struct(kind):
        parts = [(part.name, _plain(part.type)) for part in _once(kind)]
        whole = 0 < kind.num_fields == len(parts) and None not in dict(parts).values()
        return pa.struct(parts) if whole else None
    if pa.types.is_list(kind):
        element = _plain(kind.value_type)
        return None if element is None else pa.list_(pa.field("element", element))
    if pa.types.is_map(kind):
        key, item = _plain(kind.key_type), _plain(kind.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    return kind if kind in _PLAIN or pa.types.is_decimal128(kind) else None


def _paths(path: str, kind: Any) -> Iterator[str]:
    """Patterns of the paths of a column's leaves, where lists and maps are stored in three levels.

    Of older forms readers make each something else.
    """
    if pa.types.is_struct(kind):
        for part in kind:
            yield from _paths(rf"{path}\.{re.escape(part.name)}", part.type)
    elif pa.types.is_list(kind):
        yield from _paths(rf"{path}\.list\.(?:element|item)", kind.value_type)
    elif pa.types.is_map(kind):
        yield from _paths(rf"{path}\.key_value\.key", kind.key_type)
        yield from _paths(rf"{path}\.key_value\.value", kind.item_type)
    else:
        yield path


def _dates_are_gregorian(metadata: Mapping[bytes, bytes]) -> bool:
    """Whether Spark takes times and dates as they are: those of Spark 2 it rebases."""
    if any(key in metadata for key in _LEGACY_DATES):
        return False
    version = re.match(rb"\d+", metadata.get(_CREATED_BY_SPARK, b"3"))
    return version is not None and int(version[0]) >= 3


def _common(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {name: kind for name, kind in one.items() if other.get(name) == kind}
