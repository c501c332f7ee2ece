"""`CAST` of strings and to strings: common forms as whole columns, all others one by one."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.decimals import unscaled_words
from ...columns.distinct import each
from ...columns.texts import concatenated
from ...errors import KernelError, not_exact
from ..programs.program import Step, decimal_of
from ..values import messages
from ..values.dates import SPACES, days_of, read_date, shown_date
from ..values.division import rest_of
from ..values.java_numbers import shown_floats
from ..values.vectors import made, nulled, numbers, plain_type
from ..values.zones import DAY, MICROS, zone_of
from .cast_decimals import LONG, rounded_decimals, rounding

_PLAIN = {
    "tinyint": (r"^-?[0-9]{1,2}$", pa.int8()),
    "smallint": (r"^-?[0-9]{1,4}$", pa.int16()),
    "int": (r"^-?[0-9]{1,9}$", pa.int32()),
    "bigint": (r"^-?[0-9]{1,18}$", pa.int64()),
    "double": (r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$", pa.float64()),
    "date": (r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", pa.int32()),
    "float": (r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$", pa.float32()),
}
_LONG_DECIMAL = r"^-?[0-9]{1,37}(\.[0-9]{1,38})?$"
_NEVER = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), r"[!-*,/:-~]"),
    **dict.fromkeys(("double", "float"), r"[!-*,/:-@GHJ-MOQ-SU-WZ\[-`ghj-moq-su-wz-~]"),
    "decimal": r"[!-*,/:-DF-df-~]",
    "date": r"^[^0-9+-]",
}
"""What is in no ASCII text of a type's values."""
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_TRUE = ("t", "true", "y", "yes", "1")
_FALSE = ("f", "false", "n", "no", "0")
_WHOLE = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?")
_HEX = re.compile(r"([+-]?)0[xX]([0-9a-fA-F]*)(?:\.([0-9a-fA-F]*))?[pP]([+-]?[0-9]+)[dDfF]?")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_JAVA_SPACES = "".join(map(chr, range(33)))
_SPECIAL = re.compile(r"([+-]?)(inf|infinity)", re.IGNORECASE)


class Malformed(ValueError):
    """A string is no value of the type."""


def from_string(step: Step, value: Any) -> Any:
    """A column of strings as another type."""
    kind = str(step.kind)
    if kind == "binary":
        return value.view(pa.binary())
    if decimal_of(kind):
        return _decimals(step, value)
    if kind == "boolean":
        return _booleans(step, value)
    reader = _reader(kind, step)
    if kind == "date":
        found, plain = _plain_dates(value, pc.match_substring_regex(value, _PLAIN[kind][0]))
        others = pc.invert(pc.fill_null(plain, True))
    else:
        found, others = _plain(value, *_PLAIN[kind])
    if not others.true_count:
        return found
    return pc.replace_with_mask(found, others, _others(step, value.filter(others), reader))


def _booleans(step: Step, value: Any) -> Any:
    words = pc.utf8_lower(pc.utf8_trim(value, characters=SPACES))
    place = pc.index_in(words, pa.array([*_TRUE, *_FALSE]))
    bad = pc.and_(place.is_null(), value.is_valid())
    if bad.true_count and step.mode == "ANSI":
        raise messages.cast_invalid(step, value.filter(bad)[0].as_py())
    return pc.less(place, len(_TRUE))


def _plain(value: Any, pattern: str, wanted: Any) -> tuple[Any, Any]:
    """The values of strings that match a pattern, null for the others, and which those are.

    Args:
        value: the strings.
        pattern: a regular expression; strings that match it mean the same to Arrow and to Spark.
        wanted: the Arrow type of the values.
    """
    plain = pc.match_substring_regex(value, pattern)
    others = pc.invert(pc.fill_null(plain, True))
    if others.true_count:
        value = pc.if_else(plain, value, pa.scalar(None, pa.string()))
    return value.cast(wanted), others


def _decimals(step: Step, value: Any) -> Any:
    """Strings as decimals: rounded half up to the scale; what then does not fit is an error."""
    precision, scale = decimal_of(step.kind) or (0, 0)
    digits = precision - scale
    fraction = rf"(\.[0-9]{{1,{scale}}})?" if scale else ""
    pattern = rf"^-?[0-9]{{1,{digits}}}{fraction}$" if digits else "^a^"
    wanted = plain_type(step.kind)
    found, others = _plain(value, pattern, wanted)
    if not others.true_count:
        return found
    rounded = rounding(step)

    def read(text: str) -> Decimal | None:
        number = text.strip(_JAVA_SPACES)
        if any(sign.isdecimal() and not sign.isascii() for sign in number):
            raise _not_cast("A string with digits beyond ASCII", "to a decimal")
        if not _DECIMAL.fullmatch(number):
            raise Malformed(text)
        exact = Decimal(number)
        if abs(exact.adjusted()) > 1000:
            raise _not_cast("A string with a very long number", "to a decimal")
        return rounded(exact)

    return pc.replace_with_mask(found, others, _others(step, value.filter(others), read))


