"""Arrow arrays of Spark's types."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from stateplan.runtime.arrow_types import without_hidden

FIELDS = [pa.field("x", pa.int32()), pa.field("y", pa.list_(pa.string()))]


def hidden() -> pa.Array:
    """Three structs, the second of which is null above values."""
    parts = [pa.array([1, 2, 3], pa.int32()), pa.array([["a"], ["b"], None], pa.list_(pa.string()))]
    return pa.StructArray.from_arrays(parts, fields=FIELDS, mask=pa.array([False, True, False]))


def test_fields_of_a_null_struct_are_null() -> None:
    array = hidden()
    assert array.field(0).to_pylist() == [1, 2, 3]
    shown = without_hidden(array)
    assert shown.equals(array)
    assert shown.field(0).to_pylist() == [1, None, 3]
    assert shown.field(1).to_pylist() == [["a"], None, None]


@pytest.mark.parametrize("start", [0, 1])
def test_structs_in_lists_maps_and_structs(start: int) -> None:
    inner = hidden()
    keys = pa.array(["a", "b", "c"])
    outer = pa.StructArray.from_arrays([inner], names=["s"], mask=pa.array([True, False, False]))
    for array, values in (
        (pa.ListArray.from_arrays([0, 1, 2, 3], inner), lambda a: a.values),
        (pa.MapArray.from_arrays([0, 2, 2, 3], keys, inner), lambda a: a.items),
        (outer, lambda a: a.field(0)),
    ):
        shown = without_hidden(array.slice(start))
        assert shown.equals(array.slice(start))
        below = values(shown)
        assert below.field(0).null_count >= pc.sum(below.is_null()).as_py()


def test_other_columns_are_themselves() -> None:
    array = pa.array([[1], None])
    assert without_hidden(array) is array
