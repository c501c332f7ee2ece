"""Expressions for every line of the table of what tasks compute, and values to compute them of."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from stateplan.planner.model.expressions.core import (
    AttributeReference,
    Call,
    CaseWhen,
    Cast,
    EvalMode,
    Expression,
    GetStructField,
    Literal,
    lit,
)
from stateplan.planner.model.expressions.windows import PreciseTimestampConversion
from stateplan.planner.model.schemas.casts import can_cast
from stateplan.planner.model.schemas.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    CalendarIntervalType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    YearMonthIntervalType,
)
from stateplan.rules.optimization.expressions.constants import gather_constants
from stateplan.runtime.kernels.expressions.programs.accepting_texts import URL_PARTS
from stateplan.runtime.kernels.expressions.programs.accepting_times import DIFFERENCE_UNITS
from stateplan.runtime.kernels.expressions.programs.compile import unsupported
from stateplan.runtime.kernels.expressions.programs.supported import CASTS, OPERATIONS, Signature

ROWS = 160
COLUMNS_OF_EACH = 3
TYPES: dict[str, tuple[DataType, ...]] = {
    "boolean": (BOOLEAN,),
    "tinyint": (BYTE,),
    "smallint": (SHORT,),
    "int": (INT,),
    "bigint": (LONG,),
    "float": (FLOAT,),
    "double": (DOUBLE,),
    "decimal": (DecimalType(7, 2), DecimalType(18, 6), DecimalType(38, 10)),
    "string": (STRING,),
    "binary": (BINARY,),
    "date": (DATE,),
    "timestamp": (TIMESTAMP,),
    "timestamp_ntz": (TIMESTAMP_NTZ,),
    "daytime": (DayTimeIntervalType(),),
    "yearmonth": (YearMonthIntervalType(),),
    "array": (ArrayType(INT), ArrayType(STRING), ArrayType(BINARY)),
    "map": (MapType(STRING, INT),),
    "struct": (StructType((StructField("a", INT), StructField("b", STRING))),),
}
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DAY = 86_400_000_000
_TIMES = [
    *(0, -1, 1, 999_999, -999_999, 1_700_000_000_123_456, -2_208_988_800_000_001),
    # Around the changes of New York's, London's and Apia's clocks.
    *(1_710_054_000_000_000 + i * 900_000_000 for i in range(-6, 7)),
    *(1_730_610_000_000_000 + i * 900_000_000 for i in range(-6, 7)),
    *(-37_242_000_000_000 + i * 900_000_000 for i in range(-6, 7)),
    *(1_325_239_200_000_000 + i * 3_600_000_000 for i in range(-30, 30, 5)),
    *(4_102_444_800_000_000, 30_000_000_000_000_000, -62_135_596_800_000_000),
    *(-50_000_000_000_000_000, 253_402_300_799_999_999),
]
_DATES = [
    0,
    -1,
    1,
    59,
    60,
    11_016,
    19_782,
    19_723,
    -719_162,
    2_932_896,
    -25_567,
    24_837,
    -36_524,
    3_000_000,
    -800_000,
]
_NUMBERS_AS_TEXT = [
    *("0", "-0", "+5", "12", " 42 ", "\t7\n", "1.5", "-1.9", ".5", "5.", ".", "-", "+", "", " "),
    *("127", "128", "-128", "-129", "32768", "2147483647", "2147483648", "9223372036854775807"),
    *("9223372036854775808", "-9223372036854775808", "-9223372036854775809", "1e3", "1E-2"),
    *("NaN", "nan", "NAN", "Infinity", "-inf", "+Infinity", "INF", "1d", "1.5f", "0x1p3", "1L"),
    *("1e400", "-1e400", "1e-400", "0.1", "123456789.123456789", "3.4028236e38", "16777217"),
    *("true", "T", "yes", "Y", "1", "f", "no", " False ", "N", "tru", "00012", "1_000", "１２"),
    *("1 2", "--1", "1..2", "1e", "0x10", "\x001", "1\x00", "-5.", "-.5", "9.999", "1e5d"),
]
_DAYS_AS_TEXT = [
    *("2024-01-02", "2024-1-2", "2024", "2024-02-30", "2024-02-29", "2023-02-29", " 2024-03-04 "),
    *("2024-01-02 10:11:12", "2024-01-02T", "2024-01-02x", "1582-10-10", "0001-01-01", "+2024-1-1"),
    *("-0044-03-15", "12345-01-02", "99999999-01-01", "2024-13-01", "2024-00-10", "2024-01-00"),
    *("24-01-02", "2024-001-02", "2024-01-", "2024-", "epoch", "2024/01/02", "0000-01-01"),
]
_TEXTS = [
    *("", " ", "a", "A", "abc", "ABC", "aBc", "  padded  ", "a%b_c", "a\\b", "x\x00y", "tab\t"),
    *(
        "é",
        "É",
        "ß",
        "ŉ",
        "İ",
        "ı",
        "ΑΣ",
        "ΑΣΑ",
        "ς",
        "ǆ",
        "漢字",
        "🙂",
        "a🙂b",
        "🙂🙂🙂",
        "e\u0301",
    ),
    *("\U0001d4d0", "\uffff", "ab" * 40, "é" * 33, "abcabcabc", "aaa", "xaaax", "\u00a0x\u00a0"),
    "a🙂 b-" * 60,
]


def name_of(data_type: DataType, index: int) -> str:
    """The name of a column of a type."""
    kept = string.ascii_lowercase + string.digits
    return "".join(c if c in kept else "_" for c in data_type.simple)[:24] + f"_{index}"


def columns() -> dict[tuple[DataType, int], AttributeReference]:
    """The columns of the table that expressions are computed of."""
    found = {}
    types = [t for family, types in TYPES.items() if family != "yearmonth" for t in types]
    for data_type, index in product(types, range(COLUMNS_OF_EACH)):
        found[data_type, index] = AttributeReference(
            name=name_of(data_type, index), type_=data_type
        )
    return found


COLUMNS = columns()


def values(data_type: DataType, random_: random.Random) -> list[Any]:
    """Some values of a type, extreme ones among them, in Arrow's plain form; a tenth is null."""
    return [None if random_.random() < 0.1 else _value(data_type, random_) for _ in range(ROWS)]


