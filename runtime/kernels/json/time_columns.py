"""Columns of texts as dates and times, in a format or in the forms that Spark's casts take.

Texts in plain forms are converted as a whole; each other text is read once, however often it
stands in the column.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..expressions.conversions.cast_strings import from_string
from ..expressions.programs.program import Step
from ..expressions.values.dates import read_date
from ..expressions.values.vectors import numbers
from ..expressions.values.zones import DAY, zone_of
from .errors import BadValue, Uncertain
from .time_patterns import reader_of
from .times import TimeTexts, read_day, read_timestamp, timestamps

_ISO = re.compile(r"[yu]{4}-MM-dd(?:(?: |'T')HH:mm:ss(?:\.(S{1,6}))?(XXX)?)?")


class UncertainValue(Exception):
    """It is not certain what Spark makes of a value.

    Args:
        row: the value's place in its column.
        error: what it is.
    """

    def __init__(self, row: int, error: Uncertain) -> None:
        super().__init__(row, error)
        self.row = row
        self.error = error


Column = tuple[Any, Any]
"""An array, and where (a boolean numpy array) a text is no value of the type; None: nowhere."""


def read_each(texts: Any, kind: Any, read: Callable[[str], Any]) -> Column:
    """The values of texts, each read once."""
    coded = texts.dictionary_encode()
    values, bad = [], []
    for place, text in enumerate(coded.dictionary.to_pylist()):
        value = None
        try:
            value = read(text)
        except BadValue:
            bad.append(place)
        except Uncertain as error:
            row = pc.index(coded.indices, place).as_py()
            raise UncertainValue(row, error) from None
        values.append(value)
    array = pa.array(values, kind).take(coded.indices)
    if not bad:
        return array, None
    return array, np.isin(numbers(coded.indices.fill_null(-1)), bad)


class TimeColumn:
    """Dates and timestamps.

    Args:
        kind: the Arrow type.
        pattern: how they are written; None: in the forms that Spark's casts take.
        zone: the time zone of timestamps; None: they have none, or are dates.
    """

    def __init__(self, kind: Any, pattern: str | None, zone: str | None) -> None:
        self._kind = kind
        self._zone = zone
        self._is_date = pa.types.is_date(kind)
        self._plain = self._regular = None
        if pattern is not None:
            self._by_pattern = reader_of(pattern)
            self._plain = _ISO.fullmatch(pattern)
        self._pattern = pattern
        if self._plain is not None:
            fraction, offset = self._plain.groups()
            parts = [r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"]
            if "HH" in self._plain[0]:
                parts.append(
                    rf"{'T' if 'T' in self._plain[0] else ' '}[0-9]{{2}}(:[0-9]{{2}}){{2}}"
                )
            parts.append(rf"\.[0-9]{{1,{len(fraction)}}}" if fraction else "")
            parts.append("[+-][0-9]{2}:[0-9]{2}" if offset else "")
            self._regular = "".join(parts) + "$"

    def __call__(self, texts: Any) -> Column:
        found = self._whole(texts)
        if found is not None:
            return found.view(self._kind), None
        array, bad = read_each(texts, pa.int32() if self._is_date else pa.int64(), self.read)
        return array.view(self._kind), bad

    def _whole(self, texts: Any) -> Any:
        """The values, if all are in plain forms."""
        if self._pattern is not None and (
            self._regular is None
            or not pc.all(pc.match_substring_regex(texts, self._regular), min_count=0).as_py()
        ):
            return None
        if self._is_date:
            days = from_string(Step("cast", (), "date", ("string",), mode="TRY"), texts)
            return days if days.null_count == texts.null_count else None
        try:
            return timestamps(texts, self._zone)
        except (BadValue, Uncertain):
            return None

    def read(self, text: str) -> int:
        """A text's days or microseconds since 1970.

        Raises:
            BadValue: it is none.
            Uncertain: it is not certain what Spark makes of it.
        """
        if self._pattern is not None:
            return self._moment(*self._by_pattern(text))
        if "GMT" in text:
            raise Uncertain(f"the time '{text}'")
        if not self._is_date:
            return read_timestamp(text, self._zone)
        try:
            days = read_date(text)
        except ValueError:
            raise BadValue from None
        if not -(1 << 31) <= days < 1 << 31:
            raise Uncertain(f"the date '{text}'")
        return days

    def _moment(self, local: int, offset: int | None) -> int:
        if self._is_date:
            return local // DAY
        if offset is not None:
            return local - offset * 1_000_000
        if self._zone is None:
            return local
        return int(zone_of(self._zone).utc(np.int64(local)))


def time_reader(kind: Any, times: TimeTexts) -> Callable[[str], int]:
    """The function that reads a string in JSON as a date or timestamp; see `TimeColumn.read`."""
    zone, pattern = times.zone_of(kind), times.pattern(kind)
    if pattern is not None:
        return TimeColumn(kind, pattern, zone).read
    return read_day if pa.types.is_date(kind) else lambda text: read_timestamp(text, zone)
