"""Rows of typed boundary and random values, as one Arrow table for both engines."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any, cast

import pyarrow as pa

from stateplan.planner.model.schemas.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    IntegralType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

ROWS = 128
MANY_ROWS = 20_000
"""Rows of doubles: functions of them may differ in one last bit of a thousand."""
SECOND = 1_000_000
DAY = 86_400 * SECOND

_TEXTS = (
    "",
    " ",
    "a",
    "abc",
    "ABC",
    " abc ",
    "Ünïcödé",
    "straße",
    "İi",
    "😀",
    "a😀b",
    "e\u0301",
    "NULL",
    "null",
    "true",
    "FALSE",
    "t",
    "yes",
    "no",
    "0",
    "1",
    "-1",
    "+5",
    "12",
    " 12 ",
    "12.5",
    "-0.0",
    ".5",
    "5.",
    "1e3",
    "1E-3",
    "1e400",
    "NaN",
    "Infinity",
    "-Infinity",
    "inf",
    "0x1F",
    "12abc",
    "127",
    "128",
    "2147483647",
    "2147483648",
    "-9223372036854775808",
    "9223372036854775808",
    "99999999999999999999999999999999999999",
    "0.1",
    "3.4028235e38",
    "123456789012345678.123456789",
    "2024-02-29",
    "2023-02-29",
    "1969-12-31",
    "0001-01-01",
    "9999-12-31",
    "2024-2-9",
    "2024",
    "2024-02",
    "2024-03-10 02:30:00",
    "2024-11-03 01:30:00",
    "1969-12-31 23:59:59.999999",
    "2024-01-02T03:04:05Z",
    "2024-01-02 03:04:05.123456789",
    "2024-01-02 03:04:05+05:30",
    "2024-01-02 03:04",
    "12:34:56",
    "2024-01-02 24:00:00",
    "01/02/2024",
    "20240102",
    "a,b,c",
    "a,,b",
    ",",
    "a b  c",
    "x=1&y=2",
    "%41",
    "a_b",
    "a%b",
    "a\\b",
    "a.b",
    "(a)",
    "aaa",
    "abab",
    "line\nbreak",
    "tab\tend",
    "\r\n",
    "\u00a0x\u00a0",
    '{"a": 1, "b": "x"}',
    '{"a": null}',
    '{"a": [1, 2]}',
    '{"a": {"b": 1.50}}',
    "[1, 2]",
    "{bad",
    '{"a": "1"}',
    '{"b": 1, "a": 2.5}',
    "https://user@host.org:80/p/a?x=1&y=2#f",
    "k:1,j:2",
    "ZZZ",
    "c3Bhcms=",
    "537061726B",
    "0aF",
    "abc\u0000d",
    "MON",
    "hello world",
    "Hello World foo_bar",
    "4111111111111111",
    "١٢",
    "ǅ",
    "ﬁ",
    "The quick brown fox jumps over the lazy dog, then sleeps. " * 4,
    "Größe=😀;" * 30,
    "1234567890" * 13,
)
_TIMES = (
    0,
    -1,
    1,
    -SECOND,
    59 * SECOND,
    -62_135_596_800 * SECOND,
    253_402_300_799_999_999,
    1_710_054_000 * SECOND,
    1_710_053_999_999_999,
    1_710_057_600 * SECOND,
    1_730_608_200 * SECOND,
    1_730_611_800 * SECOND,
    1_730_615_400 * SECOND,
    1_709_210_096_123_456,
    951_782_400 * SECOND,
    -2_717_650_800 * SECOND,
    -5_000_000_000 * SECOND,
    1_704_067_199_999_999,
    1_704_067_200 * SECOND,
    1_711_846_800 * SECOND,
    -1_500_000,
    1_500_000,
    4_102_444_800 * SECOND,
)
_DAYS = (
    0,
    -1,
    1,
    19_782,
    19_723,
    19_722,
    11_016,
    -719_162,
    2_932_896,
    -25_567,
    18_321,
    58,
    59,
    60,
    365,
    -141_428,
    19_792,
    20_030,
)
_DOUBLES = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.1,
    0.2,
    3.0,
    10.0,
    100.0,
    1e-3,
    9.999e6,
    1e7,
    12345678.9,
    1e15,
    1e16,
    1e20,
    1e22,
    -1e20,
    1e300,
    -1e300,
    1.7976931348623157e308,
    5e-324,
    2.2250738585072014e-308,
    math.nan,
    math.inf,
    -math.inf,
    9.223372036854776e18,
    -9.223372036854776e18,
    2147483647.0,
    2147483648.5,
    -2147483648.9,
    127.5,
    128.0,
    32767.9,
    0.045,
    2.675,
    123.456,
    1 / 3,
)


def _integers(bits: int) -> list[int]:
    top = 2 ** (bits - 1)
    found = [0, 1, -1, 2, -2, 3, 5, 7, 10, 12, 31, 32, 63, 64, 100, -100, top - 1, -top, top - 2]
    found += [top // 2, -(top // 2)]
    if bits >= 32:
        found += [255, 256, 1000, 46341, 65536, 86400, 1_709_210_096, -1_000_000, 19_782]
    if bits >= 64:
        found += [2**31, -(2**31) - 1, 2**53, 2**53 + 1, 3_037_000_500, 1_709_210_096_123_456]
    return found


def _decimals(precision: int, scale: int, chance: random.Random) -> list[Decimal]:
    top = 10**precision - 1
    raw = [
        0,
        1,
        -1,
        5,
        -5,
        15,
        25,
        49,
        50,
        51,
        99,
        100,
        101,
        top,
        -top,
        top // 2,
        10 ** (precision - 1),
    ]
    raw += [10**scale, -(10**scale), 15 * 10**scale // 10, 25 * 10**scale // 10, 3 * 10**scale]
    raw += [chance.randint(-top, top) for _ in range(6)]
    raw += [chance.randint(-(10 ** (precision // 2)), 10 ** (precision // 2)) for _ in range(8)]
    wide = Context(prec=60)
    return [Decimal(value).scaleb(-scale, wide) for value in raw if abs(value) <= top]


def _single(value: float) -> float:
    try:
        return cast(float, struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def pool(data_type: DataType, chance: random.Random) -> list[Any]:
    """Values of a type, without null, as pyarrow takes them."""
    match data_type:
        case BooleanType():
            return [True, False]
        case IntegralType():
            bits = data_type.bits
            small = [chance.randint(-40, 40) for _ in range(10)]
            wide = [chance.randint(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for _ in range(6)]
            return [*_integers(bits), *small, *wide]
        case FloatType():
            return [*map(_single, _DOUBLES), *(_single(chance.uniform(-99, 99)) for _ in range(12))]
        case DoubleType():
            near = [round(chance.uniform(-1000, 1000), 2) for _ in range(12)]
            wide = [chance.uniform(-1, 1) * 10.0 ** chance.randint(-20, 20) for _ in range(12)]
            return [*_DOUBLES, *near, *wide]
        case DecimalType(precision=precision, scale=scale):
            return list(_decimals(precision, scale, chance))
        case StringType():
            return list(_TEXTS)
        case BinaryType():
            letters = [b"", b"abc", b"1", b"a" * 40, "😀".encode()]
            return [*letters, b"\x00\xff", b"\xc3\xa9", b"\xff", bytes(range(256))]
        case DateType():
            return [*_DAYS, *(chance.randint(-8000, 24_000) for _ in range(14))]
        case TimestampType() | TimestampNTZType():
            some = [chance.randint(-(10**9), 2 * 10**9) * SECOND for _ in range(8)]
            fine = [chance.randint(-(10**15), 2 * 10**15) for _ in range(8)]
            return [*_TIMES, *some, *fine]
        case ArrayType(element_type=element):
            inner = [*pool(element, chance), None, None]
            lists = [[], [None], *([chance.choice(inner)] for _ in range(6))]
            return lists + [chance.choices(inner, k=chance.randint(2, 5)) for _ in range(20)]
        case MapType(key_type=key, value_type=value):
            keys, values = pool(key, chance), [*pool(value, chance), None, None]
            return [[]] + [
                [(k, chance.choice(values)) for k in _different(keys, chance.randint(1, 3), chance)]
                for _ in range(24)
            ]
        case StructType(fields=fields):
            inner_pools = [[*pool(f.data_type, chance), None, None] for f in fields]
            names = [f.name for f in fields]
            return [
                dict(zip(names, map(chance.choice, inner_pools), strict=True)) for _ in range(30)
            ]
        case _:
            raise TypeError(f"no values of {data_type.simple}")


def _different(values: list[Any], count: int, chance: random.Random) -> list[Any]:
    """Some values without two that are equal (NaN and -0.0 are no keys of a map here)."""
    usual = [v for v in values if not (isinstance(v, float) and (math.isnan(v) or v == 0))]
    return chance.sample(list(dict.fromkeys(usual)), count)


_ARROW: dict[type[DataType], Callable[[], pa.DataType]] = {
    BooleanType: pa.bool_,
    ByteType: pa.int8,
    ShortType: pa.int16,
    IntegerType: pa.int32,
    LongType: pa.int64,
    FloatType: pa.float32,
    DoubleType: pa.float64,
    StringType: pa.string,
    BinaryType: pa.binary,
    DateType: pa.date32,
}


def arrow_type(data_type: DataType) -> pa.DataType:
    """The Arrow type of a column of this type.

    Raises:
        TypeError: no file holds such a column.
    """
    match data_type:
        case DecimalType(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case TimestampType():
            return pa.timestamp("us", "UTC")
        case TimestampNTZType():
            return pa.timestamp("us")
        case ArrayType(element_type=element):
            return pa.list_(arrow_type(element))
        case MapType(key_type=key, value_type=value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case StructType(fields=fields):
            return pa.struct([pa.field(f.name, arrow_type(f.data_type)) for f in fields])
        case _ if type(data_type) in _ARROW:
            return _ARROW[type(data_type)]()
        case _:
            raise TypeError(f"no column of {data_type.simple}")


def column(data_type: DataType, number: int, seed: int, rows: int = ROWS) -> pa.Array:
    """One column of values with some nulls; columns of other numbers pair otherwise."""
    chance = random.Random(f"{data_type.simple} {number} {seed}")
    values = pool(data_type, random.Random(f"{data_type.simple} {seed}"))
    # Each boundary value once where there is room, then a random choice.
    chosen: list[Any] = chance.sample(values, min(len(values), rows - 6))
    if rows > ROWS and isinstance(data_type, DoubleType):
        chosen += [chance.gauss(0, 1) * 10 ** chance.randint(-2, 2) for _ in range(rows - 2 * ROWS)]
    chosen += chance.choices(values, k=rows - 6 - len(chosen)) + [None] * 6
    chance.shuffle(chosen)
    return pa.array(chosen, type=arrow_type(data_type))