def _value(data_type: DataType, random_: random.Random) -> Any:
    pick = random_.choice
    match data_type:
        case DecimalType(precision=precision, scale=scale):
            digits = random_.randrange(1, precision + 1)
            number = pick((0, 1, 5, 10**digits - 1, random_.randrange(10**digits), 15, 25))
            return Decimal(f"{number % 10**precision * pick((1, -1))}e{-scale}")
        case DayTimeIntervalType():
            return pick(
                (0, 1, -1, _DAY, -_DAY - 1, 3_600_000_000, random_.randrange(-(10**13), 10**13))
            )
        case ArrayType(element_type=element):
            return [
                pick((None, *values(element, random_)[:2])) for _ in range(random_.randrange(5))
            ]
        case MapType():
            return {
                key: pick((None, 1, -7)) for key in random_.choices(_TEXTS, k=random_.randrange(3))
            }
        case StructType():
            return pick((None, {"a": pick((None, 1, 2)), "b": pick((None, "x", ""))}))
    kind = data_type.simple
    if kind in _BITS:
        half = 1 << _BITS[kind] - 1
        edges = (0, 1, -1, 2, 3, 7, -7, 10, half - 1, -half, half // 2, -half + 1)
        return pick((*edges, random_.randrange(-half, half), random_.randrange(-100, 100)))
    if kind in ("float", "double"):
        edges = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, float("nan"), float("inf"))
        more = (float("-inf"), 1e300, 5e-324, 127.9, -128.9, 32768.0, 2147483647.5, -2147483649.0)
        large = (9.223372036854775807e18, -9.3e18, 1e10, 3.0, 7.0, random_.uniform(-100, 100))
        between = random_.randrange(-20_000, 20_000) / 2 / 10 ** random_.randrange(6)
        found = pick((*edges, *more, *large, between, between, random_.uniform(-1e15, 1e15)))
        return float(np.float32(found)) if kind == "float" and abs(found) < 3e38 else found
    match kind:
        case "boolean":
            return pick((True, False))
        case "string":
            own = "".join(random_.choices("aAbß é漢🙂%_ ", k=random_.randrange(12)))
            return pick(
                (pick(_TEXTS), pick(_TEXTS), pick(_NUMBERS_AS_TEXT), pick(_DAYS_AS_TEXT), own)
            )
        case "binary":
            most = pick((6, 6, 6, 200))
            return bytes(random_.choices(b"\x00ab\xff\x80", k=random_.randrange(most)))
        case "date":
            return pick(
                (*_DATES, random_.randrange(-700_000, 2_900_000), random_.randrange(30_000))
            )
        case _:
            far = random_.randrange(-6 * 10**16, 25 * 10**16)
            return pick((*_TIMES, far, random_.randrange(2 * 10**15)))


