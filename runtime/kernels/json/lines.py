"""JSON lines one by one, as Spark's JacksonParser and FailureSafeParser take them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ..errors import KernelError, not_exact
from ..readers.line_files import lines_before
from .errors import BadValue, Partial, Uncertain
from .filters import PushedFilter, SkippedRecords
from .malformed import malformed
from .quotes import in_double_quotes
from .times import TimeTexts
from .values import read_otherwise, reader_of, skip, space, struct_reader

_BOM = b"\xef\xbb\xbf"
_LONG = 1000
_LONG_NUMBER = re.compile(r"[0-9.eE+-]{1000}")
_NO_NUMBER = re.compile("NaN|Infinity|INF")
_LONG_NAME = re.compile(r'"(?:[^"\\]|\\.){40000,}"\s*:')

Row = tuple[Any, ...]


class LineReader:
    """Reads lines.

    Args:
        fields: the Arrow fields of the columns.
        mode: `PERMISSIVE`, `FAILFAST` or `DROPMALFORMED`.
        times: how strings are read as dates and times.
        path: the file, for messages.
        filters: the conditions that Spark's reader is given.
        copied: see `struct_reader`.
        by_path: as get_json_object reads, for which an error anywhere is no value at all, and a
            name's first value counts.
        unique: whether a name that is read must not stand twice, as in a map.
        start: with which byte of the file the lines begin.
        corrupt: the place of the column that takes the texts of malformed lines; None: there is
            none.

    Attributes:
        corrupt: as given.
    """

    def __init__(
        self,
        fields: list[Any],
        mode: str,
        times: TimeTexts,
        path: str,
        filters: Sequence[PushedFilter] = (),
        *,
        copied: bool = False,
        by_path: bool = False,
        unique: bool = False,
        start: int = 0,
        corrupt: int | None = None,
    ) -> None:
        self.corrupt = corrupt
        self._start = start
        self._by_path = by_path
        self._unique = unique or by_path
        self._copied = copied
        self._partial = Partial()
        self._fields = fields
        read = [field for place, field in enumerate(fields) if place != corrupt]
        self._read = struct_reader(read, times, self._partial, copied=copied, by_path=by_path)
        self._filters = SkippedRecords(fields, filters, times) if filters else None
        self._nothing: Row = (None,) * len(read)
        self._mode = mode
        self._times = times
        self._path = path

    def rows(self, line: bytes, number: int) -> list[Row]:
        """The rows of a line.

        Args:
            line: a line without its end.
            number: which line of those that are read it is, from 1.

        Raises:
            KernelError: it is malformed, in FAILFAST mode; or nobody knows what Spark makes of it
                (`STATEPLAN_NOT_EXACT`).
        """
        self._partial.reset()
        self._no_json = False
        try:
            text = in_double_quotes(_text(line))
            return self._kept(text, self._rows(text), line)
        except Uncertain as error:
            raise self._failure(number, f"has {error}") from None

    def record(self, text: str, root: Any = None) -> Row | None:
        """The record that from_json makes of a text; None: there is no value in it.

        Args:
            text: the text.
            root: the Arrow type of the text's value, where it is a list or a map, the only field.

        Raises:
            Uncertain: nobody knows what Spark makes of it.
        """
        self._partial.reset()
        text = in_double_quotes(text)
        if text.startswith("\ufeff"):
            raise Uncertain("a byte order mark")
        if len(text) > _LONG:
            _check_long(text)
        if self._by_path and _NO_NUMBER.search(text):
            raise Uncertain("'NaN' or an infinity")
        start = space(text, 0)
        if start == len(text):
            return None
        if root is not None:
            return (self._value(text, start, root),)
        if text[start] == "[":
            return self._nothing
        (row,) = self._rows(text)
        if self._unique and self._partial.repeated:
            raise Uncertain("a name that stands twice")
        return row

    def _value(self, text: str, start: int, kind: Any) -> Any:
        """The list or map that a text begins with; an object is a list of one struct."""
        single = (
            pa.types.is_list(kind) and pa.types.is_struct(kind.value_type) and text[start] == "{"
        )
        read = reader_of(
            kind.value_type if single else kind, self._times, self._partial, copied=True
        )
        try:
            value, _ = read(text, start)
        except BadValue:
            return None
        except RecursionError:
            raise Uncertain("a deeply nested value") from None
        except json.JSONDecodeError as error:
            if "'" in text:
                raise Uncertain(f"a syntax error in column {error.pos + 1}") from None
            return None
        return [value] if single else value

    def _kept(self, text: str, rows: list[Row], line: bytes) -> list[Row]:
        """Of the rows of a line those that the mode keeps, with the column for malformed lines."""
        partial = self._partial
        is_odd = self._no_json or partial.found or partial.repeated
        is_malformed = self._no_json or partial.found
        if is_odd and self._filters is not None:
            if self._filters.skipped(text):
                return []
            if self._filters.asked_twice and not is_malformed:
                is_malformed = True
                if self._mode == "FAILFAST":
                    raise Uncertain("a name that stands twice, and a condition is put to it")
        if self.corrupt is not None:
            shown = line.decode() if is_malformed else None
            rows = [(*row[: self.corrupt], shown, *row[self.corrupt :]) for row in rows]
        if not is_malformed or self._mode == "PERMISSIVE":
            return rows
        if self._mode == "FAILFAST":
            first = None if self._no_json else (partial.field, partial.cause)
            raise malformed(self._path, _text(line), rows[0], self._fields, first)
        if len(rows) > 1:
            raise Uncertain("an array of records of which some are malformed")
        return []

    def _rows(self, text: str) -> list[Row]:
        start = space(text, 0)
        if start == len(text):
            return []
        try:
            if text[start] == "{":
                return [self._read(text, start)[0]]
            return self._array(text, start) if text[start] == "[" else self._malformed()
        except BadValue:
            skip(text, start)
            return self._malformed()
        except RecursionError:
            raise Uncertain("a deeply nested value") from None
        except json.JSONDecodeError as error:
            if self._by_path and "'" not in text:
                return self._malformed()
            if not self._ends_record(text, error):
                raise Uncertain(f"a syntax error in column {error.pos + 1}") from None
            return self._malformed()

    def _ends_record(self, text: str, error: json.JSONDecodeError) -> bool:
        """Whether Jackson, too, finds a syntax error, and Spark reads nothing more of the record.

        Jackson reads a field's number or word along with the name, so that Spark does not take an
        error there for the field's.
        """
        if _cut_off(text, error):
            return True
        if self._copied or self._partial.broken_value:
            return False
        return not read_otherwise(text, error)

    def _malformed(self) -> list[Row]:
        self._no_json = True
        return [self._nothing]

    def _array(self, text: str, start: int) -> list[Row]:
        """The records of a line that is an array of them."""
        rows = []
        at = space(text, start + 1)
        if text.startswith("]", at):
            return []
        while True:
            if not text.startswith("{", at):
                skip(text, start)
                return self._malformed()
            row, at = self._read(text, at)
            rows.append(row)
            at = space(text, at)
            if text.startswith("]", at):
                return rows
            if not text.startswith(",", at):
                raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
            at = space(text, at + 1)

    def _failure(self, number: int, reason: str) -> KernelError:
        number += lines_before(self._path, self._start)
        return not_exact(
            f"Line {number} of '{self._path}' {reason} and is not read as Spark would here."
        )


def _text(line: bytes) -> str:
    """A line as text.

    Raises:
        Uncertain: Jackson may read it otherwise, or not at all.
    """
    if line.startswith(_BOM):
        line = line[len(_BOM) :]
    if b"\0" in line:
        raise Uncertain("a zero byte")
    try:
        text = line.decode()
    except UnicodeDecodeError:
        raise Uncertain("bytes that are no UTF-8") from None
    if len(text) > _LONG:
        _check_long(text)
    return text


def _check_long(text: str) -> None:
    """Jackson has limits: letters of a number, of a name and of a string, depth."""
    if _LONG_NUMBER.search(text):
        raise Uncertain("a number with 1000 letters or more")
    if text.count("{") + text.count("[") > _LONG:
        depth = deepest = 0
        for letter in re.findall(r"[\[{}\]]", text):
            depth += 1 if letter in "[{" else -1
            deepest = max(deepest, depth)
        if deepest >= 500:
            raise Uncertain("a deeply nested value")
    if len(text) > 40_000 and _LONG_NAME.search(text):
        raise Uncertain("a very long name")
    if len(text) > 19_000_000:
        raise Uncertain("very many letters")


def _cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """Whether Jackson cannot reach the end of the record: the brace that closes it is missing."""
    if error.msg.startswith("Unterminated string"):
        return True
    return "}" not in text[error.pos :]
