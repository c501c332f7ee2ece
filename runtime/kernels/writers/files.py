"""Rows as files of a directory, by our own code."""

from __future__ import annotations

import bz2
import gzip
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ....planner.model.expressions.core import (
    AttributeReference,
    Call,
    Cast,
    Expression,
    Literal,
)
from ....planner.model.options import by_lower_name
from ....planner.model.schemas.types import (
    STRING,
    TIMESTAMP_NTZ,
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    MapType,
    NullType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from ..columns.distinct import each
from ..columns.texts import bytes_of, concatenated
from ..errors import KernelError
from ..expressions.evaluator import Evaluator
from ..expressions.programs.compile import compile_program, unsupported
from .csv_lines import CsvFormat
from .folders import by_folder

_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSS"
_PACKERS: Mapping[str, tuple[str, Callable[[bytes], bytes]]] = {
    "none": ("", bytes),
    "uncompressed": ("", bytes),
    "gzip": (".gz", gzip.compress),
    "bzip2": (".bz2", bz2.compress),
    "deflate": (".deflate", zlib.compress),
}
_PARQUET_PACKERS: Mapping[str, tuple[str, str]] = {
    "none": ("", "none"),
    "uncompressed": ("", "none"),
    "snappy": (".snappy", "snappy"),
    "gzip": (".gz", "gzip"),
    "zstd": (".zstd", "zstd"),
    "lz4_raw": (".lz4raw", "lz4"),
}
"""What files' names say of a compression, and how PyArrow calls it."""
_TEXT_FORMATS = {"json": "json", "csv": "csv", "text": "txt"}
_PATTERNS: Mapping[type[DataType], str] = {
    DateType: "dateformat",
    TimestampType: "timestampformat",
    TimestampNTZType: "timestampntzformat",
}
"""The options that say how values of a type are shown."""
_REFUSED: Mapping[str, frozenset[str]] = {
    "json": frozenset(
        (
            *("pretty", "locale", "timezone"),
            *("writenonasciicharacterascodepoint", "writenullifwithdefaultvalue"),
        )
    ),
    "csv": frozenset(
        (
            *("chartoescapequoteescaping", "escapequotes", "comment", "linesep", "locale"),
            *("timezone", "extension"),
        )
    ),
    "text": frozenset(),
}
"""Options that Spark's writers heed and this one does not. Spark passes over any others."""
_KEEPS_NULL = "ignorenullfields"
_ONE_SIGN = ("sep", "delimiter", "quote", "escape")


@dataclass(frozen=True, kw_only=True)
class FileWriter:
    """Writes rows as Spark would.

    Attributes:
        format: json, csv, text; or parquet, which has partition columns.
        schema: the columns.
        options: of the writer.
        partition_by: the names of columns that become directories, as the schema has them.
        time_zone: the session's.
    """

    format: str
    schema: StructType
    options: Mapping[str, str]
    partition_by: Sequence[str]
    time_zone: str

    def unsupported(self) -> str | None:
        """What keeps the files from being Spark's, as a clause; None: nothing."""
        if self.format not in (*_TEXT_FORMATS, "parquet"):
            return f"it writes no {self.format} files"
        for name, value in self._options.items():
            refused = name in _REFUSED.get(self.format, ()) and (name, value) != ("linesep", "\n")
            if name in ("encoding", "charset") and self.format in _TEXT_FORMATS:
                refused = value.upper().replace("-", "") != "UTF8"
            if name == _KEEPS_NULL and self.format == "json":
                refused = value.lower() not in ("true", "false")
            if name in _ONE_SIGN and self.format == "csv":
                refused = len(value) != 1 or value == "\0"
            if refused:
                return f"it does not write with the option '{name}' = '{value}'"
        packers = (*_PACKERS,) if self.format in _TEXT_FORMATS else (*_PARQUET_PACKERS,)
        if self._packer not in packers:
            return f"it does not write with the compression '{self._packer}'"
        with suppress(KernelError):
            self.check_types()
            return self._unsupported_columns()
        return None  # Spark fails with the first rows

    def _unsupported_columns(self) -> str | None:
        for expression in (*self._folders, *self._values):
            reason = unsupported(expression, self._columns)
            if reason is not None and not isinstance(expression, AttributeReference):
                return f"it does not write {reason}"
        return None

    def write(self, directory: Path, rows: pa.Table) -> None:
        """Write the files that Spark would write for the rows.

        Without rows there is one file, or none where columns partition them.

        Args:
            directory: where they go; it is there.
            rows: of the types of arrow_types.py, under any names.

        Raises:
            KernelError: the format has no such column, or it is not known how Spark shows a value.
        """
        self.check_types()
        texts: list[list[Any]] = [[] for _ in self._folders]
        parts = []
        batches = rows.to_batches()
        if not rows.num_rows and not self.partition_by:
            batches = [pa.RecordBatch.from_pylist([], rows.schema)]
        for batch in batches:
            computed = self._evaluator.evaluate(batch)
            for text, column in zip(texts, computed, strict=False):
                text.append(column)
            parts.append(self._given(computed[len(texts) :], batch))
        if not parts:
            return
        folders = [pa.chunked_array(chunks) for chunks in texts]
        for folder, found in by_folder(self.partition_by, folders, pa.concat_tables(parts)):
            (directory / folder).mkdir(parents=True, exist_ok=True)
            for part in self._files(found):
                self._write_file(directory / folder, part)

    def check_types(self) -> None:
        """See whether files of the format have such columns. Spark asks a stream that has rows.

        Raises:
            KernelError: they have not.
        """
        for column in self._data:
            kind = column.type_
            nested = isinstance(kind, ArrayType | MapType | StructType)
            if self.format == "text" and not isinstance(kind, StringType):
                raise _not_written("Text", column)
            if self.format == "csv" and nested:
                raise _not_written("CSV", column)
        if self.format == "text" and len(self._data) != 1:
            raise KernelError.of("_LEGACY_ERROR_TEMP_1290", schemaSize=len(self._data))

    @cached_property
    def _options(self) -> Mapping[str, str]:
        return by_lower_name(self.options)

    @property
    def _packer(self) -> str:
        usual = "none" if self.format in _TEXT_FORMATS else "snappy"
        if self.format == "csv":
            usual = self._options.get("codec", usual)
        return self._options.get("compression", usual).lower()

    @cached_property
    def _columns(self) -> tuple[AttributeReference, ...]:
        return tuple(
            AttributeReference(name=field.name, type_=field.data_type)
            for field in self.schema.fields
        )

    @cached_property
    def _data(self) -> tuple[AttributeReference, ...]:
        """The columns that are in the files."""
        return tuple(c for c in self._columns if c.name not in self.partition_by)

    @cached_property
    def _folders(self) -> tuple[Expression, ...]:
        """The values of the partition columns as strings."""
        named = {column.name: column for column in self._columns}
        return tuple(self._text(named[name]) for name in self.partition_by)

    @cached_property
    def _values(self) -> tuple[Expression, ...]:
        """What is written: of JSON the line, of CSV a text a column, else the columns."""
        match self.format:
            case "json":
                return (self._json(),)
            case "csv":
                return tuple(map(self._in_csv, self._data))
        return self._data

    @cached_property
    def _evaluator(self) -> Evaluator:
        expressions = (*self._folders, *self._values)
        program = compile_program(expressions, self._columns, untouched=True)
        assert program is not None  # `unsupported` was asked
        return Evaluator(program)

    def _json(self) -> Expression:
        """`to_json` of all columns; those without a type are null."""
        keeps_null = self._options.get(_KEEPS_NULL, "true").lower() == "false"
        columns = self._data
        if not keeps_null:
            columns = tuple(c for c in columns if not isinstance(c.type_, NullType))
        if not columns:
            return Literal(value="{}", type_=STRING)
        pairs: list[Expression] = []
        for column in columns:
            pairs += [Literal(value=column.name, type_=STRING), self._in_json(column)]
        struct = Call(name="named_struct", arguments=tuple(pairs))
        options = (((_KEEPS_NULL, "false"),),) if keeps_null else ()
        return Call(name="to_json", arguments=(struct,), options=options, time_zone=self.time_zone)

    def _in_json(self, column: AttributeReference) -> Expression:
        if isinstance(column.type_, NullType):
            return Literal(value=None, type_=STRING)
        pattern = _PATTERNS.get(type(column.type_))
        return self._shown(column) if pattern in self._options else column

    def _in_csv(self, column: AttributeReference) -> Expression:
        if isinstance(column.type_, BinaryType | DecimalType):
            return column  # unlike casts the writer shows them as Java does
        return self._text(self._shown(column))

    def _shown(self, column: AttributeReference) -> Expression:
        """A date or time as its option says; any other column as it is."""
        pattern = self._options.get(_PATTERNS.get(type(column.type_), ""))
        shown: Expression = column
        match column.type_:
            case TimestampType():
                pattern = pattern or f"{_TIME}XXXXX"
            case TimestampNTZType():
                pattern = pattern or _TIME
            case DateType() if pattern is not None:
                shown = Cast(child=column, type_=TIMESTAMP_NTZ)
        if pattern is None:
            return shown
        arguments = (shown, Literal(value=pattern, type_=STRING))
        return Call(name="date_format", arguments=arguments, time_zone=self.time_zone)

    def _text(self, value: Expression) -> Expression:
        if type(value.data_type) is StringType:
            return value
        return Cast(child=value, type_=STRING, time_zone=self.time_zone)

    def _given(self, columns: Sequence[Any], rows: pa.RecordBatch) -> pa.Table:
        """What is written of rows: the lines, or the columns of a Parquet file."""
        match self.format:
            case "json":
                return pa.table([columns[0]], names=["line"])
            case "csv":
                lines = CsvFormat.of(self._options).lines(list(map(_csv_text, columns)))
                return pa.table([lines], names=["line"])
            case "text":
                return pa.table([columns[0].fill_null("")], names=["line"])
        places = [self._columns.index(column) for column in self._data]
        names = [column.name for column in self._data]
        return pa.table([rows.column(place) for place in places], names=names)

    def _files(self, rows: pa.Table) -> Iterator[pa.Table]:
        most = int(self._options.get("maxrecordsperfile", "0"))
        if most <= 0:
            yield rows
            return
        for start in range(0, max(rows.num_rows, 1), most):
            yield rows.slice(start, most)

    def _write_file(self, directory: Path, rows: pa.Table) -> None:
        begin = directory / f"part-00000-{uuid.uuid4()}-c000"
        if self.format not in _TEXT_FORMATS:
            from pyarrow import parquet

            suffix, packer = _PARQUET_PACKERS[self._packer]
            parquet.write_table(rows, f"{begin}{suffix}.parquet", compression=packer)
            return
        ending = self._options.get("linesep", "\n") if self.format != "csv" else "\n"
        lines, header = rows.column("line"), ""
        if self.format == "csv":
            lines = lines.filter(pc.not_equal(lines, ""))  # as Spark: a lone null has no line
            if self._options.get("header", "").lower() == "true":
                names = [column.name for column in self._data]
                header = CsvFormat.of(self._options).header(names) + ending
        suffix, pack = _PACKERS[self._packer]
        ended = (concatenated(chunk, ending) for chunk in lines.chunks)
        content = header.encode() + b"".join(bytes_of(chunk)[0].tobytes() for chunk in ended)
        Path(f"{begin}.{_TEXT_FORMATS[self.format]}{suffix}").write_bytes(pack(content))


def _csv_text(column: Any) -> Any:
    """A column as CSV files have it: bytes as `[41 FF]`, decimals as Java shows them."""
    if pa.types.is_binary(column.type):
        return each(column, lambda value: f"[{value.hex(' ').upper()}]", pa.string())
    return column.cast(pa.string())


def _not_written(format: str, column: AttributeReference) -> KernelError:
    return KernelError.of(
        "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE",
        format=format,
        columnName=f"`{column.name}`",
        columnType=f'"{column.type_.sql}"',
    )
