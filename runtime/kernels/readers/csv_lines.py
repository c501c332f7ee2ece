"""The records of a block of a CSV file: where each begins and ends, and which Arrow reads as Spark.

A record is a line. With `multiLine` it may have several: a line end within quotes does not end it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from .csv_options import CsvOptions
from .csv_records import BLANK_BYTES, odd_quotes, outside, quotes_in

_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_BOM = b"\xef\xbb\xbf"
_NEW_LINE = 10
_LONGEST = 1 << 19
_STANDS_FOR_SEPARATOR = "\x1f"


class CsvBlock:
    """The lines of a block that Spark takes for records: neither blank nor comments.

    Args:
        data: the lines, each with its end.
        number: that of the first one in its file, from 1.
        options: how they are written.
        blank: whether lines of blanks alone are records, too, as they are where a record may have
            several lines and blanks in front of values count.

    Attributes:
        count: how many lines there are, with the others; those of a record together are one.
        lines: how many ends of lines there are.
        rows: how many records.
    """

    def __init__(
        self, data: bytes, number: int, options: CsvOptions, *, blank: bool = False
    ) -> None:
        self._options = options
        data = _as_utf8(data)
        end = options.line_sep or b"\n"
        self._end = end[0]
        self._data = data
        self._letters = np.frombuffer(data, np.uint8)
        ends = self._line_ends = np.flatnonzero(self._letters == self._end)
        if options.multi_line:
            ends = outside(quotes_in(self._letters, options), ends)
            if not len(ends) or ends[-1] < len(data) - 1:
                ends = np.append(ends, len(data) - 1)  # its last quote is odd
        starts = np.concatenate([[0], ends + 1])[: len(ends)]
        self.count, self.lines = len(ends), len(self._line_ends)
        self._all_ends = ends
        blank |= options.multi_line and not options.leading
        self._kept = np.flatnonzero(self._records(starts, ends, blank=blank))
        self._first = number
        self._starts, self._ends = starts[self._kept], ends[self._kept]
        self.rows = len(self._starts)

    def _records(self, starts: Any, ends: Any, *, blank: bool) -> Any:
        """Which lines are records."""
        kept = starts < ends
        firsts = self._letters[starts]
        for line in () if blank else np.flatnonzero(kept & (firsts <= 32)):
            kept[line] = bool(self._data[starts[line] : ends[line]].strip(BLANK_BYTES))
        if self._options.comment is not None:
            kept &= firsts != ord(self._options.comment)
        return kept

    def leave_out_first(self) -> None:
        """Leave out the first record: it is the header."""
        self._kept, self.rows = self._kept[1:], self.rows - 1
        self._starts, self._ends = self._starts[1:], self._ends[1:]

    def text(self, row: int) -> str:
        """A record's line without its end."""
        return self._data[self._starts[row] : self._ends[row]].decode()

    @property
    def places(self) -> Any:
        """Which of the lines are records, from 0."""
        return self._kept

    def number(self, row: int) -> int:
        """Which line of the file a record is, from 1."""
        return self._line_at(self._starts[row])

    def _line_at(self, place: Any) -> int:
        return self._first + int(np.searchsorted(self._line_ends, place))

    def odd_line(self, read: Sequence[int] | None = None) -> int | None:
        """The first line with a quote that may stand within a value, where records have several.

        Where that record ends, nobody knows here.

        Args:
            read: the places of the values that are read, where others are skipped.
        """
        letters, options = self._letters, self._options
        if not options.multi_line:
            return None
        quotes = quotes_in(letters, options)
        odd = odd_quotes(letters, quotes, options)
        odd[-1:] |= len(quotes) % 2 == 1
        if read is not None and options.escape == options.quote:
            # Of a value that is skipped, univocity takes such a last quote for an escaped one.
            ends = quotes[1::2]
            quote = ord(options.quote)
            doubled = (letters[ends - 1] == quote) & (letters[ends + 1] != quote)
            odd[1::2] |= doubled & ~np.isin(self._values_before(quotes, ends), read)
        return self._line_at(quotes[np.argmax(odd)]) if odd.any() else None

    def _values_before(self, quotes: Any, places: Any) -> Any:
        """How many values of their records end before some places."""
        separators = outside(quotes, np.flatnonzero(self._letters == ord(self._options.sep)))
        starts = np.concatenate([[0], self._all_ends + 1])[np.searchsorted(self._all_ends, places)]
        return np.searchsorted(separators, places) - np.searchsorted(separators, starts)

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
        if len(options.sep) > 1 and _STANDS_FOR_SEPARATOR.encode() in self._data:
            return np.zeros(self.rows, np.bool_)
        clean = ends - starts <= _LONGEST
        clean &= self._divided(values, pruned=pruned)[self._kept]
        odd = [letter for letter in (b"\n", b"\r") if letter[0] != self._end]
        for word in (*odd, _BOM):
            clean &= ~self._lines_with(_found(self._data, word))[self._kept]
        if options.empty_value != options.null_value and (options.leading or options.trailing):
            clean &= letters[ends - 1] > 32  # a blank value at a line's end is not null
        if options.trailing and not options.leading:
            clean &= letters[starts] > 32
        return clean

    def _lines_with(self, places: Any) -> Any:
        """Which of all lines have a letter at one of some places."""
        found = np.zeros(self.count, np.bool_)
        found[np.searchsorted(self._all_ends, places)] = True
        return found

    def _divided(self, values: int, *, pruned: bool) -> Any:
        """Which of all lines have so many values, and none of its quotes is odd."""
        options, letters = self._options, self._letters
        separator = self.separator(options).encode()
        if len(options.sep) > 1:
            same_length = separator.ljust(len(options.sep.encode()), b"\0")
            letters = np.frombuffer(self._data.replace(options.sep.encode(), same_length), np.uint8)
        marked = (letters == separator[0]) | (letters == self._end)
        quote = None if options.quote == "\0" else options.quote.encode()
        if quote is not None and quote in self._data:
            marked |= letters == quote[0]
        else:
            quote = None
        marks = np.flatnonzero(marked)
        kinds = letters[marks]
        if options.multi_line:
            line_ends = np.searchsorted(marks, self._all_ends)
        else:
            line_ends = np.flatnonzero(kinds == self._end)
        divides = kinds == separator[0]
        if quote is None:
            return _count(divides, line_ends) == values - 1
        quotes = kinds == quote[0]
        within = np.cumsum(quotes, dtype=np.uint8) & 1  # in quotes, an opening one among them
        open_at_end = within[line_ends]
        if open_at_end.any():  # the next line begins anew
            before = np.concatenate([np.zeros(1, np.uint8), open_at_end[:-1]])
            within ^= np.repeat(before, np.diff(line_ends, prepend=-1))
            open_at_end = within[line_ends]
        divided = _count(divides & (within == 0), line_ends) == values - 1
        divided &= open_at_end == 0
        odd = self._odd_quotes(marks[quotes], within[quotes] == 1, pruned=pruned)
        return divided & ~self._lines_with(odd) & ~self._with_escapes(quotes, line_ends)

    def _odd_quotes(self, quotes: Any, opens: Any, *, pruned: bool) -> Any:
        """The places of quotes, of all quotes, that Arrow takes otherwise than Spark."""
        options, letters = self._options, self._letters
        if len(options.sep) > 1 or options.leading or options.trailing:
            return quotes
        edges = (ord(options.sep), self._end)
        # The last letter is a line's end, which what stands before the first one would be.
        beside = np.where(opens, letters[quotes - 1], letters[quotes + 1])
        odd = (beside != edges[0]) & (beside != edges[1])
        odd_empty = options.escape == "\0" or (pruned and options.escape == options.quote)
        if odd_empty or options.empty_value != options.null_value:
            odd |= opens & (letters[quotes + 1] == ord(options.quote))
        return quotes[odd]

    def _with_escapes(self, quotes: Any, line_ends: Any) -> Any:
        """Which of all lines have both quotes and letters that escape them."""
        options = self._options
        found = np.zeros(self.count, np.bool_)
        for escape in {options.escape, options.escape_escape} - {options.quote}:
            places = _found(self._data, escape.encode())
            if len(places):
                found |= self._lines_with(places) & (_count(quotes, line_ends) > 0)
        return found

    def bytes_of(self, clean: Any) -> bytes:
        """The lines of records, as Arrow's reader is given them."""
        letters = self._letters
        start, end = int(self._starts[0]), int(self._ends[-1]) + 1
        whole = bool(clean.all()) and int((self._ends - self._starts).sum()) + self.rows
        if whole == end - start and self._end == _NEW_LINE:
            data = self._data[start:end]
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


def _count(marks: Any, line_ends: Any) -> Any:
    """How many of some marks each line has, given which of them end a line."""
    return np.diff(np.cumsum(marks, dtype=np.int32)[line_ends], prepend=0)


def _found(data: bytes, word: bytes) -> Any:
    """The places where a word begins."""
    if word not in data:
        return np.empty(0, np.int64)
    letters = np.frombuffer(data, np.uint8)
    if len(word) == 1:
        return np.flatnonzero(letters == word[0])
    return np.array([match.start() for match in re.finditer(re.escape(word), data)], np.int64)


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
