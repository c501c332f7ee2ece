"""Readers of JSON values, one by one: JacksonParser.makeConverter with a given schema.

A reader takes the text of a line and a position, at which a value begins, and returns the value
(as Arrow takes it) and the position behind it.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa

from .copies import written_anew
from .errors import BadValue, Partial, Uncertain
from .quotes import Requoted
from .time_columns import time_reader
from .times import TimeTexts

Reader = Callable[[str, int], tuple[Any, int]]

_decode = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode
_SPACE = re.compile(r"[ \t\n\r]*")
_BETWEEN = re.compile(r"[ \t\n\r]*([,}\]])[ \t\n\r]*")
_PLAIN_KEY = re.compile(r'"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_NOT_A_NUMBER = re.compile(r"NaN|-?Infinity")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPECIAL = {
    "NaN": float("nan"),
    **dict.fromkeys(("+INF", "+Infinity", "Infinity"), float("inf")),
    **dict.fromkeys(("-INF", "-Infinity"), float("-inf")),
}
_NEAR_THE_END = 3.4e38
_HALF_A_STEP_BEYOND = Decimal(2**128 - 2**103)
"""From here on a number is no float any more: half a step above the largest."""
_WIDE = Context(prec=2200)
_LONGEST_NUMBER = 1000
"""Jackson reads no number with more letters."""


def skip(text: str, start: int) -> int:
    """The position behind a value."""
    return _decode(text, start)[1]


def space(text: str, start: int) -> int:
    """The position of the next letter that is no blank."""
    found = _SPACE.match(text, start)
    return found.end() if found else start


def read_otherwise(text: str, error: json.JSONDecodeError) -> bool:
    """Whether Jackson may find no syntax error: it knows quotes and infinities that are no JSON."""
    return "'" in text or text.startswith(("+", "-", "I", "N"), error.pos)


def written(text: str) -> str:
    """A string as Java writes it in UTF-8: half a pair of surrogates is a question mark."""
    return text if text.isascii() else _SURROGATE.sub("?", text)


def reader_of(
    kind: Any, times: TimeTexts, partial: Partial, *, copied: bool = False, by_path: bool = False
) -> Reader:
    """The reader of values of an Arrow type; `copied` and `by_path`: see `struct_reader`."""
    if pa.types.is_struct(kind):
        return struct_reader(list(kind), times, partial, copied=copied, by_path=by_path)
    if pa.types.is_list(kind):
        element = reader_of(kind.value_type, times, partial, copied=copied, by_path=by_path)
        return _list_reader(element, by_path)
    if pa.types.is_map(kind):
        return _map_reader(reader_of(kind.item_type, times, partial, copied=copied))
    if pa.types.is_string(kind):
        return _copy_string if copied else _read_string
    return _scalar_reader(_converter(kind, times))


# ------------------------------------------------------------------------------------- with parts


def _null(text: str, start: int) -> bool:
    return text.startswith("null", start)


def _next(text: str, at: int, close: str) -> tuple[int, int]:
    """Where the next member of an object or array begins, or -1 and the position behind it."""
    found = _BETWEEN.match(text, at)
    if found is None or (found[1] != close and found[1] != ","):
        raise json.JSONDecodeError("Expecting ',' delimiter", text, space(text, at))
    return (-1, found.end(1)) if found[1] == close else (found.end(), 0)


def _first(text: str, start: int, close: str) -> tuple[int, int]:
    """Where the first member of an object or array begins; -1 and the end: it is empty."""
    at = space(text, start + 1)
    return (-1, at + 1) if text.startswith(close, at) else (at, 0)


def _key(text: str, at: int) -> tuple[str, int]:
    """A field's name, and where its value begins."""
    found = _PLAIN_KEY.match(text, at)
    if found is not None:
        return found[1], found.end()
    if not text.startswith('"', at):
        raise json.JSONDecodeError("Expecting property name", text, at)
    name, at = _decode(text, at)
    at = space(text, at)
    if not text.startswith(":", at):
        raise json.JSONDecodeError("Expecting ':' delimiter", text, at)
    return name, space(text, at + 1)


