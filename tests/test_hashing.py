"""Hashes and normalised floats of Arrow columns: those of Spark, over random values of any type."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from stateplan.runtime.kernels.columns.floats import holds_floats, normalised
from stateplan.runtime.kernels.hashes.rows import can_hash, hashes_of, places_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, FIRST = 300, 3
"""How many rows a table has; the first ones are sliced off: memory need not begin with a row."""

NANS = [struct.unpack("<d", struct.pack("<Q", bits << 48))[0] for bits in (0x7FF8, 0xFFF8, 0x7FFC)]
FLOATS = [*NANS, 0.0, -0.0, 1.5, -2.25, float("inf"), float("-inf")]
TINY, HUGE = 5e-324, 1.7976931348623157e308

Make = Callable[[random.Random], Any]


def _number(bits: int) -> Make:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return lambda own: own.choice((low, high, 0, -1, 1, own.randrange(low, high)))


def _text(own: random.Random) -> str:
    return "".join(own.choices("aé漢🙂b\0", k=own.choice((0, own.randrange(9), own.randrange(90)))))


def _decimal(precision: int) -> Make:
    """Unscaled numbers of any count of digits."""

    def make(own: random.Random) -> int:
        limit = 10 ** own.randrange(1, precision + 1)
        power = min(1 << own.randrange(1, 127), limit)
        edges = (0, 1 - limit, limit - 1, power - 1, -power + 1, own.randrange(limit))
        return own.choice(edges)

    return make


FLAT: dict[Any, Make] = {
    pa.null(): lambda own: None,
    pa.bool_(): lambda own: own.random() < 0.5,
    pa.int8(): _number(8),
    pa.int16(): _number(16),
    pa.int32(): _number(32),
    pa.int64(): _number(64),
    pa.float32(): lambda own: own.choice((*FLOATS, own.gauss(0, 9))),
    pa.float64(): lambda own: own.choice((*FLOATS, TINY, HUGE, own.gauss(0, 9))),
    pa.date32(): lambda own: own.randrange(-20_000, 40_000),
    pa.timestamp("us", "UTC"): lambda own: own.randrange(-(1 << 52), 1 << 52),
    pa.timestamp("us"): lambda own: own.randrange(-(1 << 52), 1 << 52),
    pa.duration("us"): _number(54),
    pa.decimal128(1, 0): _decimal(1),
    pa.decimal128(18, 3): _decimal(18),
    pa.decimal128(19, 0): _decimal(19),
    pa.decimal128(38, 10): _decimal(38),
    pa.string(): _text,
    pa.binary(): lambda own: own.randbytes(own.randrange(40)),
}


# PySpark 4.3 cannot take in columns of nested nulls.
INNER = [kind for kind in FLAT if not pa.types.is_null(kind)]


def _random_type(own: random.Random, depth: int) -> Any:
    """A type of at most so many levels."""
    kind = own.choice(("flat", "struct", "list", "map")) if depth else "flat"
    if kind == "list":
        return pa.list_(_random_type(own, depth - 1))
    if kind == "map":
        return pa.map_(own.choice(INNER), _random_type(own, depth - 1))
    if kind == "struct":
        count = own.randrange(1, 4)
        return pa.struct([(f"f{i}", _random_type(own, depth - 1)) for i in range(count)])
    return own.choice(INNER)


def _array(own: random.Random, kind: Any, count: int, nulls: float = 0.15) -> Any:
    """Random values of a type; there are values behind nulls, and memory before and behind."""
    mask = pa.array([own.random() < nulls for _ in range(count)], pa.bool_())
    if kind in FLAT:
        values = [None if null else FLAT[kind](own) for null in mask.to_pylist()]
        if pa.types.is_decimal(kind):
            return _decimals(values, kind)
        return pa.array(values, kind)
    if pa.types.is_struct(kind):
        fields = [_array(own, field.type, count) for field in kind]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=mask)
    ends = [0]
    for _ in range(count):
        ends.append(ends[-1] + own.choice((0, 1, 1, 2, 3, own.randrange(9))))
    if pa.types.is_map(kind):
        keys = _array(own, kind.key_type, ends[-1] + 2, 0.0).slice(2)
        items = _array(own, kind.item_type, ends[-1] + 2).slice(2)
        return pa.MapArray.from_arrays(pa.array(ends, pa.int32()), keys, items, mask=mask)
    elements = _array(own, kind.value_type, ends[-1] + 2).slice(2)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), elements, mask=mask)


def _decimals(unscaled: list[int | None], kind: Any) -> Any:
    data = b"".join((n or 0).to_bytes(16, "little", signed=True) for n in unscaled)
    bits = sum(1 << i for i, n in enumerate(unscaled) if n is not None)
    valid = bits.to_bytes(len(unscaled) // 8 + 1, "little")
    return pa.Array.from_buffers(kind, len(unscaled), [pa.py_buffer(valid), pa.py_buffer(data)])


def _arrays(seed: int, kinds: list[Any]) -> dict[str, Any]:
    own = random.Random(seed)
    return {f"c{i}": _array(own, kind, ROWS) for i, kind in enumerate(kinds)}


def _nested(count: int) -> list[Any]:
    own = random.Random(5)
    return [_random_type(own, 3) for _ in range(count)]


DOUBLES = [
    pa.float32(),
    pa.float64(),
    pa.list_(pa.float32()),
    pa.list_(pa.list_(pa.float64())),
    pa.struct([("a", pa.int32()), ("b", pa.struct([("c", pa.float64())]))]),
    pa.list_(pa.struct([("a", pa.float64()), ("b", pa.list_(pa.float32()))])),
    pa.struct([("a", pa.map_(pa.float64(), pa.list_(pa.float64())))]),
]
LISTS = [pa.list_(kind) for kind in INNER]
KEYED = [pa.map_(pa.string(), pa.float64()), pa.map_(pa.decimal128(38, 10), pa.string())]


@pytest.mark.parametrize(
    "kinds", [list(FLAT), LISTS, [*DOUBLES, *KEYED], _nested(12)],
    ids=["flat", "lists", "chosen", "random"],
)  # fmt: skip
def test_hashes_are_those_of_spark(spark: SparkSession, kinds: list[Any]) -> None:
    columns = _arrays(7, kinds)
    for column in columns.values():
        assert can_hash(column.type), column.type
        column.validate(full=False)
    sets = [*([name] for name in columns), list(columns)[::-1]]
    asked = [f"{f}({', '.join(names)})" for names in sets for f in ("hash", "xxhash64")]
    spark.conf.set("spark.sql.legacy.allowHashOnMapType", "true")
    try:
        # PySpark 4.3 cannot take in all nested arrays that begin within their memory: a copy.
        table = pa.table(columns).take(pa.array(range(ROWS)))
        found = spark.createDataFrame(table).selectExpr(*asked).toArrow()
    finally:
        spark.conf.unset("spark.sql.legacy.allowHashOnMapType")
    for i, names in enumerate(sets):
        arrays = [columns[name].slice(FIRST) for name in names]
        types = [str(array.type) for array in arrays]
        expected = [column.to_pylist()[FIRST:] for column in found.columns[2 * i : 2 * i + 2]]
        assert places_of(arrays, ROWS - FIRST).tolist() == expected[0], types
        assert hashes_of(arrays, ROWS - FIRST).tolist() == expected[1], types


def _other_forms() -> dict[str, tuple[Any, Any]]:
    """Arrays, and the same values in the form that Spark gives them."""
    own = random.Random(3)
    text, data = _array(own, pa.string(), ROWS), _array(own, pa.binary(), ROWS)
    lists, pairs = _array(own, pa.list_(pa.float64()), ROWS), _array(own, pa.int32(), 2 * ROWS)
    mask = pa.array([own.random() < 0.2 for _ in range(ROWS)])
    fixed = pa.FixedSizeListArray.from_arrays(pairs, 2, mask=mask)
    picked = pa.array([own.choice((None, 0, 1, 2)) for _ in range(ROWS)], pa.int8())
    ends = pa.array(range(ROWS + 1), pa.int32())
    few = pa.DictionaryArray.from_arrays(picked, pa.array(["a", None, "cd"]))
    return {
        "large_string": (text.cast(pa.large_string()), text),
        "large_binary": (data.cast(pa.large_binary()), data),
        "string_view": (text.cast(pa.string_view()), text),
        "binary_view": (data.cast(pa.binary_view()), data),
        "large_list": (lists.cast(pa.large_list(pa.float64())), lists),
        "fixed_size_list": (fixed, pa.array(fixed.to_pylist(), pa.list_(pa.int32()))),
        "dictionary": (few, pa.array(few.to_pylist())),
        "list of dictionary": (
            pa.ListArray.from_arrays(ends, few),
            pa.ListArray.from_arrays(ends, few.cast(pa.string())),
        ),
        "list of nulls": (pa.array([[None, None], [], None], pa.list_(pa.null())), pa.nulls(3)),
        "fields of null": (pa.array([{"a": None}, None], pa.struct({"a": pa.null()})), pa.nulls(2)),
    }


@pytest.mark.parametrize("name", _other_forms())
def test_other_forms_of_the_same_values_have_the_same_hashes(name: str) -> None:
    column, plain = _other_forms()[name]
    assert can_hash(column.type)
    for start in (0, 1, len(column)):
        one, other = column.slice(start), plain.slice(start)
        assert places_of([one], len(one)).tolist() == places_of([other], len(one)).tolist()
        assert hashes_of([one], len(one)).tolist() == hashes_of([other], len(one)).tolist()


def test_no_rows_and_nulls_only() -> None:
    for kind in (*FLAT, *LISTS, *DOUBLES, *KEYED):
        assert places_of([pa.array([], kind)], 0).tolist() == []
        assert hashes_of([pa.array([], kind)], 0).tolist() == []
        assert places_of([pa.nulls(2, kind)], 2).tolist() == [42, 42]
        assert len(normalised(pa.array([], kind))) == 0
        assert normalised(pa.nulls(2, kind)).equals(pa.nulls(2, kind))


@pytest.mark.parametrize(
    "kind",
    [pa.uint8(), pa.float16(), pa.timestamp("ns"), pa.duration("ms"), pa.list_(pa.date64())],
    ids=str,
)
def test_types_that_are_none_of_spark_are_not_hashed(kind: Any) -> None:
    assert not can_hash(kind)


# ----------------------------------------------------------------------------------------- floats


def _bits(value: Any) -> Any:
    """A value whose floats are their bytes: NaN equals itself, 0.0 not -0.0."""
    if isinstance(value, float):
        return struct.pack("<d", value)
    if isinstance(value, dict):
        return {name: _bits(part) for name, part in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        # Spark sorts the entries of a map that it groups by.
        return sorted(([_bits(part) for part in entry] for entry in value), key=repr)
    if isinstance(value, list):
        return [_bits(part) for part in value]
    return value


def test_floats_are_normalised_as_grouping_keys_are(spark: SparkSession) -> None:
    columns = _arrays(11, DOUBLES)
    table = pa.table({"id": pa.array(range(ROWS)), **columns})
    grouped = spark.createDataFrame(table).groupBy("id", *columns).count().toArrow()
    grouped = grouped.sort_by("id")
    for name, column in columns.items():
        assert holds_floats(column.type)
        found = normalised(column.slice(FIRST))
        found.validate(full=True)
        assert found.type == column.type
        expected = grouped.column(name).to_pylist()[FIRST:]
        assert _bits(found.to_pylist()) == _bits(expected), column.type


def test_what_has_no_floats_is_left_alone() -> None:
    for kind in (pa.int64(), pa.list_(pa.string()), pa.map_(pa.float64(), pa.int32())):
        column = _array(random.Random(1), kind, 9)
        assert not holds_floats(kind)
        assert normalised(column) is column