_URLS = [
    *("http://spark.apache.org/path?x=1&a_1=%20b#ref", "https://u:p@Host-1.example.org:8080/a/b.c"),
    *(
        "/index.html?q=x&x=",
        "http://10.0.0.1/?xx=1&x=2&x=3",
        "http://a b/c",
        "ftp://h",
        "",
        "//h/p",
    ),
    *(
        "http://h?x=[1]",
        "https://h.org:/a;b=c,d/e@f",
        "http://é.org/",
        "http://h/%zz",
        "mailto:a@b",
    ),
    *(
        "http://h#",
        "-",
        "http://",
        "http://h?",
        "a/b",
        "a%20b%C3%A9+c",
        "x%2",
        "%e6%bc%a2",
        "http://x_y/p",
        "%ff",
    ),
    *("file:///etc/x", "http://256.1.1.1/", "http://h/a#b#c", "http://1.2.3/", "s3://bucket/key"),
    *("http://h/a|b", "/p?a=b?c=d", "http://-h/", "YQ==", "YWI=", "YWJj", "YWJ", "Y W J j", "%+f"),
    *("10/Oct/2000:13:55:36 -0700", "10/oct/2000:13:55:36 +0530", "10/Oct/2000:13:55:36 Z"),
]


def table() -> pa.Table:
    """The rows; the same for every run."""
    random_ = random.Random(20_26)
    arrays = {}
    for (data_type, _), column in COLUMNS.items():
        found = values(data_type, random_)
        if column == COLUMNS[STRING, 0]:
            found[: len(_URLS)] = _URLS
        arrays[column.name] = _array(found, data_type)
    return pa.table(arrays)


