"""`CAST` between numbers, booleans, strings, dates and times."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.distinct import each
from ...columns.lists import elements_of
from ...columns.texts import concatenated
from ..programs.program import Kind, Step, decimal_of
from ..values import messages
from ..values.java_numbers import java_double, wrapped
from ..values.lists_and_maps import lists, maps
from ..values.saturation import saturated
from ..values.vectors import (
    first_where,
    made,
    null_where,
    nulled,
    numbers,
    plain_type,
    unscaled_words,
)
from ..values.zones import DAY, MICROS, MOST_DAYS, zone_of
from .cast_strings import from_string, rounding, to_string

_WHOLE: dict[str, Any] = {
    "tinyint": np.int8,
    "smallint": np.int16,
    "int": np.int32,
    "bigint": np.int64,
}
_FLOATS: dict[str, Any] = {"float": np.float32, "double": np.float64}


def cast(step: Step, value: Any) -> Any:
    """`CAST(value AS type)`."""
    source, target = step.kinds[0], step.kind
    if source == target:
        return value
    if source == "void":
        return pa.nulls(len(value), plain_type(target))
    if isinstance(source, tuple):
        return (
            _nested(step, value) if isinstance(target, tuple) else _nested_text(step, value, source)
        )
    if source == "string":
        return from_string(step, value)
    if target == "string":
        return to_string(step, value)
    if source in ("date", "timestamp", "timestamp_ntz"):
        return _from_time(step, value)
    if target == "timestamp":
        return _seconds_to_micros(value)
    if decimal_of(source):
        return _from_decimal(step, value)
    if decimal_of(target):
        return (_float_to_decimal if source in _FLOATS else _to_decimal)(step, value)
    if target == "boolean":
        return made(numbers(value) != 0, value)
    if source == "boolean":
        return value.cast(plain_type("tinyint")).cast(plain_type(target))
    if target in _FLOATS:
        with np.errstate(over="ignore", invalid="ignore"):
            return made(numbers(value).astype(_FLOATS[str(target)]), value)
    return _to_whole(step, value)


def _nested(step: Step, value: Any) -> Any:
    """Arrays, maps and structs with other types of values: each value is cast."""
    (source,), target = step.kinds, step.kind
    assert isinstance(source, tuple) and isinstance(target, tuple)
    pairs = list(zip(source[2], target[2], strict=True))
    steps = [replace(step, kinds=(one,), kind=other) for one, other in pairs]
    if target[0] == "struct":
        fields = list(plain_type(target))
        parts = list(map(cast, steps, value.flatten()))
        nulls = value.is_null() if value.null_count else None
        return pa.StructArray.from_arrays(parts, fields=fields, mask=nulls)
    items, lengths = elements_of(value)
    if target[0] == "array":
        return lists(target, cast(steps[0], items), lengths, value)
    found = cast(steps[1], items.field(1))
    return maps(target, items.field(0), found, lengths, value)


def _nested_text(step: Step, value: Any, kind: Kind) -> Any:
    """Structs, arrays and maps as strings: `{1, a}`, `[1, null]`, `{a -> 1}`."""
    if not isinstance(kind, tuple):
        return cast(replace(step, kinds=(kind,)), value)
    family, _, kinds = kind
    if family == "struct":
        parts = [
            _nested_text(step, own, part).fill_null("null")
            for own, part in zip(value.flatten(), kinds, strict=True)
        ]
        inner = concatenated(*parts, between=", ")
    else:
        columns = [value.keys, value.items] if family == "map" else [value.values]
        texts = [
            _nested_text(step, column, part).fill_null("null")
            for column, part in zip(columns, kinds, strict=True)
        ]
        entries = concatenated(*texts, between=" -> ")
        inner = pc.binary_join(pa.ListArray.from_arrays(value.offsets, entries), ", ")
    begin, end = "[]" if family == "array" else "{}"
    return nulled(concatenated(begin, inner, end), value)


def _to_whole(step: Step, value: Any) -> Any:
    kind = _WHOLE[str(step.kind)]
    data = numbers(value)
    if step.mode == "LEGACY":
        if step.kinds[0] in _FLOATS:
            # Java goes by way of int to the shorter types.
            wide = np.int64 if kind is np.int64 else np.int32
            return made(saturated(data, wide).astype(kind), value)
        return made(data.astype(kind), value)
    limits = np.iinfo(kind)
    if step.kinds[0] in _FLOATS:
        with np.errstate(invalid="ignore"):
            wide = data.astype(np.float64)
            fits = (np.floor(wide) <= float(limits.max)) & (np.ceil(wide) >= float(limits.min))
        result = made(saturated(data, kind), value)
    else:
        if limits.max >= np.iinfo(data.dtype).max:
            return made(data.astype(kind), value)
        fits = (data >= limits.min) & (data <= limits.max)
        result = made(data.astype(kind), value)
    return _checked(step, value, result, ~fits)


def _checked(step: Step, value: Any, result: Any, bad: Any) -> Any:
    """A result, null where it is bad; an error in ANSI mode."""
    if not bad.any():
        return result
    if step.mode == "ANSI":
        raise messages.cast_overflow(step, first_where(value, bad))
    return null_where(result, bad)


# ------------------------------------------------------------------------------------- decimals


def _to_decimal(step: Step, value: Any) -> Any:
    """Of booleans and whole numbers."""
    precision, scale = decimal_of(step.kind) or (0, 0)
    wanted = plain_type(step.kind)
    if step.kinds[0] == "boolean":
        value = value.cast(pa.int8())
    limit = 10 ** (precision - scale)
    data = numbers(value)
    bad = np.zeros(len(data), bool)
    if limit <= np.iinfo(data.dtype).max:
        bad = (data >= limit) | (data <= -limit)
    if bad.any():
        if step.mode == "ANSI":
            number = first_where(value, bad)
            raise messages.does_not_fit_decimal(step, Decimal(number))
        value = null_where(value, bad)
    return (
        value.cast(pa.int64()).cast(pa.decimal128(19, 0)).cast(wanted, safe=False)
        if (precision - scale < 19)
        else value.cast(pa.int64()).cast(wanted)
    )


def _float_to_decimal(step: Step, value: Any) -> Any:
    """Of the shortest digits that tell a double from others; null of what is no number."""
    rounded = rounding(step)

    def found(number: float) -> Decimal | None:
        if not isfinite(number):
            return None
        # Java shows whole numbers from 10 millions on without a zero behind the point.
        mantissa, mark, exponent = java_double(number).partition("E")
        return rounded(Decimal(mantissa.removesuffix(".0" if mark else "") + mark + exponent))

    return each(value.cast(pa.float64()), found, plain_type(step.kind))


def _from_decimal(step: Step, value: Any) -> Any:
    target = step.kind
    precision, scale = decimal_of(step.kinds[0]) or (0, 0)
    if target == "boolean":
        return pc.not_equal(value, pa.scalar(Decimal(0), value.type))
    if decimal_of(target):
        return _decimal_to_decimal(step, value)
    if target == "double":
        if precision <= 15:  # two exact doubles: their quotient is rounded once
            return made(unscaled_words(value) / 10.0**scale, value)
        return each(value, float, plain_type(target))
    kind = _WHOLE[str(target)]
    limits = np.iinfo(kind)
    whole = pc.round(value, ndigits=0, round_mode="towards_zero")
    if precision - scale <= 18:
        data = numbers(whole.cast(pa.int64(), safe=False))
        result = made(data.astype(kind), value)
        bad = (data < limits.min) | (data > limits.max)
        return result if step.mode == "LEGACY" else _checked(step, value, result, bad)
    items = [None if item is None else int(item) for item in whole.to_pylist()]
    if step.mode == "LEGACY":  # the lowest bits
        low = [None if item is None else wrapped(item, limits.bits) for item in items]
        return pa.array(low, plain_type(target))
    bad = np.array([item is not None and not limits.min <= item <= limits.max for item in items])
    fitting = [None if wrong else item for item, wrong in zip(items, bad, strict=True)]
    return _checked(step, value, pa.array(fitting, plain_type(target)), bad)


def _decimal_to_decimal(step: Step, value: Any) -> Any:
    """Rounded half up to the scale; what then has too many digits does not fit."""
    precision, scale = decimal_of(step.kind) or (0, 0)
    source_precision, source_scale = decimal_of(step.kinds[0]) or (0, 0)
    wanted = plain_type(step.kind)
    if scale >= source_scale and precision - scale >= source_precision - source_scale:
        return value.cast(wanted)
    return each(value, rounding(step), wanted)


# ---------------------------------------------------------------------------------------- times


def _from_time(step: Step, value: Any) -> Any:
    source, target = step.kinds[0], step.kind
    data = numbers(value)
    zone = zone_of(step.zone)
    if source == "date" and np.any(np.abs(data.astype(np.int64)) > MOST_DAYS):
        raise messages.overflow(step, "long overflow")
    match source, target:
        case "date", "timestamp":
            result = zone.starts(data)
        case "date", "timestamp_ntz":
            result = data.astype(np.int64) * DAY
        case "timestamp", "date":
            result = (zone.local(data) // DAY).astype(np.int32)
        case "timestamp_ntz", "date":
            result = (data // DAY).astype(np.int32)
        case "timestamp", "timestamp_ntz":
            result = zone.local(data)
        case "timestamp_ntz", "timestamp":
            result = zone.utc(data)
        case "timestamp", "double":
            result = data / 1e6
        case "timestamp", "float":
            result = (data / 1e6).astype(np.float32)
        case _:
            return _whole_seconds(step, value, data // MICROS)
    return made(result, value)


def _whole_seconds(step: Step, value: Any, seconds: Any) -> Any:
    kind = _WHOLE[str(step.kind)]
    if kind is np.int64:
        return made(seconds, value)
    result = made(seconds.astype(kind), value)
    limits = np.iinfo(kind)
    bad = (seconds < limits.min) | (seconds > limits.max)
    if value.null_count:
        bad &= value.is_valid().to_numpy(zero_copy_only=False)
    return _checked(step, value, result, bad)


def _seconds_to_micros(value: Any) -> Any:
    """Of whole numbers: seconds, as far as microseconds go."""
    data = numbers(value).astype(np.int64)
    limit = np.iinfo(np.int64).max // MICROS
    micros = np.clip(data, -limit, limit) * MICROS
    micros = np.where(data > limit, np.iinfo(np.int64).max, micros)
    micros = np.where(data < -limit, np.iinfo(np.int64).min, micros)
    return nulled(made(micros), value)
