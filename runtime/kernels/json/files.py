"""JSON files as Arrow batches, exactly as Spark reads them with a given schema.

Arrow's own reader reads blocks of lines whose bytes show that Spark would read the same. All other
lines are read one by one (json/lines.py): blocks are divided until few lines remain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from ..errors import KernelError
from ..expressions.conversions.cast_strings import from_string
from ..expressions.programs.program import Step
from ..file_parts import WHOLE, FilePart
from ..readers.line_files import BATCH, blocks
from .errors import BadValue, Uncertain
from .filters import PushedFilter
from .lines import LineReader
from .support import corrupt_column
from .times import timestamps

_FEW = 512
"""So few lines are read one by one, not divided further."""
_FAILURES = 8
"""After so many parts in a row that Arrow could not read, all lines of a block are read one by one.
"""
_PARTS = 8
_LONGEST = 1000
"""Jackson's limits (of numbers, of depth) concern longer lines only."""
_MOST_LETTERS = 40_000
"""Jackson's limit of names concerns lines that are longer still."""
_LONG_NUMBER = re.compile(rb"[0-9.eE+-]{1000}")
_NOT_A_NUMBER = re.compile(rb"[:\[,\s][+-]?(?:NaN|Inf)")
_SECOND_VALUE = re.compile(rb"\}[ \t]*null")
_NO_FIELD = pa.field("\0", pa.null())
"""Where no column is read Arrow looks for a field that no object has."""


class _Unlike(Exception):
    """Arrow would not read a block, or perhaps not as Spark does."""


def read_json(
    path: str,
    schema: Any,
    options: Mapping[str, str],
    time_zone: str,
    filters: Sequence[PushedFilter] = (),
    part: FilePart = WHOLE,
) -> Iterator[Any]:
    """Read a file of JSON lines, or a part of one.

    Args:
        path: the file, in UTF-8; compressed if its name says so.
        schema: the columns that Spark reads, a `pyarrow.Schema` of the types of arrow_types.py.
            Spark reads only those that the query needs: a malformed value of another is no error.
            The one for malformed lines takes the text of each, and is of no field in them.
        options: those that json/support.py accepts.
        time_zone: the session's.
        filters: the conditions that Spark's reader is given. They stay to be fulfilled: only the
            records are left out of which Spark does not read the end.
        part: which lines to read.

    Yields:
        Record batches of at most 65,536 rows, all columns nullable.

    Raises:
        KernelError: a line of which it is not known what Spark makes of it
            (`STATEPLAN_NOT_EXACT`), and a malformed one in FAILFAST mode; or the column for
            malformed lines is the only one (`QUERY_ONLY_CORRUPT_RECORD_COLUMN`).
    """
    corrupt = schema.get_field_index(corrupt_column(options))
    if corrupt >= 0 and len(schema) == 1:
        raise KernelError.of("UNSUPPORTED_FEATURE.QUERY_ONLY_CORRUPT_RECORD_COLUMN")
    mode = next((value for name, value in options.items() if name.lower() == "mode"), "PERMISSIVE")
    lines = LineReader(
        list(schema),
        mode.upper(),
        time_zone,
        path,
        filters,
        start=part.start,
        corrupt=None if corrupt < 0 else corrupt,
    )
    reader = BlockReader(schema, lines, time_zone)
    for block in blocks(path, part=part):
        for batch in reader.batches(block):
            for start in range(0, batch.num_rows, BATCH):
                yield batch.slice(start, BATCH)


UNLIKE = (_Unlike, BadValue, Uncertain, pa.ArrowException, OverflowError)