def _others(step: Step, value: Any, reader: Callable[[str], Any]) -> Any:
    """Strings that are not plain: without the spaces and the plus around them, else one by one."""
    wanted, known = plain_type(step.kind), decimal_of(step.kind)
    family = "decimal" if known else str(step.kind)
    trimmed = pc.utf8_trim(value, characters=_JAVA_SPACES if known else SPACES)
    if known:
        found, left = _plain(_without_plus(trimmed), _LONG_DECIMAL, LONG)
        found, fits = rounded_decimals(found, *known)
        found, left = found.cast(wanted), pc.or_(left, pa.array(~fits))
    elif family == "date":
        found, left = pa.nulls(len(value), wanted), pa.repeat(True, len(value))
    else:
        if family in _BITS and step.mode == "LEGACY":  # a fraction is cut off
            trimmed = pc.replace_substring_regex(trimmed, r"^([+-]?[0-9]+)\.[0-9]*$", r"\1")
        found, left = _plain(_without_plus(trimmed), *_PLAIN[family])
    if step.mode != "ANSI":
        hopeless = pc.match_substring_regex(trimmed, _NEVER[family])
        left = pc.and_not(left, pc.and_(hopeless, pc.string_is_ascii(trimmed)))
    if not left.true_count:
        return found
    return pc.replace_with_mask(found, left, _each(step, value.filter(left), reader))


def _without_plus(text: Any) -> Any:
    return pc.replace_substring_regex(text, r"^\+([0-9])", r"\1")


def _plain_dates(value: Any, plain: Any) -> tuple[Any, Any]:
    """`2024-01-02` as days, and which strings are such a day."""
    text = pc.if_else(plain, value, "1970-01-01")
    parts = [
        numbers(pc.utf8_slice_codeunits(text, start, stop).cast(pa.int64()))
        for start, stop in ((0, 4), (5, 7), (8, 10))
    ]
    days, fits = days_of(*parts)
    return made(days, value), pc.and_(plain, pa.array(fits))


def _text_of_bytes(value: Any) -> Any:
    try:
        return value.cast(pa.string())
    except pa.ArrowInvalid:
        raise _not_cast("Bytes that are no UTF-8", "to STRING") from None


def _not_cast(what: str, target: str) -> KernelError:
    """A value that Spark casts and the embedded engine does not."""
    return not_exact(f"{what} cannot be cast {target} here as Spark does it.", of_rows=True)


