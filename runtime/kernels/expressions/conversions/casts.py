"""`CAST` between numbers, booleans, strings, dates and times."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.lists import elements_of
from ...columns.texts import concatenated
from ..programs.program import Kind, Step, decimal_of
from ..values import messages
from ..values.lists_and_maps import lists, maps
from ..values.saturation import saturated
from ..values.vectors import (
    made,
    nulled,
    numbers,
    plain_type,
)
from ..values.zones import DAY, MICROS, MOST_DAYS, zone_of
from .cast_decimals import WHOLE_TYPES, checked, from_decimal, from_float, from_whole
from .cast_strings import from_string, to_string

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
        return from_decimal(step, value)
    if decimal_of(target):
        return (from_float if source in _FLOATS else from_whole)(step, value)
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
    kind = WHOLE_TYPES[str(step.kind)]
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
    return checked(step, value, result, ~fits)


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
    kind = WHOLE_TYPES[str(step.kind)]
    if kind is np.int64:
        return made(seconds, value)
    result = made(seconds.astype(kind), value)
    limits = np.iinfo(kind)
    bad = (seconds < limits.min) | (seconds > limits.max)
    if value.null_count:
        bad &= value.is_valid().to_numpy(zero_copy_only=False)
    return checked(step, value, result, bad)


def _seconds_to_micros(value: Any) -> Any:
    """Of whole numbers: seconds, as far as microseconds go."""
    data = numbers(value).astype(np.int64)
    limit = np.iinfo(np.int64).max // MICROS
    micros = np.clip(data, -limit, limit) * MICROS
    micros = np.where(data > limit, np.iinfo(np.int64).max, micros)
    micros = np.where(data < -limit, np.iinfo(np.int64).min, micros)
    return nulled(made(micros), value)