class BlockReader:
    """Reads blocks of lines.

    Attributes:
        whole: whether whole blocks of this schema can be read at all.
    """

    def __init__(self, schema: Any, lines: LineReader, zone: str) -> None:
        self._schema = schema
        self._lines = lines
        self._zone = zone
        read = [field for place, field in enumerate(schema) if place != lines.corrupt]
        kinds = [_read_as(field.type) for field in read]
        self._failures = 0
        self._line = 1
        self.whole = None not in kinds
        if self.whole:
            names = [field.name for field in read]
            fields = list(zip(names, kinds, strict=True)) or [_NO_FIELD]
            self._parse = pyarrow.json.ParseOptions(
                explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore"
            )

    def batches(self, block: bytes) -> Iterator[Any]:
        """The batches of a block: the lines that follow those of the blocks before."""
        self._failures = min(self._failures, _FAILURES - 1)
        yield from self._divide(block)

    def _divide(self, block: bytes) -> Iterator[Any]:
        if not self.whole or self._failures >= _FAILURES:
            yield from self._one_by_one(block)
            return
        try:
            batch = self.as_block(block)
        except UNLIKE:
            self._failures += 1
        else:
            self._failures = 0
            self._line += batch.num_rows
            yield batch
            return
        if _line_count(block) <= _FEW:
            yield from self._one_by_one(block)
            return
        for part in _parts(block):
            yield from self._divide(part)

    def as_block(self, block: bytes) -> Any:
        """The record batch of a block.

        Raises:
            one of UNLIKE: Arrow does not read it, or something in it otherwise than Spark.
        """
        count = _check(block)
        table = pyarrow.json.read_json(
            pa.BufferReader(block),
            parse_options=self._parse,
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
        )
        if table.num_rows != count:
            raise _Unlike
        columns = [
            pa.nulls(count, field.type)  # no line of a block is malformed
            if place == self._lines.corrupt
            else self._converted(table.column(field.name).combine_chunks(), field.type)
            for place, field in enumerate(self._schema)
        ]
        return self._of(columns, count)

    def _of(self, columns: Sequence[Any], count: int) -> Any:
        if not columns:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _one_by_one(self, block: bytes) -> Iterator[Any]:
        rows = []
        lines = block.split(b"\n")
        lines.pop()
        for line in lines:
            rows += self._lines.rows(line, self._line)
            self._line += 1
            if len(rows) >= BATCH:
                yield self._batch(rows)
                rows = []
        if rows:
            yield self._batch(rows)

    def _batch(self, rows: list[Any]) -> Any:
        columns = [
            pa.array(values, field.type)
            for values, field in zip(zip(*rows, strict=True), self._schema, strict=True)
        ]
        return self._of(columns, len(rows))

    def _converted(self, array: Any, kind: Any) -> Any:
        """What Arrow read, as the type wanted."""
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(array.chunks) if array.num_chunks else array.combine_chunks()
        if pa.types.is_floating(kind):
            return _without_negative_zeros(array)
        if pa.types.is_decimal(kind):
            array.validate(full=True)  # Arrow reads whole numbers with too many digits
            return array
        if pa.types.is_timestamp(kind):
            return timestamps(array, self._zone if kind.tz else None).view(kind)
        if pa.types.is_date(kind):
            step = Step("cast", (), "date", ("string",), mode="TRY")
            days = from_string(step, array)
            if days.null_count != array.null_count:
                raise _Unlike
            return days.view(kind)
        if pa.types.is_struct(kind):
            parts = [self._converted(array.field(i), kind[i].type) for i in range(len(kind))]
            return pa.StructArray.from_arrays(parts, fields=list(kind), mask=array.is_null())
        if pa.types.is_list(kind):
            if array.offset:
                raise _Unlike
            values = self._converted(array.values, kind.value_type)
            return pa.ListArray.from_arrays(array.offsets, values, type=kind, mask=array.is_null())
        return array


def _read_as(kind: Any) -> Any:
    """The type as which Arrow reads values; None: it cannot."""
    if pa.types.is_temporal(kind):
        return pa.string()
    if pa.types.is_map(kind) or pa.types.is_binary(kind):
        return None
    if pa.types.is_struct(kind):
        parts = [(field.name, _read_as(field.type)) for field in kind]
        return None if any(part is None for _, part in parts) else pa.struct(parts)
    if pa.types.is_list(kind):
        element = _read_as(kind.value_type)
        return None if element is None else pa.list_(pa.field("element", element))
    return kind


def _line_count(block: bytes) -> int:
    """How many lines a block has: Python takes five times as long to count them."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))


def _check(block: bytes) -> int:
    """The number of lines, if each is one object and nothing in it is read otherwise by Spark."""
    letters = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(letters == ord("\n"))
    # Within a valid object there is never a closing brace, a line's end and an opening brace: each
    # line begins a value, and as many values as lines means that each line has one.
    starts = np.concatenate([[0], ends[:-1] + 1])
    if not (letters[starts] == ord("{")).all() or not (letters[ends - 1] == ord("}")).all():
        raise _Unlike
    if not block.isascii():
        _check_utf8(block)
    if (_has(letters, b"NaN") or _has(letters, b"Inf")) and _NOT_A_NUMBER.search(block):
        raise _Unlike  # Arrow reads other names of infinities
    # A null behind an object on its line crashes Arrow; most lines have one closing brace.
    if np.count_nonzero(letters == ord("}")) > len(ends) and _SECOND_VALUE.search(block):
        raise _Unlike
    longest = (ends - starts).max()
    if longest > _LONGEST:
        opening = (letters == ord("{")) | (letters == ord("["))
        deepest = np.add.reduceat(opening, starts, dtype=np.int64).max()
        if longest > _MOST_LETTERS or deepest > _LONGEST // 2 or _LONG_NUMBER.search(block):
            raise _Unlike
    return len(ends)


def _has(letters: Any, word: bytes) -> bool:
    """Whether a word of three letters is there: Python takes ten times as long to find none."""
    for shift in (0, 1):
        pairs = letters[shift : len(letters) - (len(letters) - shift) % 2].view("<u2")
        places = np.flatnonzero(pairs == int.from_bytes(word[:2], "little")) * 2 + shift + 2
        if (letters[places[places < len(letters)]] == word[2]).any():
            return True
    return False


def _check_utf8(block: bytes) -> None:
    ends = pa.py_buffer(np.array([0, len(block)], np.int32))
    text = pa.Array.from_buffers(pa.string(), 1, [None, ends, pa.py_buffer(block)])
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        raise _Unlike from None


def _without_negative_zeros(array: Any) -> Any:
    """Numbers of which none is -0.0: Spark reads `-0` as 0.0 and `-0.0` as -0.0."""
    kind = np.float32 if pa.types.is_float32(array.type) else np.float64
    data = np.frombuffer(array.buffers()[1], kind)[array.offset :][: len(array)]
    if np.any((data == 0) & np.signbit(data)):
        raise _Unlike
    return array


def _parts(block: bytes) -> Iterator[bytes]:
    """A block in a few parts of whole lines."""
    start = 0
    for part in range(1, _PARTS + 1):
        end = block.find(b"\n", len(block) * part // _PARTS - 1) + 1
        if end > start:
            yield block[start:end]
            start = end
