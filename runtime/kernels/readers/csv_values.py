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

from ..expressions.values.vectors import numbers
from ..json.errors import BadValue, Uncertain
from ..json.time_columns import Column, TimeColumn, UncertainValue, read_each
from ..json.values import nearest_float, read_decimal
from .csv_options import CsvOptions
from .csv_tokens import BLANKS

_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX]")
_SPECIAL = re.compile(r"([+-]?)(NaN|Infinity)")
_MOST_LETTERS = 1000


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
        return TimeColumn(kind, options.date_format, None)
    if kind.tz is None:
        return TimeColumn(kind, options.ntz_format, None)
    return TimeColumn(kind, options.timestamp_format, options.zone or zone)


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
        return read_each(texts, self._kind, self._read)


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
