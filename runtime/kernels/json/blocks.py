"""Blocks of JSON lines as Arrow reads them, where Spark would read the same.

Arrow's own reader reads blocks of lines whose bytes show that Spark would read the same. All other
lines are read one by one (json/lines.py): blocks are divided until few lines remain, and of a block
of which only some values are odd those lines are read again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from ..columns.texts import bytes_of
from ..readers.line_files import BATCH
from .conversion import Conversion, Positions, Unlike, has_strings, is_map, read_as
from .errors import BadValue, Uncertain
from .lines import LineReader
from .maps import MapColumns

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
_ENDS = np.isin(np.arange(256), list(b",}]\n"))
"""Letters that stand behind an object, where no blanks do."""
_HEAD = 64
"""By so many lines it is seen how what is read as strings is written."""
_NO_FIELD = pa.field("\0", pa.null())
"""Where no column is read Arrow looks for a field that no object has."""
UNLIKE = (Unlike, BadValue, Uncertain, pa.ArrowException, OverflowError)


@dataclass(frozen=True)
class Block:
    """What a block of lines holds.

    Attributes:
        columns: of the schema, a value for each line.
        lines: where each line begins, and the end of the last.
        odd: the lines whose values are not known: they have to be read one by one.
    """

    columns: list[Any]
    lines: Positions
    odd: Positions


class BlockReader:
    """Reads blocks of lines.

    Args:
        schema: the columns, a `pyarrow.Schema`.
        lines: reads lines one by one.
        zone: the session's time zone.
        copied: whether a string is written anew of a value that is none: see `struct_reader`.

    Attributes:
        whole: whether whole blocks of this schema can be read at all.
    """

    def __init__(self, schema: Any, lines: LineReader, zone: str, *, copied: bool = False) -> None:
        self._schema = schema
        self._lines = lines
        self._zone = zone
        self._read = [field for place, field in enumerate(schema) if place != lines.corrupt]
        self._failures = 0
        self._line = 1
        self._maps = frozenset(field.name for field in self._read if is_map(field.type))
        self._read = [field for field in self._read if field.name not in self._maps]
        kinds = [read_as(field.type) for field in self._read]
        self.whole = None not in kinds
        self._copied = copied
        self._guesses = copied and any(map(has_strings, kinds))
        self._options = self._parse_options(kinds) if self.whole else None

    def batches(self, block: bytes) -> Iterator[Any]:
        """The batches of a block: the lines that follow those of the blocks before."""
        self._failures = min(self._failures, _FAILURES - 1)
        yield from self._divide(block)

    def _divide(self, block: bytes) -> Iterator[Any]:
        if not self.whole or self._failures >= _FAILURES:
            yield from self._one_by_one(block)
            return
        try:
            found = self.as_block(block)
        except UNLIKE:
            self._failures += 1
        else:
            self._failures = 0
            yield self._of_block(block, found)
            return
        if _line_count(block) <= _FEW:
            yield from self._one_by_one(block)
            return
        for part in _parts(block):
            yield from self._divide(part)

    def _of_block(self, block: bytes, found: Block) -> Any:
        """The rows of a block, its odd lines read one by one."""
        lines, start = found.lines, 0
        whole = self._of(found.columns, len(lines) - 1)
        parts = []
        for line in found.odd.tolist():
            parts.append(whole.slice(start, line - start))
            self._line += line - start
            parts += self._one_by_one(block[lines[line] : lines[line + 1]])
            start = line + 1
        self._line += len(lines) - 1 - start
        return pa.concat_batches([*parts, whole.slice(start)]) if parts else whole

    def as_block(self, block: Any) -> Block:
        """What a block holds, as bytes or an array of these.

        Raises:
            one of UNLIKE: Arrow does not read it, or something in it otherwise than Spark.
        """
        lines = _check(block)
        count = len(lines) - 1
        table = pyarrow.json.read_json(
            pa.BufferReader(pa.py_buffer(block)),
            parse_options=self._guessed(block, lines) if self._guesses else self._options,
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
        )
        if table.num_rows != count:
            raise Unlike
        conversion = Conversion(self._zone)
        maps = None
        if self._maps:
            letters = np.frombuffer(block, np.uint8)
            maps = MapColumns(letters, lines, copied=self._copied, read=self._values)
        columns = []
        for place, field in enumerate(self._schema):
            if place == self._lines.corrupt:
                column = pa.nulls(count, field.type)  # no line of a block is malformed
            elif maps is not None and field.name in self._maps:
                column = maps.column(field.name, field.type)
            else:
                column = table.column(field.name)
                column = conversion.converted(column, field.type, lambda at: at)
            columns.append(column)
        odd = [np.zeros(0, np.int64), *conversion.odd, *([] if maps is None else maps.odd)]
        return Block(columns, lines, np.unique(np.concatenate(odd)))

    def _values(self, texts: Any, kind: Any) -> tuple[Any, Positions]:
        """The values of lines `{"value": ...}`, and the odd ones among them."""
        schema = pa.schema([("value", kind)])
        reader = BlockReader(
            schema,
            LineReader(list(schema), "PERMISSIVE", self._zone, ""),
            self._zone,
            copied=self._copied,
        )
        found = reader.as_block(bytes_of(texts)[0])
        return found.columns[0], found.odd

    def _guessed(self, block: Any, lines: Positions) -> Any:
        """How to read a block in which strings may be written as numbers: as its first lines do."""
        head = block[: lines[min(_HEAD, len(lines) - 1)]]
        options = pyarrow.json.ReadOptions(use_threads=False)
        first = pyarrow.json.read_json(pa.BufferReader(pa.py_buffer(head)), options).schema
        known = {field.name: field.type for field in first}
        kinds = [read_as(field.type, known.get(field.name)) for field in self._read]
        return self._parse_options(kinds)

    def _parse_options(self, kinds: Sequence[Any]) -> Any:
        names = [field.name for field in self._read]
        fields = list(zip(names, kinds, strict=True)) or [_NO_FIELD]
        return pyarrow.json.ParseOptions(
            explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore"
        )

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


def _line_count(block: bytes) -> int:
    """How many lines a block has: Python takes five times as long to count them."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))


