"""A block of a CSV file's lines: where they lie, and which of them Arrow divides as Spark does."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa

from .csv_options import CsvOptions

_BLANKS = bytes(range(33))
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_BOM = b"\xef\xbb\xbf"
_NEW_LINE = 10
_LONGEST = 1 << 19
_STANDS_FOR_SEPARATOR = "\x1f"


class CsvBlock:
    """The lines of a block that Spark takes for records: neither blank nor comments.

    Attributes:
        count: how many lines there are, with the others.
        rows: how many records.
    """

    def __init__(self, data: bytes, number: int, options: CsvOptions) -> None:
        self._options = options
        data = _as_utf8(data)
        end = options.line_sep or b"\n"
        self._end = end[0]
        self._data = data
        self._letters = np.frombuffer(data, np.uint8)
        ends = np.flatnonzero(self._letters == self._end)
        starts = np.concatenate([[0], ends[:-1] + 1])
        self.count = len(ends)
        kept = self._records(starts, ends)
        self._numbers = np.arange(number, number + len(ends))[kept]
        self._starts, self._ends = starts[kept], ends[kept]
        self.rows = len(self._starts)

    def _records(self, starts: Any, ends: Any) -> Any:
        """Which lines are records."""
        kept = starts < ends
        firsts = self._letters[starts]
        for line in np.flatnonzero(kept & (firsts <= 32)):
            kept[line] = bool(self._data[starts[line] : ends[line]].strip(_BLANKS))
        if self._options.comment is not None:
            kept &= firsts != ord(self._options.comment)
        return kept

    def leave_out_first(self) -> None:
        """Leave out the first record: it is the header."""
        self._numbers, self.rows = self._numbers[1:], self.rows - 1
        self._starts, self._ends = self._starts[1:], self._ends[1:]

    def text(self, row: int) -> str:
        """A record's line without its end."""
        return self._data[self._starts[row] : self._ends[row]].decode()

    def number(self, row: int) -> int:
        """Which line of the file a record is, from 1."""
        return int(self._numbers[row])

    @staticmethod
    def separator(options: CsvOptions) -> str:
        """The separator in `bytes_of`."""
        return options.sep if len(options.sep) == 1 else _STANDS_FOR_SEPARATOR

    def clean(self, values: int, *, pruned: bool) -> Any:
        """Which records have so many values, and each is read by Arrow as by Spark.

        Args:
            values: how many.
            pruned: whether some are skipped.
        """
        options = self._options
        letters, starts, ends = self._letters, self._starts, self._ends
        clean = ends - starts <= _LONGEST
        if len(options.sep) > 1:
            if _STANDS_FOR_SEPARATOR.encode() in self._data:
                return np.zeros(self.rows, np.bool_)
            separators = _found(self._data, options.sep.encode())
        else:
            separators = np.flatnonzero(letters == ord(options.sep))
        if options.quote != "\0" and (letters == ord(options.quote)).any():
            separators = self._check_quotes(clean, separators, pruned=pruned)
        counts = np.searchsorted(separators, ends) - np.searchsorted(separators, starts)
        clean &= counts == values - 1
        odd = [ends_line for ends_line in (10, 13) if ends_line != self._end]
        self._leave_out(clean, *(np.flatnonzero(letters == letter) for letter in odd))
        if _BOM in self._data:
            self._leave_out(clean, _found(self._data, _BOM))
        if options.empty_value != options.null_value and (options.leading or options.trailing):
            clean &= letters[ends - 1] > 32  # a blank value at a line's end is not null
        if options.trailing and not options.leading:
            clean &= letters[starts] > 32
        return clean

    def _leave_out(self, clean: Any, *found: Any) -> None:
        """Lines with a letter at one of some places are not clean."""
        for places in found:
            if len(places):
                lines = np.searchsorted(self._starts, places, side="right") - 1
                clean[lines[lines >= 0]] = False

    def _check_quotes(self, clean: Any, separators: Any, *, pruned: bool) -> Any:
        """Leave lines with odd quotes out; the separators that stand in no quotes."""
        options, letters = self._options, self._letters
        quotes = np.flatnonzero(letters == ord(options.quote))
        lines = np.searchsorted(self._starts, quotes, side="right") - 1
        quotes, lines = quotes[lines >= 0], lines[lines >= 0]
        within = quotes < self._ends[lines] if len(lines) else np.empty(0, np.bool_)
        quotes, lines = quotes[within], lines[within]
        if not len(quotes):
            return separators
        first = np.searchsorted(quotes, self._starts)
        opens = (np.arange(len(quotes)) - first[lines]) % 2 == 0
        sep = ord(self.separator(options)) if len(options.sep) == 1 else None
        if sep is None or options.leading or options.trailing:
            clean[lines] = False
            return separators
        starts_value = (quotes == self._starts[lines]) | (letters[quotes - 1] == sep)
        following = letters[quotes + 1]
        ends_value = (quotes + 1 == self._ends[lines]) | (following == sep)
        clean[lines[np.where(opens, ~starts_value, ~ends_value)]] = False
        last = np.searchsorted(quotes, self._ends)
        clean[(last - first) % 2 == 1] = False
        odd_empty = options.escape == "\0" or (pruned and options.escape == options.quote)
        if odd_empty or options.empty_value != options.null_value:
            clean[lines[opens & (following == ord(options.quote))]] = False
        quoted = np.zeros(self.rows, np.bool_)
        quoted[lines] = True
        for escape in {options.escape, options.escape_escape} - {options.quote}:
            marks = np.flatnonzero(letters == ord(escape))
            found = np.searchsorted(self._starts, marks, side="right") - 1
            found = found[found >= 0]
            clean[found[quoted[found]]] = False
        inside = np.searchsorted(quotes, separators)
        line = np.searchsorted(self._starts, separators, side="right") - 1
        return separators[(inside - first[np.maximum(line, 0)]) % 2 == 0]

    def bytes_of(self, clean: Any) -> bytes:
        """The lines of records, as Arrow's reader is given them."""
        letters = self._letters
        whole = bool(clean.all()) and int((self._ends - self._starts).sum()) + self.rows == len(
            letters
        )
        if whole and self._end == _NEW_LINE:
            data = self._data
        else:
            edges = np.zeros(len(letters) + 1, np.int8)
            edges[self._starts[clean]] += 1
            edges[self._ends[clean] + 1] -= 1
            kept = letters[np.cumsum(edges[:-1], dtype=np.int8).view(np.bool_)]
            if self._end != _NEW_LINE:
                kept[kept == self._end] = _NEW_LINE
            data = kept.tobytes()
        if len(self._options.sep) > 1:
            data = data.replace(self._options.sep.encode(), _STANDS_FOR_SEPARATOR.encode())
        return data


def _found(data: bytes, word: bytes) -> Any:
    """The places of a word, none of which overlap."""
    found, at = [], data.find(word)
    while at >= 0:
        found.append(at)
        at = data.find(word, at + len(word))
    return np.array(found, np.int64)


def _as_utf8(data: bytes) -> bytes:
    """Bytes of which those that are no UTF-8 are replaced, as Java does it."""
    if data.isascii():
        return data
    ends = pa.py_buffer(np.array([0, len(data)], np.int32))
    text = pa.Array.from_buffers(pa.string(), 1, [None, ends, pa.py_buffer(data)])
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        # To Java half a pair of surrogates is one mistake, to Python each of its bytes is.
        data = _SURROGATE.sub("\ufffd".encode(), data)
        return data.decode("utf-8", "replace").encode()
    return data