def struct_reader(
    fields: list[Any],
    times: TimeTexts,
    partial: Partial,
    passes: Callable[[int, list[Any]], bool] | None = None,
    *,
    copied: bool = False,
    by_path: bool = False,
) -> Reader:
    """The reader of objects: the last value of a name counts, a bad one is as none.

    Args:
        fields: the Arrow fields.
        times: how strings are read as dates and times.
        partial: takes note of what is odd.
        copied: whether a string is written anew of a value that is none, as from_json does; the
            readers of files take its text as it stands.
        by_path: whether a list's element of another type is null, not the list.
        passes: is asked, with a field's place and the values so far, behind each value that could
            be read. If it says no the object is None, and its end is not looked for.
    """
    readers = {
        field.name: (
            place,
            reader_of(field.type, times, partial, copied=copied, by_path=by_path),
        )
        for place, field in enumerate(fields)
    }
    count = len(fields)

    def read(text: str, start: int) -> tuple[Any, int]:
        if not text.startswith("{", start):
            return _no_parts(text, start)
        row: list[Any] = [None] * count
        seen = 0
        at, end = _first(text, start, "}")
        while at >= 0:
            name, at = _key(text, at)
            known = readers.get(name)
            if known is None:
                at = skip(text, at)
            else:
                place, reader = known
                if seen >> place & 1:
                    partial.repeated = True
                seen |= 1 << place
                try:
                    row[place], at = reader(text, at)
                except BadValue as error:
                    partial.malformed(name, error)
                    partial.broken_value = text.startswith('"', at)
                    at = skip(text, at)
                    partial.broken_value = False
                except json.JSONDecodeError:
                    partial.broken_value |= text.startswith(('"', "[", "{"), at)
                    raise
                else:
                    if passes is not None and not passes(place, row):
                        return None, at
            at, end = _next(text, at, "}")
        return tuple(row), end

    return read


def _list_reader(element: Reader, by_path: bool) -> Reader:
    def read(text: str, start: int) -> tuple[Any, int]:
        if not text.startswith("[", start):
            return _no_parts(text, start)
        values = []
        at, end = _first(text, start, "]")
        while at >= 0:
            try:
                value, at = element(text, at)
            except BadValue as error:
                if not by_path:
                    raise BadValue(error.token, error.target, in_array=True) from None
                value, at = None, skip(text, at)
            values.append(value)
            at, end = _next(text, at, "]")
        return values, end

    return read


def _map_reader(item: Reader) -> Reader:
    def read(text: str, start: int) -> tuple[Any, int]:
        if not text.startswith("{", start):
            return _no_parts(text, start)
        pairs: dict[str, Any] = {}
        at, end = _first(text, start, "}")
        while at >= 0:
            name, at = _key(text, at)
            try:
                value, at = item(text, at)
            except BadValue:
                raise BadValue from None  # Spark loses what it was
            if written(name) in pairs:
                raise Uncertain(f"the key '{name}' that stands twice in a map")
            pairs[written(name)] = value
            at, end = _next(text, at, "}")
        return list(pairs.items()), end

    return read


def _no_parts(text: str, start: int) -> tuple[None, int]:
    """Of null where an object or array is expected."""
    if not _null(text, start):
        raise BadValue
    return None, start + 4


# ---------------------------------------------------------------------------------- without parts


def _read_string(text: str, start: int) -> tuple[Any, int]:
    """A string; the exact text of all that is none."""
    if text.startswith('"', start):
        value, end = _decode(text, start)
        return written(value), end
    if _null(text, start):
        return None, start + 4
    end = skip(text, start)
    return text.as_it_was(start, end) if isinstance(text, Requoted) else text[start:end], end


def _copy_string(text: str, start: int) -> tuple[Any, int]:
    """A string; all that is none as Jackson writes it."""
    if text.startswith('"', start) or _null(text, start):
        return _read_string(text, start)
    end = skip(text, start)
    return written_anew(text[start:end]), end


def _scalar_reader(convert: Callable[[str, str], Any]) -> Reader:
    """The reader of a value without parts.

    Args:
        convert: makes a value of a text and the sort of its token: `string`, `int`, `float` or
            `boolean`.
    """

    def read(text: str, start: int) -> tuple[Any, int]:
        if text.startswith('"', start):
            token, end = _decode(text, start)
            if not token:
                return _empty(convert), end
            return convert(token, "string"), end
        found = _NUMBER.match(text, start)
        if found is not None:
            token, end = found[0], found.end()
            if len(token) > _LONGEST_NUMBER:
                raise Uncertain("a number with more than 1000 letters")
            return convert(token, "float" if found[2] or found[3] else "int"), end
        if _null(text, start):
            return None, start + 4
        for word in ("true", "false"):
            if text.startswith(word, start):
                return convert(word, "boolean"), start + len(word)
        found = _NOT_A_NUMBER.match(text, start)
        if found is not None:
            return convert(found[0], "float"), found.end()
        raise BadValue  # an object, an array, or no JSON, which who skips it finds out

    return read


