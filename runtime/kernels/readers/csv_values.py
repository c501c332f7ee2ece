"""Columns of texts as columns of values: UnivocityParser's converters.

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
from ..json.errors import BadValue, Uncertain
from ..json.times import read_timestamp, timestamps
from ..json.values import nearest_float, read_decimal
from .csv_options import CsvOptions
from .csv_tokens import BLANKS
from .time_patterns import reader_of

_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX]")
_SPECIAL = re.compile(r"([+-]?)(NaN|Infinity)")
_ISO = re.compile(r"[yu]{4}-MM-dd(?:(?: |'T')HH:mm:ss(?:\.(S{1,6}))?(XXX)?)?")
_MOST_LETTERS = 1000


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


def converter(kind: Any, options: CsvOptions, zone: str) -> Callable[[Any], Column]:
    """What makes values of an Arrow type of texts, null of null.

    It raises UncertainValue.
    """
    if pa.types.is_string(kind):
        return lambda texts: (texts, None)
    if pa.types.is_binary(kind):
        return lambda texts: (texts.view(kind), None)
    if pa.types.is_boolean(kind):
        return _booleans
    if pa.types.is_integer(kind):
        return _Numbers(kind, "-0123456789", lambda text: _whole(text, kind.bit_width))
    if pa.types.is_floating(kind):
        single = pa.types.is_float32(kind)
        letters = "+-.0123456789eE"
        names = options.nan, options.infinity, options.minus_infinity
        if any(set(name) <= set(letters) for name in names):
            letters = ""  # a name that looks like a number comes first
        return _Numbers(kind, letters, lambda text: _floating(text, options, single))
    if pa.types.is_decimal(kind):
        precision, scale = kind.precision, kind.scale
        return _Numbers(
            kind, "-.0123456789", lambda text: read_decimal(text, "string", precision, scale)
        )
    if pa.types.is_date(kind):
        return _Times(kind, options.date_format, None)
    if kind.tz is None:
        return _Times(kind, options.ntz_format, None)
    return _Times(kind, options.timestamp_format, options.zone or zone)


def _each(texts: Any, kind: Any, read: Callable[[str], Any]) -> Column:
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


class _Numbers:
    """Numbers, of which Arrow reads those of few letters as Java does.

    Args:
        kind: the Arrow type.
        letters: the letters of which all numbers that Arrow reads are read alike.
        read: reads any other.
    """

    def __init__(self, kind: Any, letters: str, read: Callable[[str], Any]) -> None:
        self._kind = kind
        self._known = np.zeros(256, np.bool_)
        self._known[list(letters.encode())] = True
        self._read = read

    def __call__(self, texts: Any) -> Column:
        if self._known[_letters(texts)].all():
            try:
                array = texts.cast(self._kind)
                if not pa.types.is_decimal(self._kind):
                    return array, None
                array.validate(full=True)  # Arrow reads whole numbers with too many digits
                return array, None
            except pa.ArrowException:
                pass
        return _each(texts, self._kind, self._read)


def _letters(texts: Any) -> Any:
    """The bytes of all texts that are not null."""
    _, offsets, data = texts.buffers()
    if data is None:
        return np.empty(0, np.uint8)
    first, last = np.frombuffer(offsets, np.int32)[[texts.offset, texts.offset + len(texts)]]
    return np.frombuffer(data, np.uint8)[first:last]


def _booleans(texts: Any) -> Column:
    true, false = (pc.match_substring_regex(texts, f"(?i)^{word}$") for word in ("true", "false"))
    known = pc.or_(true, false)
    if pc.all(known, min_count=0).as_py():
        return true, None
    odd = pc.fill_null(pc.invert(known), False)
    if pc.any(pc.match_substring(texts.filter(odd), "\u017f")).as_py():
        row = pc.index(odd, True).as_py()
        raise UncertainValue(row, Uncertain("a letter that is an S to some"))
    return pc.if_else(odd, pa.scalar(None, pa.bool_()), true), numbers(odd)


def _whole(text: str, bits: int) -> int:
    """java.lang.Integer.parseInt and its like."""
    if not _WHOLE.fullmatch(text):
        if any(letter.isdecimal() and not letter.isascii() for letter in text):
            raise Uncertain(f"the number '{text}'")  # Java knows digits of other scripts
        raise BadValue
    if len(text) > _MOST_LETTERS:
        raise Uncertain("a number with more than 1000 letters")
    number = int(text)
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise BadValue
    return number


def _floating(text: str, options: CsvOptions, single: bool) -> float:
    """java.lang.Double.parseDouble and Float.parseFloat, and the names that the options give."""
    for name, number in (
        (options.nan, "nan"),
        (options.minus_infinity, "-inf"),
        (options.infinity, "inf"),
    ):
        if text == name:
            return float(number)
    text = text.strip(BLANKS)
    if _NUMBER.fullmatch(text):
        if len(text) > _MOST_LETTERS:
            raise Uncertain("a number with more than 1000 letters")
        text = text.rstrip("dDfF")
        return nearest_float(text) if single else float(text)
    special = _SPECIAL.fullmatch(text)
    if special:
        return float(special[0])
    if _HEXADECIMAL.match(text):
        raise Uncertain(f"the number '{text}'")
    raise BadValue


class _Times:
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
        array, bad = _each(texts, pa.int32() if self._is_date else pa.int64(), self._read)
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

    def _read(self, text: str) -> int:
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
