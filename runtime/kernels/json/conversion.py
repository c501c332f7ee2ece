"""What Arrow reads of JSON lines, as the types wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..expressions.conversions.cast_strings import from_string
from ..expressions.programs.program import Step
from ..expressions.values.java_numbers import shown_floats
from .time_columns import TimeColumn, UncertainValue
from .times import TimeTexts, timestamps

Positions = npt.NDArray[np.int64]
_WRITTEN_ANEW = (pa.int64(), pa.float64(), pa.bool_())
"""Types other than strings from whose values it follows how Jackson writes them."""
_WHOLE = 16
"""Of so many doubles one may be without a fraction: such lines are read one by one."""
LinesOf = Callable[[Positions], Positions]
"""The lines in which some values of a column stand."""


class Unlike(Exception):
    """Arrow cannot read a block, or might read it differently from Spark."""


class Conversion:
    """What Arrow read, as the types wanted.

    Args:
        times: how strings are read as dates and times.

    Attributes:
        odd: lines with values that Spark may read otherwise.
    """

    def __init__(self, times: TimeTexts) -> None:
        self._times = times
        self.odd: list[Positions] = []

    def converted(self, array: Any, kind: Any, lines: LinesOf) -> Any:
        """A column as its type.

        Raises:
            one of UNLIKE: Spark may read any of its values otherwise.
        """
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(array.chunks)
        if pa.types.is_string(kind):
            return self._as_text(array, lines)
        if pa.types.is_floating(kind):
            # Spark reads `-0` as 0.0 and `-0.0` as -0.0.
            self._is_odd(lambda data: (data == 0) & np.signbit(data), array, lines)
            return array
        if pa.types.is_decimal(kind):
            array.validate(full=True)  # Arrow reads whole numbers with too many digits
            return array
        if pa.types.is_temporal(kind) and self._times.pattern(kind) is not None:
            return self._by_pattern(array, kind, lines)
        if pa.types.is_timestamp(kind):
            return timestamps(array, self._times.zone_of(kind)).view(kind)
        if pa.types.is_date(kind):
            step = Step("cast", (), "date", ("string",), mode="TRY")
            days = from_string(step, array)
            if days.null_count != array.null_count:
                raise Unlike
            return days.view(kind)
        if pa.types.is_struct(kind):
            parts = [
                self.converted(array.field(i), field.type, lines) for i, field in enumerate(kind)
            ]
            return pa.StructArray.from_arrays(parts, fields=list(kind), mask=array.is_null())
        if pa.types.is_list(kind):
            if array.offset:
                raise Unlike
            starts = array.offsets.to_numpy()
            values = self.converted(
                array.values,
                kind.value_type,
                lambda at: lines(np.searchsorted(starts, at, side="right") - 1),
            )
            return pa.ListArray.from_arrays(array.offsets, values, type=kind, mask=array.is_null())
        return array

    def _by_pattern(self, array: Any, kind: Any, lines: LinesOf) -> Any:
        pattern, zone = self._times.pattern(kind), self._times.zone_of(kind)
        try:
            found, bad = TimeColumn(kind, pattern, zone)(array)
        except UncertainValue:
            raise Unlike from None
        if bad is not None:
            self.odd.append(lines(np.flatnonzero(bad)))
        return found

    def _as_text(self, array: Any, lines: LinesOf) -> Any:
        """Strings of what Arrow read: of a whole number it is not known how it was written."""
        if not pa.types.is_floating(array.type):
            return array.cast(pa.string())
        self._is_odd(lambda data: ~np.isfinite(data) | (data == np.trunc(data)), array, lines)
        return shown_floats(array)

    def _is_odd(self, odd: Callable[[Any], Any], array: Any, lines: LinesOf) -> None:
        """Take note of the lines of numbers that are odd."""
        kind = np.float32 if pa.types.is_float32(array.type) else np.float64
        data = np.frombuffer(array.buffers()[1], kind)[array.offset :][: len(array)]
        at = np.flatnonzero(odd(data))
        if len(at) and array.null_count:
            at = at[array.is_valid().to_numpy(zero_copy_only=False)[at]]
        if len(at):
            self.odd.append(lines(at))


def read_as(kind: Any, found: Any = None) -> Any:
    """The type as which Arrow reads values; None: it cannot.

    Args:
        kind: the type wanted.
        found: what the values seem to be, where strings are written anew of what is none.
    """
    if pa.types.is_string(kind):
        return found if found in _WRITTEN_ANEW else kind
    if pa.types.is_temporal(kind):
        return pa.string()
    if pa.types.is_map(kind) or pa.types.is_binary(kind):
        return None
    if pa.types.is_struct(kind):
        fields = found if found is not None and pa.types.is_struct(found) else ()
        known = {field.name: field.type for field in fields}
        parts = [(field.name, read_as(field.type, known.get(field.name))) for field in kind]
        return None if any(part is None for _, part in parts) else pa.struct(parts)
    if pa.types.is_list(kind):
        values = found.value_type if found is not None and pa.types.is_list(found) else None
        element = read_as(kind.value_type, values)
        return None if element is None else pa.list_(pa.field("element", element))
    return kind


def is_map(kind: Any) -> bool:
    """Whether values are maps of what Arrow reads."""
    return pa.types.is_map(kind) and read_as(kind.item_type) is not None


def may_be_strings(found: Any) -> bool:
    """Whether values of a type that Arrow has found are strings, as far as it is known."""
    return bool(pa.types.is_null(found) or pa.types.is_string(found) or pa.types.is_temporal(found))


def is_exact(found: Any) -> bool:
    """Whether it follows from values how Jackson writes them, but for a few.

    Of a double without a fraction it is not known whether it was written with one.
    """
    if found.type != pa.float64():
        return found.type in (pa.int64(), pa.bool_())
    data = found.drop_null().to_numpy()
    return bool(np.count_nonzero(data == np.trunc(data)) * _WHOLE <= len(data))


def has_strings(kind: Any) -> bool:
    if kind is None or pa.types.is_string(kind):
        return kind is not None
    if pa.types.is_list(kind):
        return has_strings(kind.value_type)
    return pa.types.is_struct(kind) and any(has_strings(field.type) for field in kind)