def _array(found: list[Any], data_type: DataType) -> pa.Array:
    match data_type.simple:
        case "date":
            return pa.array(found, pa.int32()).cast(pa.date32())
        case "timestamp":
            return pa.array(found, pa.int64()).cast(pa.timestamp("us", "UTC"))
        case "timestamp_ntz":
            return pa.array(found, pa.int64()).cast(pa.timestamp("us"))
        case "float":
            with np.errstate(over="ignore"):
                numbers = [None if v is None else np.float32(v) for v in found]
            return pa.array(numbers, pa.float32())
    kinds = {
        "boolean": pa.bool_(),
        "tinyint": pa.int8(),
        "smallint": pa.int16(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "double": pa.float64(),
        "string": pa.string(),
        "binary": pa.binary(),
    }
    match data_type:
        case DecimalType(precision=precision, scale=scale):
            return pa.array(found, pa.decimal128(precision, scale))
        case DayTimeIntervalType():
            return pa.array(found, pa.duration("us"))
        case ArrayType(element_type=element):
            return pa.array(found, pa.list_(kinds[element.simple]))
        case MapType():
            entries = [None if one is None else list(one.items()) for one in found]
            return pa.array(entries, pa.map_(pa.string(), pa.int32()))
        case StructType():
            return pa.array(found, pa.struct([("a", pa.int32()), ("b", pa.string())]))
    return pa.array(found, kinds[data_type.simple])


# ----------------------------------------------------------------------------------- expressions

_UNITS = ["year", "QUARTER", "mon", "week", "DAY", "hour", "Minute", "second", "millisecond"]
_ZONES = ("Europe/Berlin", "America/New_York", "+05:30", "UTC")
WORDS = ("b", "bc", "\\.", "-", "\\|", "\\\\", " ", "é", "🙂")
"""Patterns that stand for themselves, or for one sign each."""
PATTERNS = (
    *(
        r"\d+",
        r"^a.*c$",
        r"(?i)AB?",
        r"[^a-z]+",
        r"a|b$",
        r"(a+?)(b)?",
        r"\s+$",
        r"[\w.-]+",
        ".",
        "$",
    ),
    *(
        r"^(\S)",
        r"é|🙂{2}",
        r"(?:ab|a)(c|b)",
        r"[+-]?[0-9]*\.[0-9]+",
        r"\t|\\",
        r"x$|^a",
        r"[-a\]]",
    ),
    *(
        r"\b[a-cé]+\b",
        r"(\B.)",
        r"(?<first>[a-z])(?=\w)",
        r"a(?![a-z])(.)",
        r"(?<=[ab-])(.)",
        r"\p{Punct}|[\p{Upper}_]",
        r"(\P{ASCII}+)\b",
    ),
)
"""Of some `regexp_extract` and `regexp_replace` have no group 1, or may match nothing: Spark alone
computes these."""
_PRINTED = (
    *("%s", "a%s-%s%%%n", "%-8s|", "%9s|", "%.2s", "%5.1s", "%d", "%5d", "%-20d|", "%05d"),
    *("%+d", "% d", "%,d", "%,012d", "%+08d", "%x", "%X", "%016x", "%f", "%.2f", "%.0f", "%10.3f"),
    *("%-12.1f|", "%,.2f", "%012.2f", "%+.1f", "%+012.4f", "%.15f", "% ,.3f"),
)
PRINTED = {"format_string": _PRINTED, "printf": ("%s: %s",)}
SHOWN = (
    *("yyyy-MM-dd HH:mm:ss", "yy/M/d H:m:s", "EEEE, MMMM d y", "E MMM dd hh:mm a", "h D DDD"),
    *("yyyyMMddHHmmssSSS", "HH:mm:ss.SSSSSSSSS", "''yyyy'T'HH''"),
)
READ = ("dd/MMM/yyyy:HH:mm:ss Z", "yyyy-MM-dd", "yyyy-M-d", "yyyyMMdd", "HH:mm", "dd-MMM-yy")
CONSTANTS: dict[str, list[tuple[object, ...]]] = {
    "substring": [
        (1, 2),
        (0, 3),
        (-2, 1),
        (-5, 3),
        (3, 2**31 - 1),
        (2, 0),
        (2, -1),
        (-3, 100),
        (None, 1),
    ],
    "overlay": [(1, -1), (3, -1), (0, 2), (-2, 3), (-2, -1), (2, 0), (4, 100), (None, 1)],
    "concat_ws": [("-",), ("",), ("🙂 ",), (None,)],
    "trim": [(" ",), ("ab",), ("é🙂",), ("",), (None,)],
    "ltrim": [("ab",), ("é ",)],
    "rtrim": [("bc",), ("🙂",)],
    "contains": [("a",), ("",), ("漢",), (None,), ("%",)],
    "startswith": [("a",), ("",), ("🙂",)],
    "endswith": [("c",), ("",), ("é",)],
    "like": [
        ("a%",),
        ("%b%",),
        ("_b_",),
        ("",),
        ("%",),
        ("a\\%b\\_c",),
        ("_",),
        ("🙂%",),
        ("a.c",),
    ],
    "replace": [("a", "xy"), ("aa", "b"), ("", "z"), ("é", ""), ("🙂", "("), (None, "a")],
    "instr": [("a",), ("",), ("b",), ("🙂",), (None,)],
    "locate": [("a", 1), ("bc", 1), ("", 1), ("漢", 1)],
    **{name: [(p,) for p in PATTERNS] for name in ("rlike", "regexp", "regexp_like")},
    "regexp_extract": [(p, n) for p in PATTERNS for n in (0, 1)],
    "regexp_replace": [(p, by, 1) for p in PATTERNS for by in ("", "<$0>", "\\$1", "$1a")],
    **{name: [(p,) for p in SHOWN] for name in ("date_format", "from_unixtime")},
    **{
        name: [(p,) for p in READ]
        for name in ("gettimestamp", "unix_timestamp", "to_unix_timestamp")
    },
    "get_json_object": [("$.a",), ("$.a.b",), ("$['a']",)],
    "from_utc_timestamp": [(zone,) for zone in _ZONES],
    "to_utc_timestamp": [(zone,) for zone in _ZONES],
    "convert_timezone": [(one, other) for one in _ZONES for other in _ZONES[:2]],
    "split": [(pattern, -1) for pattern in (*PATTERNS, *WORDS)],
    "next_day": [(day,) for day in ("Mo", "TUE", "Sunday", "fr")],
    "months_between": [(True,), (False,)],
    "repeat": [(0,), (1,), (3,), (-1,)],
    "lpad": [(5, " "), (3, "xy"), (0, "a"), (-1, "a"), (7, ""), (6, "é🙂")],
    "rpad": [(5, " "), (3, "xy"), (0, "a"), (7, ""), (6, "🙂")],
    "encode": [("UTF-8",), ("utf-8",)],
    "decode": [("UTF-8",), ("utf-8",)],
    "parse_url": [(part,) for part in URL_PARTS] + [("QUERY", "x"), ("QUERY", "a_1")],
    "try_parse_url": [("HOST",), ("QUERY", "x")],
    "conv": [(10, 16), (16, 10), (36, -2), (2, 37), (None, 10)],
    "sequence": [(_DAY,)],
    "array_repeat": [(2,), (0,), (None,)],
    "array_insert": [(1,), (3,), (9,), (-1,), (-7,), (0,), (None,)],
    "split_part": [("a", 1), ("ab", 2), ("", 1), ("", 2), ("🙂", -1), (None, 1), ("-", -3)],
    "substring_index": [
        *(("a", 1), ("b", -1), (" ", 2), ("ab", -2), ("é", 1), ("🙂", -1), ("", 1), (".", 0)),
        *(("-", 2), ("-", -(2**31)), ("a", None), (":", 2**31 - 1)),
    ],
    "str_to_map": [(",", ":"), ("a", "b")],
    "regexp_extract_all": [(p, n) for p in PATTERNS for n in (0, 1)],
    "format_number": [(0,), (2,), (5,), (15,), (-1,), (None,)],
    "round": [(0,), (1,), (2,), (5,), (15,)],
    "bround": [(0,), (1,), (2,), (5,), (15,)],
    "date_trunc": [(unit,) for unit in (*_UNITS, "microsecond", "dd", "yy")],
    "timestampadd": [(unit,) for unit in sorted(DIFFERENCE_UNITS)],
    "timestampdiff": [(unit,) for unit in sorted(DIFFERENCE_UNITS)],
    "trunc": [(unit,) for unit in ("year", "MM", "quarter", "WEEK")],
    "date_add_ym_interval": [(1,), (-1,), (13,), (-25,)],
    "timestamp_add_ym_interval": [(1,), (-1,), (12,), (-1200,)],
}
_INSETS: dict[str, list[object]] = {
    "boolean": [True, None], "tinyint": [1, 2, -128], "smallint": [1, None, 7], "int": [1, 2, 3],
    "bigint": [-1, 10, 2**63 - 1], "decimal": [Decimal("0.01"), Decimal("-0.05")],
    "string": ["", "a", "🙂", "é"], "binary": [b"", b"a"], "date": [0, -1, 59],
    "timestamp": [0, 999_999, -1], "timestamp_ntz": [0, 1], "daytime": [0, 1, -_DAY - 1],
}  # fmt: skip


_ENTRIES = COLUMNS[TYPES["map"][0], 0]
_WORDS = COLUMNS[ArrayType(STRING), 0]
_OF_NESTED: dict[str, list[tuple[Expression, ...]]] = {
    "get_map_value": [(_ENTRIES, COLUMNS[STRING, 0]), (_ENTRIES, lit("a"))],
    "map_from_entries": [(Call(name="map_entries", arguments=(_ENTRIES,)),)],
    "flatten": [(Call(name="array", arguments=(_WORDS, COLUMNS[ArrayType(STRING), 1])),)],
    "array_join": [(_WORDS, lit(",")), (_WORDS, lit(""), lit("null"))],
}
"""Arguments of functions whose types depend on each other."""


def operations(name: str) -> Iterator[Expression]:
    """Expressions for all signatures of an operation; ANSI and not, where that matters."""
    operation = OPERATIONS[name]
    modes = (True, False) if operation.raises != "never" else (True,)
    for signature, ansi in product(operation.signatures, modes):
        yield from _of_signature(name, signature, ansi, variadic=operation.variadic)
        tried = operation.raises == "ANSI" and name in ("+", "-", "*", "/", "%")
        if tried and ansi and signature[0] != "daytime":
            for arguments in _arguments(name, signature, variadic=False):
                yield Call(name=name, arguments=arguments, ansi=True, options=("TRY",))


def _of_signature(
    name: str, signature: Signature, ansi: bool, *, variadic: bool
) -> Iterator[Expression]:
    for arguments in _arguments(name, signature, variadic=variadic):
        yield from _called(name, arguments, ansi)


def _sequences(arguments: tuple[Expression, ...]) -> Iterator[Expression]:
    """Short ones, up and down; the steps lead to their ends."""
    kind = arguments[0].data_type
    if kind in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        yield from _sequences_of_times(arguments[0], stepped=len(arguments) > 2)
        return

    def near(bound: Expression) -> Expression:
        return Call(name="pmod", arguments=(bound, Literal(value=20, type_=kind)))

    def negative(number: Expression) -> Expression:
        return Call(name="negative", arguments=(number,))

    first, last, *_ = map(near, arguments)
    if len(arguments) == 2:
        yield Call(name="sequence", arguments=(first, last))
        return
    step = Call(name="+", arguments=(near(arguments[2]), Literal(value=1, type_=kind)))
    yield Call(name="sequence", arguments=(negative(first), last, step))
    yield Call(name="sequence", arguments=(last, negative(first), negative(step)))


def _sequences_of_times(first: Expression, *, stepped: bool) -> Iterator[Expression]:
    """From times to those some days or hours later, and back."""
    kind, size = first.data_type, Call(name="pmod", arguments=(COLUMNS[INT, 1], lit(20)))
    if kind == DATE:
        last: Expression = Call(name="date_add", arguments=(first, size))
        steps = [_DAY, 3 * _DAY]
    else:
        interval = DayTimeIntervalType()
        length = Call(name="*", arguments=(size, lit(31)))
        zero = Literal(value=Decimal(0), type_=DecimalType(18, 6))
        hours = Call(name="make_dt_interval", arguments=(lit(0), length, lit(0), zero))
        last = Call(
            name="timestamp_add_interval",
            arguments=(first, Cast(child=hours, type_=interval)),
            time_zone="UTC",
        )
        steps = [_DAY, 7 * 3_600_000_000, _DAY + 5_400_000_000]
    if not stepped:
        yield Call(name="sequence", arguments=(first, last), time_zone="UTC")
        yield Call(name="sequence", arguments=(last, first), time_zone="UTC")
        return
    for step in steps:
        there, back = (Literal(value=s, type_=DayTimeIntervalType()) for s in (step, -step))
        yield Call(name="sequence", arguments=(first, last, there), time_zone="UTC")
        yield Call(name="sequence", arguments=(last, first, back), time_zone="UTC")


def _called(name: str, arguments: tuple[Expression, ...], ansi: bool) -> Iterator[Expression]:
    """An operation of arguments; a few have forms of their own."""
    match name:
        case "case":
            condition, value, other = arguments
            yield CaseWhen(conditions=(condition,), values=(value,), otherwise=other)
            again = Call(name="not", arguments=(condition,))
            yield CaseWhen(conditions=(condition, again), values=(value, other))
        case "get_struct_field":
            kind = arguments[0].data_type
            fields = kind.fields if isinstance(kind, StructType) else ()
            for ordinal, field in enumerate(fields):
                yield GetStructField(child=arguments[0], ordinal=ordinal, name=field.name)
        case "interval_of_text":
            number = Cast(child=COLUMNS[INT, 0], type_=STRING)
            seconds = Call(name="concat", arguments=(number, lit(" seconds")))
            for text in (*arguments, seconds):
                gap = Cast(child=text, type_=CalendarIntervalType())
                moved = (COLUMNS[TIMESTAMP, 0], gap)
                yield Call(name="timestamp_add_interval", arguments=moved, ansi=ansi)
        case "precise_timestamp_conversion":
            source = arguments[0].data_type
            target = TIMESTAMP if source == LONG else LONG
            there = PreciseTimestampConversion(child=arguments[0], from_type=source, to_type=target)
            yield there
            yield PreciseTimestampConversion(child=there, from_type=target, to_type=source)
        case "from_json" | "from_csv":
            read = (StructField("i", INT), StructField("s", STRING), StructField("t", TIMESTAMP))
            schema = StructType(read)
            yield Call(name=name, arguments=arguments, options=(schema, ()), time_zone="UTC")
        case "named_struct":
            named = [
                part
                for i, value in enumerate(arguments)
                for part in (Literal(value=f"f{i}", type_=STRING), value)
            ]
            yield Call(name=name, arguments=tuple(named))
        case "to_json":
            named = Call(
                name="named_struct",
                arguments=(lit("a b"), arguments[0], lit("c"), arguments[-1]),
            )
            keeps_null = (("ignoreNullFields", "false"),)
            for options in ((), (keeps_null,)):
                yield Call(name=name, arguments=(named,), options=options, time_zone="UTC")
        case "sequence":
            yield from _sequences(arguments)
        case "gettimestamp":
            for fails in (True, False) if ansi else (False,):
                options = (TIMESTAMP, "try_to_timestamp", fails)
                yield Call(
                    name=name, arguments=arguments, ansi=ansi, options=options, time_zone="UTC"
                )
        case "makedecimal":
            for options in ((18, 2), (12, 0), (18, 18)):
                yield Call(name=name, arguments=arguments, ansi=ansi, options=options)
        case _:
            yield Call(name=name, arguments=arguments, ansi=ansi, time_zone="UTC")


def _arguments(
    name: str, signature: Signature, *, variadic: bool
) -> Iterator[tuple[Expression, ...]]:
    """Columns and constants for a signature: columns alone, and each one by a constant once."""
    families = ["int" if code == "any" else code for code in signature]
    if variadic:
        families = [*families, families[-1]]
    if name == "inset":
        yield _in_set(families[0])
        return
    if name == "sort_array":
        for ascending in (True, False):
            yield COLUMNS[ArrayType(BINARY), 0], lit(ascending)
        return
    if name in _OF_NESTED:
        yield from (chosen for chosen in _OF_NESTED[name] if len(chosen) == len(signature))
        return
    if name.endswith(("make_timestamp", "make_timestamp_ltz", "make_timestamp_ntz")):
        *fields, second = (COLUMNS[INT, i % 3] for i in range(6))
        seconds = Cast(child=second, type_=DecimalType(16, 6), mode="LEGACY")
        zone = (lit("Europe/Berlin"),) if len(signature) > 6 else ()
        yield (*fields, seconds, *zone)
        yield (lit(2024), lit(2), lit(29), *fields[:2], seconds, *zone)
        return
    if name == "atleastnnonnulls":
        for column in (c for (_, index), c in COLUMNS.items() if index == 0):
            yield lit(1), column
            yield lit(2), column, COLUMNS[STRING, 1], COLUMNS[DOUBLE, 2]
        return
    if name in ("array", "map"):
        for column in (c for (_, index), c in COLUMNS.items() if index == 0):
            again = COLUMNS[column.type_, 1]
            if name == "array":
                yield column, again, Literal(value=None, type_=column.type_)
                continue
            yield lit("a"), column, lit("é🙂"), again
            yield lit(1), column, lit(2), Literal(value=None, type_=column.type_)
        return
    if name in PRINTED:
        for column in COLUMNS.values():
            for text in PRINTED[name]:
                yield Literal(value=text, type_=STRING), column, COLUMNS[STRING, 1]
        return
    if signature in (("any",), ("hashed",)):
        for column in (COLUMNS[t, 0] for ts in TYPES.values() for t in ts if (t, 0) in COLUMNS):
            yield (column, COLUMNS[STRING, 1]) if variadic else (column,)
        return
    plain = [code for code in families if not code.startswith("=")]
    constants = CONSTANTS[name] if len(plain) < len(families) else [()]
    constants = [one for one in constants if len(one) == len(families) - len(plain)]
    for types in _type_choices(plain):
        for chosen in constants:
            yield tuple(_filled(families, types, chosen))
        if len(plain) > 1 and len(plain) == len(families):
            yield from _with_literals(types)


def _type_choices(families: Sequence[str]) -> Iterator[tuple[DataType, ...]]:
    """Decimals of one type; for two places of different types too."""
    if "decimal" not in families:
        yield tuple(TYPES[code][0] for code in families)
        return
    for decimal in TYPES["decimal"]:
        yield tuple(decimal if code == "decimal" else TYPES[code][0] for code in families)
    if families == ["decimal", "decimal"]:
        yield TYPES["decimal"][0], TYPES["decimal"][1]
        yield DecimalType(7, 2), DecimalType(7, 2)


def _filled(
    families: Sequence[str], types: Sequence[DataType], constants: Sequence[object]
) -> Iterator[Expression]:
    columns_left, constants_left = iter(enumerate(types)), iter(constants)
    for code in families:
        if code.startswith("="):
            yield Literal(value=next(constants_left), type_=TYPES[code[1:]][0])
        else:
            index, data_type = next(columns_left)
            yield COLUMNS[data_type, index % COLUMNS_OF_EACH]


def _with_literals(types: Sequence[DataType]) -> Iterator[tuple[Expression, ...]]:
    """A constant in the first place, and none but null in the last; or the other way round."""
    random_ = random.Random(str(types))
    first = random_.randrange(2)
    for place, null in ((0, first == 0), (len(types) - 1, first != 0)):
        arguments: list[Expression] = [COLUMNS[t, i % 3] for i, t in enumerate(types)]
        value = _value(types[place], random_)
        arguments[place] = Literal(value=None if null else value, type_=types[place])
        yield tuple(arguments)


def _in_set(family: str) -> tuple[Expression, ...]:
    data_type = TYPES[family][0]
    items = (Literal(value=value, type_=data_type) for value in _INSETS[family])
    return COLUMNS[data_type, 0], *items


def casts() -> Iterator[Cast]:
    """All casts in all modes that there are for them."""
    modes: tuple[EvalMode, ...] = ("ANSI", "LEGACY", "TRY")
    for (source, target), mode in product(sorted(CASTS), modes):
        targets = (*TYPES[target], DecimalType(3, 1)) if target == "decimal" else TYPES[target]
        for a, b in product(TYPES[source], targets):
            if a != b and can_cast(a, b, mode):
                yield Cast(child=COLUMNS[a, 0], type_=b, mode=mode)
    for mode, family in product(modes, ("struct", "array", "map")):
        for kind in TYPES[family]:
            yield Cast(child=COLUMNS[kind, 0], type_=STRING, mode=mode)
        names = [COLUMNS[t, 0] for t in (DOUBLE, TIMESTAMP, DATE, ArrayType(STRING), BOOLEAN)]
        parts = [part for column in names for part in (lit(column.name), column)]
        yield Cast(child=Call(name="named_struct", arguments=tuple(parts)), type_=STRING, mode=mode)


_NESTED = ("struct", "array<", "map<st")


def trees(count: int, seed: int, *, ansi: bool) -> list[Expression]:
    """Random expressions of expressions over the whole table."""
    random_ = random.Random(seed)
    pool: dict[str, list[Expression]] = {}

    def add(expression: Expression) -> None:
        if expression.data_type == DayTimeIntervalType(end=0):
            return  # has no hours and seconds
        if isinstance(expression.data_type, ArrayType) and isinstance(
            expression.data_type.element_type, MapType
        ):
            return  # Spark refuses to compare maps
        pool.setdefault(_family(expression.data_type), []).append(expression)

    for column in COLUMNS.values():
        add(column)
    for types in TYPES.values():
        value = _value(types[0], random_) if types[0].simple[:6] not in (*_NESTED, "interv") else 7
        if types[0].simple[:6] not in _NESTED:
            add(Literal(value=value, type_=types[0]))
    made: list[Expression] = []
    names = list(OPERATIONS)
    while len(made) < count:
        name = random_.choice(names)
        if name in ("cast", "inset", "interval_of_text"):
            continue
        one = _random_tree(name, pool, random_, ansi=ansi)
        if isinstance(one, Call) and one.name == "<=>" and len(set(one.arguments)) == 1:
            continue  # Spark does not compute what is always equal to itself
        if one is None or unsupported(one, list(COLUMNS.values())) is not None:
            continue
        if isinstance(one.data_type, StructType) and not all(
            field.nullable for field in one.data_type.fields
        ):
            continue  # PySpark makes no Arrow column of one that is null where its field never is
        if one.foldable or "month" in one.data_type.simple:
            continue  # Spark computes it before there are rows, or does not give it as Arrow
        if isinstance(one, Call) and one.name in ("+", "*"):
            one = gather_constants(one)  # as plans have it: an overflow names both sides in order
        made.append(one)
        add(one)
        if random_.random() < 0.3:
            wanted = random_.choice([t for ts in TYPES.values() for t in ts if (t, 0) in COLUMNS])
            changed = Cast(
                child=one, type_=wanted, mode="ANSI" if ansi else "LEGACY", time_zone="UTC"
            )
            fine = can_cast(one.data_type, wanted, changed.mode)
            if fine and unsupported(changed, list(COLUMNS.values())) is None:
                add(changed)
    return made


def _random_tree(
    name: str, pool: dict[str, list[Expression]], random_: random.Random, *, ansi: bool
) -> Expression | None:
    signature = random_.choice(OPERATIONS[name].signatures)
    families = [random_.choice(list(TYPES)) if c in ("any", "hashed") else c for c in signature]
    # A null would be folded: then Spark computes nothing of the rest, which may fail.
    count = sum(code.startswith("=") for code in families)
    choices = [
        chosen
        for chosen in CONSTANTS.get(name, [()])
        if None not in chosen and len(chosen) >= count
    ]
    if not choices:
        return None
    constants = iter(random_.choice(choices))
    arguments: list[Expression] = []
    for code in families:
        if code.startswith("="):
            arguments.append(Literal(value=next(constants), type_=TYPES[code[1:]][0]))
            continue
        # The newest are the deepest.
        known = [e for e in pool.get(code, []) if _depth(e) < 5]
        if not known:
            return None
        arguments.append(random_.choice(known[-20:] if random_.random() < 0.7 else known))
    if len({a.data_type for a in arguments if isinstance(a.data_type, DecimalType)}) > 1:
        return None
    made = list(_called(name, tuple(arguments), ansi))
    return random_.choice(made) if made else None


def _depth(expression: Expression) -> int:
    return 1 + max((_depth(child) for child in expression.children), default=0)


def _family(data_type: DataType) -> str:
    for family, types in TYPES.items():
        if type(types[0]) is type(data_type):
            return family
    return "other"
