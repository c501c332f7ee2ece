"""Numbers of state in few bytes come back as they were."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateplan.runtime.state.narrow import narrowed, widened

_STAMP = pa.timestamp("us", "UTC")
_WINDOW = pa.struct([pa.field("start", _STAMP), pa.field("end", _STAMP, nullable=False)])
_TYPES = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.date32(), _STAMP, pa.timestamp("us")),
    *(
        pa.duration("us"),
        pa.bool_(),
        pa.float64(),
        pa.decimal128(9, 2),
        pa.month_day_nano_interval(),
    ),
]


def _back(array: Any) -> Any:
    kept, field = narrowed(array, pa.field("v0", array.type))
    assert kept.type == field.type
    assert len(kept) == len(array)
    return widened(kept, field, array.type)


@settings(deadline=None)
@given(data=st.data(), type_=st.sampled_from(_TYPES[:8]))
def test_what_is_kept_stands_for_the_same_numbers(data: st.DataObject, type_: Any) -> None:
    bits = type_.bit_width
    base = data.draw(st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
    reach = data.draw(st.sampled_from([0, 1, 200, 1 << 15, (1 << 16) + 5, (1 << 32) - 1, 1 << 63]))
    least, most = max(-(1 << (bits - 1)), base - reach), min((1 << (bits - 1)) - 1, base + reach)
    numbers = data.draw(st.lists(st.none() | st.integers(least, most), max_size=9))
    array = pa.array(numbers, pa.from_numpy_dtype(f"i{bits // 8}")).view(type_)
    assert _back(array).equals(array)
    assert _back(array[1:]).equals(array[1:])


@pytest.mark.parametrize("type_", _TYPES, ids=str)
def test_every_type_comes_back(type_: Any) -> None:
    array = pa.nulls(3, type_)
    assert _back(array).equals(array)
    assert _back(array[:0]).equals(array[:0])


def test_windows_take_few_bytes() -> None:
    starts = np.arange(1000) % 60 * 10_000_000 + 1_700_000_000_000_000
    bounds = [pa.array(numbers).cast(_STAMP) for numbers in (starts, starts + 10_000_000)]
    array = pa.StructArray.from_arrays(bounds, fields=list(_WINDOW))
    assert _back(array).equals(array)
    assert narrowed(array, pa.field("k0", _WINDOW))[0].nbytes == 8 * 1000
    missing = pa.array(
        [None, {"start": datetime(2026, 1, 1), "end": datetime(2026, 1, 2)}], _WINDOW
    )
    assert _back(missing).equals(missing)


@pytest.mark.parametrize(
    ("numbers", "size"),
    [([7] * 90, 1), ([-5, 250], 1), ([-5, 251], 2), ([0, 65_536], 4), ([0, 1 << 32], 8)],
)
def test_bytes_go_by_the_range(numbers: list[int], size: int) -> None:
    kept, _ = narrowed(pa.array(numbers), pa.field("v0", pa.int64()))
    assert kept.type.bit_width == 8 * size
    days = pa.array([date(2026, 1, 1), date(2026, 2, 1)])
    assert narrowed(days, pa.field("v0", days.type))[0].type == pa.uint8()