def to_string(step: Step, value: Any) -> Any:
    """A column of booleans, numbers, decimals, bytes, dates, times or intervals as strings."""
    source = step.kinds[0]
    if source == "binary":
        return _text_of_bytes(value)
    if source in ("float", "double"):
        return shown_floats(value)
    if isinstance(source, str) and (decimal := decimal_of(source)):
        return _shown_decimals(value, *decimal, exponents=step.mode == "LEGACY")
    if source == "daytime":
        return _shown_intervals(value)
    if source not in ("date", "timestamp", "timestamp_ntz"):
        return value.cast(pa.string())
    data = numbers(value)
    if source == "date":
        return nulled(shown_days(data.astype(np.int64)), value)
    local = zone_of(step.zone).local(data) if source == "timestamp" else data
    return nulled(_with_time_of_day(shown_days(local // DAY), local), value)


def _with_time_of_day(days: Any, micros: Any) -> Any:
    """Texts, and behind each the hours, minutes and seconds of some microseconds."""
    seconds = _clock().take(pa.array((rest_of(micros, DAY) // MICROS).astype(np.int64)))
    text = concatenated(days, " ", seconds)
    rest = rest_of(micros, MICROS).astype(np.int64)
    if not rest.any():
        return text
    # Seven digits of which the first is 1, so that zeros in front stay.
    digits = pc.utf8_slice_codeunits(made(rest + MICROS).cast(pa.string()), 1)
    fraction = pc.utf8_rtrim(concatenated(".", digits), characters="0")
    fraction = pc.utf8_rtrim(fraction, characters=".")
    return concatenated(text, fraction)


def _shown_intervals(value: Any) -> Any:
    """`INTERVAL '-1 02:03:04.5' DAY TO SECOND`."""
    data = numbers(value)
    size = np.abs(data).view(np.uint64)  # of the least number, too
    days = pa.array(size // np.uint64(DAY)).cast(pa.string())
    signed = concatenated(pc.if_else(pa.array(data < 0), "-", ""), days)
    text = _with_time_of_day(signed, size)
    return nulled(concatenated("INTERVAL '", text, "' DAY TO SECOND"), value)


def _shown_decimals(value: Any, precision: int, scale: int, *, exponents: bool) -> Any:
    """Decimals with all places behind the point; without ANSI the least have an exponent."""
    if precision > 18 or (exponents and scale > 6):
        text = value.cast(pa.string())
        small = pc.match_substring(text, "E").fill_null(False)
        if not small.true_count:
            return text
        shown = str if exponents else "{:f}".format
        return pc.replace_with_mask(text, small, each(value.filter(small), shown, pa.string()))
    words = unscaled_words(value)
    digits = pa.array(np.abs(words)).cast(pa.string())
    if scale:
        digits = pc.utf8_lpad(digits, scale + 1, padding="0")
        whole, places = (pc.utf8_slice_codeunits(digits, *b) for b in ((0, -scale), (-scale,)))
        digits = concatenated(whole, ".", places)
    signs = pc.if_else(pa.array(words < 0), "-", "")
    return nulled(concatenated(signs, digits), value)


@cache
def _clock() -> Any:
    """All seconds of a day as `10:11:12`."""
    seconds = pa.array(range(86_400), pa.int32())
    return seconds.cast(pa.time32("s")).cast(pa.string())


_YEAR_0, _YEAR_10000 = -719_528, 2_932_897
"""The first days of these years, between which they have four digits."""


def shown_days(days: Any) -> Any:
    """Days since 1970 as `2024-01-02`."""
    low, high = (int(days.min()), int(days.max())) if days.size else (0, 0)
    if high - low < days.size // 2:  # fewer days than rows: each once
        return shown_days(np.arange(low, high + 1)).take(pa.array(days - low))
    far = (days < _YEAR_0) | (days >= _YEAR_10000)
    near = made(np.where(far, 0, days).astype(np.int32)).view(pa.date32()).cast(pa.string())
    if not far.any():
        return near
    shown = pa.array([shown_date(int(day)) for day in days[far]], pa.string())
    return pc.replace_with_mask(near, pa.array(far), shown)


def _each(step: Step, value: Any, reader: Callable[[str], Any]) -> Any:
    def read(text: str) -> Any:
        try:
            return reader(text)
        except ValueError:
            if step.mode == "ANSI":
                raise messages.cast_invalid(step, text) from None
            return None

    return each(value, read, plain_type(step.kind))


def _reader(kind: str, step: Step) -> Callable[[str], Any]:
    lenient = step.mode == "LEGACY"
    if kind in _BITS:
        return lambda text: _whole(text, _BITS[kind], lenient=lenient)
    if kind in ("double", "float"):
        return lambda text: _float(text, single=kind == "float")
    return read_date


def _whole(text: str, bits: int, *, lenient: bool) -> int:
    """UTF8String.toLong and toInt (a fraction is cut off), toLongExact (there is none)."""
    text = text.strip(SPACES)
    found = _WHOLE.fullmatch(text)
    if found is None or not text or text in "+-":
        raise Malformed(text)
    sign, digits, fraction = found.groups()
    if (fraction is not None or not digits) and not lenient:
        raise Malformed(text)
    number = int(digits or "0") * (-1 if sign == "-" else 1)
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise Malformed(text)
    return number


def _float(text: str, *, single: bool) -> float:
    """Java's Double.parseDouble, and the names of infinities in any case."""
    text = text.strip(SPACES)
    if _NUMBER.fullmatch(text):
        number = text.rstrip("dDfF")
        with np.errstate(over="ignore"):
            return float(np.float32(number)) if single else float(number)
    special = _SPECIAL.fullmatch(text)
    if special:
        return float("-inf" if special[1] == "-" else "inf")
    if text.lower() == "nan" or text in ("+NaN", "-NaN"):
        return float("nan")
    if _HEX.fullmatch(text):
        return float.fromhex(text.rstrip("dDfF"))
    raise Malformed(text)
