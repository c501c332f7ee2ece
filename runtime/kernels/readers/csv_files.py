"""CSV files as Arrow batches, exactly as Spark reads them with a given schema.

csv_division.py divides the lines into texts, csv_values.py makes values of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ...state.rows import columns_of
from ..errors import WRONG_HEADER, KernelError, not_exact
from ..file_parts import WHOLE, FilePart
from ..json.errors import Uncertain
from ..json.filters import PushedFilter
from ..json.malformed import malformed
from ..json.time_columns import Column, UncertainValue
from .csv_division import Division
from .csv_lines import CsvBlock
from .csv_options import CsvOptions, csv_options
from .csv_records import record_blocks
from .csv_values import converter
from .line_files import BATCH, lines_before

_SPLIT = 4 << 20
"""Spark never reads a smaller file in parts (spark.sql.files.openCostInBytes)."""


def read_csv(
    path: str,
    schema: Any,
    columns: Sequence[int],
    options: Mapping[str, str],
    time_zone: str,
    filters: Sequence[PushedFilter] = (),
    part: FilePart = WHOLE,
) -> Iterator[Any]:
    """Read a CSV file, or a part of one.

    Args:
        path: the file; compressed if its name says so.
        schema: all columns, a `pyarrow.Schema` of the types of arrow_types.py.
        columns: the places of those that the query needs, in order: Spark reads no others, so that
            a malformed value of another is no error, nor is their number.
        options: those that csv_options.unsupported accepts.
        time_zone: the session's.
        filters: the conditions that Spark's reader is given, over the needed columns. They stay to
            be fulfilled: they only keep FAILFAST from failing over a record that they leave out.
        part: which lines to read.

    Yields:
        Record batches of at most 65,536 rows of the needed columns, all nullable.

    Raises:
        KernelError: a line of which it is not known what Spark makes of it
            (`STATEPLAN_NOT_EXACT`), and a malformed one in FAILFAST mode.
    """
    reader = _FileReader(path, schema, columns, csv_options(options), time_zone, filters, part)
    for batch in reader.batches():
        for start in range(0, batch.num_rows, BATCH):
            yield batch.slice(start, BATCH)


class _FileReader:
    """Reads a file; see `read_csv`."""

    def __init__(
        self,
        path: str,
        schema: Any,
        columns: Sequence[int],
        options: CsvOptions,
        zone: str,
        filters: Sequence[PushedFilter],
        part: FilePart,
    ) -> None:
        self._path = path
        self._part = part
        self._options = options
        self._output = [schema.field(place) for place in columns]
        self._corrupt = next((f.name for f in schema if f.name == options.corrupt), None)
        data = [field for field in schema if field.name != options.corrupt]
        self._fields = [field for field in self._output if field.name != options.corrupt]
        names = [field.name for field in data]
        self._places = [names.index(field.name) for field in self._fields]
        self._names = names
        self._expected = len(data)
        self._converters = [converter(field.type, options, zone) for field in self._fields]
        self._filters = filters
        self._division = Division(options, self._expected, self._places)
        self._split = not options.multi_line and Path(path).stat().st_size > _SPLIT
        if self._output and not self._fields:
            raise KernelError.of("UNSUPPORTED_FEATURE.QUERY_ONLY_CORRUPT_RECORD_COLUMN")

    def batches(self) -> Iterator[Any]:
        first = not self._part.start
        header, number = first and self._options.header, 1
        for data in record_blocks(self._path, self._options, self._part):
            block = CsvBlock(data, number, self._options)
            number += block.lines
            read = self._places if self._division.pruned else None
            if (line := block.odd_line(read)) is not None:
                odd = Uncertain("a quote within a value (with 'multiLine')")
                raise self._uncertain(line, odd)
            if header and block.rows:
                self._check_header(block.text(0))
                block.leave_out_first()
                header = first = False
            if block.rows:
                yield self._batch(block, first=first)
                first = False

    # ------------------------------------------------------------------------------- header

    def _check_header(self, line: str) -> None:
        """CSVHeaderChecker: the names of the columns that are read must be those of the schema.

        Raises:
            KernelError: they are not, and `enforceSchema` is off.
        """
        if self._options.enforce_schema:
            return
        try:
            tokens = self._division.tokens(line, first=True, split=self._split)
        except Uncertain as error:
            raise self._uncertain(1, error) from None
        found = [self._options.null_value if token is None else token for token in tokens]
        if self._division.pruned:
            found = [found[place] if place < len(found) else "" for place in self._places]
        wanted = [field.name for field in self._fields] if self._division.pruned else self._names
        problem = None
        if len(found) != len(wanted):
            problem = (
                "Number of column in CSV header is not equal to number of fields in the schema:\n"
                f" Header length: {len(found)}, schema size: {len(wanted)}\n"
            )
        else:
            for one, other in zip(found, wanted, strict=True):
                if one.lower() != other.lower():
                    problem = (
                        "CSV header does not conform to the schema.\n"
                        f" Header: {', '.join(found)}\n Schema: {', '.join(wanted)}\n"
                        f"Expected: {other} but found: {one}\n"
                    )
                    break
        if problem is not None:
            message = f"{problem}CSV file: file://{self._path}"
            raise KernelError.of(WRONG_HEADER, msg=message)

    # -------------------------------------------------------------------------------- rows

    def _batch(self, block: CsvBlock, *, first: bool) -> Any:
        if not self._output:
            return columns_of([], pa.schema([]), block.rows)
        try:
            texts, lengths = self._division.texts(block, first=first, split=self._split)
        except UncertainValue as error:
            raise self._uncertain(block.number(error.row), error.error) from None
        columns: list[Column] = []
        for place, (convert, column) in enumerate(zip(self._converters, texts, strict=True)):
            try:
                columns.append(convert(column))
            except UncertainValue as error:
                what = f"{error.error} in the column '{self._fields[place].name}'"
                raise self._uncertain(block.number(error.row), Uncertain(what)) from None
        bad = np.zeros(block.rows, np.bool_)
        bad[list(lengths)] = True
        for _, wrong in columns:
            if wrong is not None:
                bad |= wrong
        malformed_rows = np.flatnonzero(bad)
        if self._options.mode == "FAILFAST":
            for row in malformed_rows:
                length = lengths.get(int(row), self._expected)
                self._fail_unless_skipped(block, columns, int(row), length)
        arrays = {f.name: array for f, (array, _) in zip(self._fields, columns, strict=True)}
        if self._corrupt is not None:
            lines: list[str | None] = [None] * block.rows
            for row in malformed_rows:
                lines[row] = _stripped(block.text(int(row)))
            arrays[self._corrupt] = pa.array(lines, pa.string())
        batch = pa.RecordBatch.from_arrays(
            [arrays[field.name] for field in self._output], schema=pa.schema(self._output)
        )
        if len(malformed_rows) and self._options.mode != "PERMISSIVE":
            batch = batch.filter(pa.array(~bad))
        return batch

    # ------------------------------------------------------------------------------ failures

    def _fail_unless_skipped(
        self, block: CsvBlock, columns: Sequence[Column], row: int, length: int
    ) -> None:
        """Raise what Spark does over a malformed record, unless a condition leaves it out."""
        found = {
            field.name: (array.slice(row, 1), place >= length or (wrong is not None and wrong[row]))
            for field, place, (array, wrong) in zip(
                self._fields, self._places, columns, strict=True
            )
        }
        missing = pa.nulls(1, pa.string()), True  # no condition is put to malformed lines
        values = [found.get(field.name, missing) for field in self._output]
        record = pa.RecordBatch.from_arrays(
            [array for array, _ in values], schema=pa.schema(self._output)
        )
        for one in self._filters:
            if values[max(one.columns)][1]:
                continue  # it is not asked about a value that cannot be read
            if one.evaluator is None:
                raise self._uncertain(
                    block.number(row), Uncertain("an odd record, and a condition is put to it")
                )
            (result,) = one.evaluator.evaluate(record)
            if result[0].as_py() is not True:
                return
        line = block.text(row)
        shown = [
            _stripped(line) if field.name == self._corrupt else _internal(array)
            for field, (array, _) in zip(self._output, values, strict=True)
        ]
        raise malformed(self._path, line, shown, self._output, None)

    def _uncertain(self, number: int, error: Uncertain) -> KernelError:
        number += lines_before(self._path, self._part.start)
        return not_exact(
            f"Line {number} of '{self._path}' has {error} and is not read as Spark would here."
        )


def _stripped(line: str) -> str:
    """Scala's stripLineEnd."""
    if line.endswith("\r\n"):
        return line[:-2]
    return line[:-1] if line.endswith(("\n", "\r", "\f")) else line


def _internal(array: Any) -> Any:
    """A value as Spark's rows hold it: times are numbers."""
    if pa.types.is_date(array.type):
        return array.view(pa.int32())[0].as_py()
    if pa.types.is_timestamp(array.type):
        return array.view(pa.int64())[0].as_py()
    return array[0].as_py()