def _check(block: Any) -> Positions:
    """Where each line begins, and the end of the last, if each is one object.

    Raises:
        Unlike: one is none, or it may hold what Spark reads otherwise.
    """
    letters = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(letters == ord("\n"))
    # Within a valid object there is never a closing brace, a line's end and an opening brace: each
    # line begins a value, and as many values as lines means that each line has one.
    starts = np.concatenate([[0], ends[:-1] + 1])
    if not (letters[starts] == ord("{")).all() or not (letters[ends - 1] == ord("}")).all():
        raise Unlike
    if letters.view(np.int8).min() < 0:
        _check_utf8(block)
    if (_has(letters, b"NaN") or _has(letters, b"Inf")) and _NOT_A_NUMBER.search(block):
        raise Unlike  # Arrow reads other names of infinities
    # A null behind an object on its line crashes Arrow.
    behind = letters[np.flatnonzero(letters == ord("}")) + 1]
    if not _ENDS[behind].all() and _SECOND_VALUE.search(block):
        raise Unlike
    longest = (ends - starts).max()
    if longest > _LONGEST:
        opening = (letters == ord("{")) | (letters == ord("["))
        deepest = np.add.reduceat(opening, starts, dtype=np.int64).max()
        if longest > _MOST_LETTERS or deepest > _LONGEST // 2 or _LONG_NUMBER.search(block):
            raise Unlike
    return np.append(starts, len(letters))


def _has(letters: Any, word: bytes) -> bool:
    """Whether a word of three letters is there: Python takes ten times as long to find none."""
    for shift in (0, 1):
        pairs = letters[shift : len(letters) - (len(letters) - shift) % 2].view("<u2")
        places = np.flatnonzero(pairs == int.from_bytes(word[:2], "little")) * 2 + shift + 2
        if (letters[places[places < len(letters)]] == word[2]).any():
            return True
    return False


def _check_utf8(block: Any) -> None:
    ends = pa.py_buffer(np.array([0, len(block)], np.int32))
    text = pa.Array.from_buffers(pa.string(), 1, [None, ends, pa.py_buffer(block)])
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        raise Unlike from None


def _parts(block: bytes) -> Iterator[bytes]:
    """A block in a few parts of whole lines."""
    start = 0
    for part in range(1, _PARTS + 1):
        end = block.find(b"\n", len(block) * part // _PARTS - 1) + 1
        if end > start:
            yield block[start:end]
            start = end
