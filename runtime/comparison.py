"""Comparing what a scenario emitted with what it expects: values, rows, batches, errors."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..planner.model.schemas.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    MapType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

Expectation = Mapping[str, Any]
FLOAT_TOLERANCE = 1e-9  # relative: sums of doubles depend on the order of the rows
ERROR_KEYS = ("phase", "batch", "condition")


def plain(value: Any, data_type: DataType) -> Any:
    """A value as scenario files write it: JSON, with text for what JSON has no form for.

    Timestamps are ISO in UTC with `Z` (without it for timestamp_ntz), binary is base64, decimals
    keep all digits of their scale, maps are sorted lists of pairs, intervals microseconds.
    """
    if value is None:
        return None
    match data_type:
        case FloatType() | DoubleType():
            if math.isnan(value):
                return "NaN"
            if math.isinf(value):
                return "Infinity" if value > 0 else "-Infinity"
            return float(value)
        case TimestampType():
            return _iso(value.astimezone(dt.UTC)) + "Z"
        case TimestampNTZType():
            return _iso(value)
        case DateType():
            return value.isoformat()
        case BinaryType():
            return base64.b64encode(bytes(value)).decode()
        case ArrayType(element_type=element):
            return [plain(item, element) for item in value]
        case StructType(fields=fields):
            return {f.name: plain(value[f.name], f.data_type) for f in fields}
        case MapType(key_type=key, value_type=item):
            pairs = value.items() if isinstance(value, Mapping) else value
            return sorted(([plain(k, key), plain(v, item)] for k, v in pairs), key=as_text)
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(microseconds=1)
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    return value


def _iso(moment: dt.datetime) -> str:
    text = moment.replace(tzinfo=None).isoformat(timespec="seconds")
    fraction = f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else ""
    return text + fraction


def as_text(value: Any) -> str:
    """The JSON text by which rows are sorted."""
    return json.dumps(value, sort_keys=True)


def same(want: Any, got: Any) -> bool:
    """Whether two plain values are equal: doubles within the tolerance, -0.0 apart from 0.0."""
    if isinstance(want, bool) or isinstance(got, bool):
        return want is got
    if isinstance(want, float) and isinstance(got, float):
        if want == 0 and got == 0:
            return math.copysign(1, want) == math.copysign(1, got)
        return want == got or abs(want - got) <= FLOAT_TOLERANCE * max(abs(want), abs(got))
    if isinstance(want, Mapping) and isinstance(got, Mapping):
        return list(want) == list(got) and all(same(want[key], got[key]) for key in want)
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(map(same, want, got))
    return type(want) is type(got) and bool(want == got)


def unmatched(want: Sequence[Any], got: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The rows of two multisets that have no partner: (missing, unexpected)."""
    missing, left = [], list(got)
    for row in want:
        partner = next((i for i, other in enumerate(left) if same(row, other)), None)
        if partner is None:
            missing.append(row)
        else:
            del left[partner]
    return missing, left


def differences(want: Expectation, got: Expectation, *, ordered: bool = False) -> list[str]:
    """What differs between an expectation and what came out, one readable line each."""
    lines = []
    if want.get("columns") != got.get("columns"):
        lines.append(f"columns: expected {want.get('columns')}, got {got.get('columns')}")
    wanted = {batch["id"]: batch for batch in want.get("batches") or []}
    came = {batch["id"]: batch for batch in got.get("batches") or []}
    for number in sorted(wanted.keys() | came.keys()):
        if number not in came:
            lines.append(f"batch {number}: expected, but it did not run")
        elif number not in wanted:
            lines.append(f"batch {number}: ran, but is not expected")
        else:
            lines += _batch_differences(wanted[number], came[number], ordered)
    want_error, got_error = want.get("error"), got.get("error")
    if _error_of(want_error) != _error_of(got_error):
        lines.append(f"error: expected {_show(want_error)}, got {_show(got_error)}")
    return lines


def _batch_differences(want: Expectation, got: Expectation, ordered: bool) -> list[str]:
    lines = []
    name = f"batch {want['id']}"
    for key in ("step", "no_data", "watermark"):
        if want.get(key) != got.get(key):
            lines.append(f"{name} {key}: expected {want.get(key)}, got {got.get(key)}")
    if ordered:
        if not same(list(want["rows"]), list(got["rows"])):
            lines.append(f"{name} rows: expected in this order {want['rows']}, got {got['rows']}")
    else:
        missing, unexpected = unmatched(want["rows"], got["rows"])
        lines += [f"{name} row missing:    {as_text(row)}" for row in missing]
        lines += [f"{name} row unexpected: {as_text(row)}" for row in unexpected]
    for position in range(max(len(want.get("state") or []), len(got.get("state") or []))):
        lines += _state_differences(name, position, want, got)
    return lines


def _state_differences(name: str, position: int, want: Expectation, got: Expectation) -> list[str]:
    sides = [list(side.get("state") or []) for side in (want, got)]
    first, second = (side[position] if position < len(side) else None for side in sides)
    if first == second:
        return []
    if first is None or second is None:
        return [f"{name} operator {position}: expected {first}, got {second}"]
    return [
        f"{name} operator {position} ({first.get('operator')}) {key}: "
        f"expected {first.get(key)}, got {second.get(key)}"
        for key in first.keys() | second.keys()
        if first.get(key) != second.get(key)
    ]


def _error_of(error: Expectation | None) -> dict[str, Any]:
    return {key: error[key] for key in ERROR_KEYS if key in error} if error else {}


def _show(error: Expectation | None) -> str:
    return as_text(dict(error)) if error else "none"