def _empty(convert: Callable[[str, str], Any]) -> bytes:
    """Of an empty string: only binary values can be empty."""
    if convert is not _binary:
        raise BadValue
    return b""


def _converter(kind: Any, times: TimeTexts) -> Callable[[str, str], Any]:
    if pa.types.is_boolean(kind):
        return _boolean
    if pa.types.is_integer(kind):
        return lambda token, sort: _whole(token, sort, kind.bit_width)
    if pa.types.is_float32(kind):
        return lambda token, sort: _float(token, sort, single=True)
    if pa.types.is_float64(kind):
        return lambda token, sort: _float(token, sort, single=False)
    if pa.types.is_decimal(kind):
        return lambda token, sort: read_decimal(token, sort, kind.precision, kind.scale)
    if pa.types.is_binary(kind):
        return _binary
    read = time_reader(kind, times)
    if kind.bit_width == 64 and kind.tz is not None:
        return lambda token, sort: _timestamp(token, sort, read)
    return lambda token, sort: _time(token, sort, read)


def _boolean(token: str, sort: str) -> bool:
    if sort != "boolean":
        raise BadValue
    return token == "true"


def _whole(token: str, sort: str, bits: int) -> int:
    if sort != "int":
        raise BadValue
    number = int(token)
    # Jackson takes a byte for one without a sign too.
    most = 256 if bits == 8 else 1 << bits - 1
    if not -(1 << bits - 1) <= number < most:
        raise BadValue
    return number - 256 if bits == 8 and number > 127 else number


def _float(token: str, sort: str, *, single: bool) -> float:
    if sort == "string" or token in _SPECIAL:
        if token not in _SPECIAL:
            raise BadValue(token, "FloatType" if single else "DoubleType")
        return _SPECIAL[token]
    if sort == "boolean":
        raise BadValue
    if sort == "int" and token == "-0":
        return 0.0
    number = float(token)
    if not single:
        return number
    return nearest_float(token)


def nearest_float(text: str) -> float:
    """The 32-bit number that is nearest to one in decimal digits, as Java's Float.parseFloat."""
    number = float(text)
    if abs(number) >= _NEAR_THE_END and Decimal(text).copy_abs() >= _HALF_A_STEP_BEYOND:
        return float("inf") if number > 0 else float("-inf")
    # By way of a double it would be rounded twice.
    return float(pa.scalar(text).cast(pa.float32()).as_py())


def read_decimal(token: str, sort: str, precision: int, scale: int) -> Decimal:
    """A decimal of a JSON token, or of a string as both CSV and JSON have it."""
    if sort == "boolean" or token in _SPECIAL:
        raise BadValue
    if sort == "string":
        if any(letter.isdecimal() and not letter.isascii() for letter in token):
            raise Uncertain(f"the decimal '{token}'")  # Java knows digits of other scripts
        token = token.replace(",", "")
        if not _DECIMAL.fullmatch(token):
            raise BadValue
    number = Decimal(token)
    if abs(number.adjusted()) > 1000 or len(token) > _LONGEST_NUMBER:
        raise Uncertain(f"the decimal '{token}'")
    rounded = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _WIDE)
    # `abs` would round to 28 digits.
    if rounded.copy_abs() >= Decimal(10) ** (precision - scale):
        raise BadValue
    return rounded


def _binary(token: str, sort: str) -> bytes:
    if sort != "string":
        raise BadValue
    if not _BASE64.fullmatch(token):
        raise Uncertain("a binary value that is no plain base64")
    return base64.b64decode(token)


def _time(token: str, sort: str, read: Callable[[str], int]) -> int:
    if sort != "string":
        raise BadValue
    return read(token)


def _timestamp(token: str, sort: str, read: Callable[[str], int]) -> int:
    if sort == "string":
        return read(token)
    micros = _whole(token, sort, 64) * 1_000_000
    return (micros + (1 << 63)) % (1 << 64) - (1 << 63)  # Java's product wraps around
