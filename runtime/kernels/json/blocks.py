"""Blocks of JSON lines as Arrow reads them, where Spark would read the same.

Arrow's own reader reads blocks of lines whose bytes show that Spark would read the same. All other
lines are read one by one (json/lines.py): blocks are divided until few lines remain, and of a block
of which only some values are odd those lines are read again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from ...state.rows import columns_of
from ..columns.texts import bytes_of
from ..readers.line_files import BATCH
from .conversion import (
    Conversion,
    Positions,
    Unlike,
    has_strings,
    is_exact,
    is_map,
    may_be_strings,
    read_as,
)
from .errors import BadValue, Uncertain
from .lines import LineReader
from .member_columns import MemberColumns
from .times import TimeTexts

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
_CHANGED = "changed from"
"""Of Arrow's errors, the one of a field with values of several types."""
_ODD = 4
"""Of so many lines one may be odd."""
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
        times: how strings are read as dates and times.
        copied: whether a string is written anew of a value that is none: see `struct_reader`.

    Attributes:
        whole: whether whole blocks of this schema can be read at all.
    """

    def __init__(
        self, schema: Any, lines: LineReader, times: TimeTexts, *, copied: bool = False
    ) -> None:
        self._schema = schema
        self._lines = lines
        self._times = times
        self._copied = copied
        self._failures = 0
        self._line = 1
        fields = [field for place, field in enumerate(schema) if place != lines.corrupt]
        self._maps = frozenset(field.name for field in fields if is_map(field.type))
        self._fields = [field for field in fields if field.name not in self._maps]
        kinds = [read_as(field.type) for field in self._fields]
        self.whole = None not in kinds
        self._known: Mapping[str, Any] | None = {}
        self._texts = frozenset(f.name for f in self._fields if pa.types.is_string(f.type))
        self._guesses = any(map(has_strings, kinds)) if copied else bool(self._texts)

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
            if len(found.odd) * _ODD <= len(found.lines):
                yield self._of_block(block, found)
            else:
                yield from self._one_by_one(block)
            return
        if _line_count(block) <= _FEW:
            yield from self._one_by_one(block)
            return
        for part in _parts(block):
            yield from self._divide(part)

    def _of_block(self, block: bytes, found: Block) -> Any:
        """The rows of a block, its odd lines read one by one."""
        lines, start = found.lines, 0
        whole = columns_of(found.columns, self._schema, len(lines) - 1)
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
        types, apart = self._types(block, lines)
        try:
            return self._read(block, lines, types, apart)
        except pa.ArrowInvalid as error:
            if _CHANGED not in str(error) or self._texts <= apart:
                raise
        rest = {name: kind for name, kind in types.items() if name not in self._texts}
        return self._read(block, lines, rest, apart | self._texts)

    def _read(
        self, block: Any, lines: Positions, types: dict[str, Any], apart: frozenset[str]
    ) -> Block:
        """What a block holds.

        Args:
            block: its bytes.
            lines: where lines begin.
            types: as what Arrow reads fields.
            apart: the other fields, which are made of the texts of members.
        """
        count = len(lines) - 1
        table = pyarrow.json.read_json(
            pa.BufferReader(pa.py_buffer(block)),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=pa.schema(list(types.items()) or [_NO_FIELD]),
                unexpected_field_behavior="ignore",
            ),
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
        )
        if table.num_rows != count:
            raise Unlike
        conversion, members = Conversion(self._times), None
        if apart:
            letters = np.frombuffer(block, np.uint8)
            members = MemberColumns(letters, lines, copied=self._copied, read=self._values)
        columns = []
        for place, field in enumerate(self._schema):
            if place == self._lines.corrupt:
                column = pa.nulls(count, field.type)  # no line of a block is malformed
            elif members is not None and field.name in apart:
                column = members.column(field.name, field.type)
            else:
                column = table.column(field.name)
                column = conversion.converted(column, field.type, lambda at: at)
            columns.append(column)
        odd = [np.zeros(0, np.int64), *conversion.odd, *([] if members is None else members.odd)]
        return Block(columns, lines, np.unique(np.concatenate(odd)))

    def _types(self, block: Any, lines: Positions) -> tuple[dict[str, Any], frozenset[str]]:
        """As what Arrow reads fields, and which ones it does not read.

        The first lines of all say whether what is to be strings is written as strings.
        """
        if self._guesses and not self._known:
            self._known = self._seen(block, lines)
        known = self._known
        if known is None:
            return self._kinds({}, self._maps | self._texts)
        others = (
            name
            for name in self._texts & known.keys()
            if not may_be_strings(known[name].type) and not (self._copied and is_exact(known[name]))
        )
        return self._kinds(known, self._maps.union(others))

    def _kinds(
        self, known: Mapping[str, Any], apart: frozenset[str]
    ) -> tuple[dict[str, Any], frozenset[str]]:
        read = (field for field in self._fields if field.name not in apart)
        seen = {name: column.type for name, column in known.items()} if self._copied else {}
        return {field.name: read_as(field.type, seen.get(field.name)) for field in read}, apart

    def _seen(self, block: Any, lines: Positions) -> Mapping[str, Any] | None:
        """What is in the fields of the first lines; None: values of several types in one."""
        head = block[: lines[min(_HEAD, len(lines) - 1)]]
        options = pyarrow.json.ReadOptions(use_threads=False)
        try:
            first = pyarrow.json.read_json(pa.BufferReader(pa.py_buffer(head)), options)
        except pa.ArrowInvalid:
            return None
        return dict(zip(first.column_names, first.columns, strict=True))

    def _values(self, texts: Any, kind: Any) -> tuple[Any, Positions]:
        """The values of lines `{"value": ...}`, and the odd ones among them."""
        schema = pa.schema([("value", kind)])
        reader = BlockReader(
            schema,
            LineReader(list(schema), "PERMISSIVE", self._times, ""),
            self._times,
            copied=self._copied,
        )
        found = reader.as_block(bytes_of(texts)[0])
        return found.columns[0], found.odd

    def _one_by_one(self, block: bytes) -> Iterator[Any]:
        return self.one_by_one(block.split(b"\n")[:-1])

    def one_by_one(self, lines: Iterable[bytes]) -> Iterator[Any]:
        """The batches of lines without their ends, each read by itself."""
        rows = []
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
        return columns_of(columns, self._schema, len(rows))


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
    # A null behind an object on its line crashes Arrow; most lines have one closing brace.
    closing = letters == ord("}")
    if np.count_nonzero(closing) > len(ends):
        behind = letters[np.flatnonzero(closing) + 1]
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
