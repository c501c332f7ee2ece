"""`to_json`: structs, arrays and maps as texts, as Spark's JacksonGenerator writes them."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.distinct import each
from ...columns.texts import bytes_of, concatenated
from ...json.copies import ESCAPED
from ..programs.program import Step
from ..times.formats import shown_in
from ..values.java_numbers import shown_floats
from ..values.vectors import Value, numbers, of_one_length, shown
from ..values.zones import zone_of
from .cast_strings import shown_days

_ESCAPED = np.isin(np.arange(256), list(ESCAPED))
Parts = list[Any]
"""Columns of texts, and texts that stand in every row, which `concatenated` puts together."""
_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSS"


def to_json(step: Step, *values: Value) -> Any:
    """`to_json`: of a struct made of the values, or of one value."""
    columns = list(map(shown, of_one_length(*values), step.kinds))
    names, keeps_null = step.options
    writer = _Writer(step.zone, bool(keeps_null))
    if names is None:
        return writer.texts(columns[0])
    assert isinstance(names, tuple)
    return concatenated(*writer.object(list(names), columns))


@dataclass(frozen=True)
class _Writer:
    """How values are written.

    Attributes:
        zone: the session's time zone.
        keeps_null: whether an object shows its fields that are null.
    """

    zone: str
    keeps_null: bool

    def texts(self, column: Any) -> Any:
        """Texts of values; null for null."""
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        return _null_like(concatenated(*self._parts(column)), column)

    def _parts(self, column: Any) -> Parts:
        """Of what the texts of values are made; what a null has is not of interest."""
        kind = column.type
        if pa.types.is_struct(kind):
            parts = [column.field(i) for i in range(kind.num_fields)]
            return self.object([field.name for field in kind], parts)
        if pa.types.is_map(kind):
            keys, items = self.texts(column.keys), self.texts(column.items).fill_null("null")
            return ["{", _joined(column, concatenated(keys, ":", items)), "}"]
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            return ["[", _joined(column, self.texts(column.values).fill_null("null")), "]"]
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return ['"', _escaped(column.cast(pa.string())), '"']
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return ['"', each(column, lambda v: base64.b64encode(v).decode(), pa.string()), '"']
        if pa.types.is_floating(kind):
            return [_floats(column)]
        if pa.types.is_date32(kind):
            days = column.view(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False)
            return ['"', shown_days(days.astype(np.int64)), '"']
        if pa.types.is_timestamp(kind):
            return ['"', _times(column, self.zone), '"']
        return [column.cast(pa.string())]

    def object(self, names: list[str], columns: list[Any]) -> Parts:
        """Objects of fields."""
        if not self.keeps_null:
            return self._without_nulls(names, columns)
        parts: Parts = []
        for name, column in zip(names, columns, strict=True):
            parts += [",", _name(name), self.texts(column).fill_null("null")]
        return ["{", *parts[1:], "}"]

    def _without_nulls(self, names: list[str], columns: list[Any]) -> Parts:
        # Of the fields before one that never is null each has a comma behind it, all others one in
        # front; where any may be null the first comma goes in the end.
        always = next((i for i, column in enumerate(columns) if not column.null_count), None)
        parts: Parts = ["{"] if always is not None else []
        for place, (name, column) in enumerate(zip(names, columns, strict=True)):
            comes_before = always is not None and place < always
            front = "" if comes_before or place == always else ","
            begin = front + _name(name)
            field = [begin, *self._parts(column), *([","] if comes_before else [])]
            if column.null_count:
                field = [_null_like(concatenated(*field), column).fill_null("")]
            parts += field
        if always is not None:
            return [*parts, "}"]
        return ["{", pc.utf8_slice_codeunits(concatenated(*parts), 1), "}"]


def _name(name: str) -> str:
    return f"{json.dumps(name, ensure_ascii=False)}:"


def _floats(column: Any) -> Any:
    text = shown_floats(column)
    named = ~np.isfinite(numbers(column))
    return pc.if_else(pa.array(named), concatenated('"', text, '"'), text) if named.any() else text


def _times(column: Any, zone: str) -> Any:
    if column.type.unit != "us":
        column = column.cast(pa.timestamp("us", column.type.tz))
    times = column.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    if column.type.tz is None:
        return shown_in(times, 0, _TIME)
    return shown_in(times, zone_of(zone).offsets(times), f"{_TIME}XXXXX")


def _joined(column: Any, texts: Any) -> Any:
    """Texts of parts in a list or map column, joined in each."""
    return pc.binary_join(pa.ListArray.from_arrays(column.offsets.cast(pa.int32()), texts), ",")


def _null_like(text: Any, column: Any) -> Any:
    if not column.null_count:
        return text
    return pc.if_else(column.is_valid(), text, pa.scalar(None, pa.string()))


def _escaped(text: Any) -> Any:
    if not _ESCAPED[bytes_of(text)[0]].any():
        return text
    for sign in ("\\", '"'):
        text = pc.replace_substring(text, sign, "\\" + sign)
    if pc.any(pc.match_substring_regex(text, r"[\x00-\x1f]")).as_py():
        for sign in map(chr, range(32)):
            text = pc.replace_substring(text, sign, ESCAPED[ord(sign)])
    return text
