"""What tasks compute without Spark: the operations, and the types that each of them takes.

Whatever stands here gives exactly what Spark gives: tests/test_arrow_expressions.py compares every
line with a live Spark. What stands nowhere here is computed by Spark alone. The module imports
neither Arrow nor numpy: the planner's passes ask it.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import accepting_numbers as numbers
from . import accepting_texts as texts
from . import accepting_times as times
from . import print_formats
from .accepting_nested import different_keys
from .accepting_numbers import MOST_SIGNED
from .operation_facts import (
    FLOATS,
    ORDERED,
    TIMES,
    WHOLE,
    Operation,
    Signature,
    each,
    family,
    leaves,
    same,
    same_kinds,
)
from .program import Kind, Mode, decimal_of
from .supported_nested import NESTED

NUMBERS = (*WHOLE, *FLOATS)
NUMERIC = (*NUMBERS, "decimal")
_ANY = Operation((("any",),))
_PARTS = (*("int",) * 5, "decimal")
_TEXT_AND_CONSTANT = (("string", "=string"),)
_SMALL = ("tinyint", "smallint", "int")

OPERATIONS: dict[str, Operation] = {
    # Logic. `and`, `or`, `if`, `case` and `coalesce` compute what they need, row by row.
    **dict.fromkeys(("and", "or"), Operation((("boolean", "boolean"),))),
    "not": Operation((("boolean",),)),
    "if": Operation(
        tuple(("boolean", kind, kind) for kind in ORDERED),
        accepts=lambda given: given.kinds[1] == given.kinds[2],
    ),
    "case": Operation(tuple(("boolean", kind, kind) for kind in ORDERED)),
    "coalesce": Operation(same(ORDERED, 1), variadic=True, accepts=same_kinds),
    **dict.fromkeys(("isnull", "isnotnull"), _ANY),
    "isnan": Operation(same(FLOATS, 1)),
    "atleastnnonnulls": Operation((("=int", "any"),), variadic=True, eager=True),
    **dict.fromkeys(("=", "<", "<=", ">", ">="), Operation(same(ORDERED, 2), accepts=same_kinds)),
    "<=>": Operation(same(ORDERED, 2), accepts=same_kinds, eager=True),
    "in": Operation(same(ORDERED, 2), variadic=True, accepts=same_kinds, eager=True),
    "inset": Operation(
        tuple((kind, f"={kind}") for kind in ORDERED if kind not in FLOATS),
        variadic=True,
        accepts=same_kinds,
        eager=True,
    ),
    **dict.fromkeys(
        ("greatest", "least"),
        Operation(
            same((*ORDERED, "array", "struct"), 2),
            variadic=True,
            accepts=same_kinds,
            eager=True,
        ),
    ),
    # What the optimizer wraps around an expression.
    **dict.fromkeys(("knownnullable", "knownnotnull", "knownfloatingpointnormalized"), _ANY),
    "normalizenanandzero": Operation(same(FLOATS, 1)),
    # Numbers.
    **dict.fromkeys(
        ("+", "-"),
        Operation(same((*NUMERIC, "daytime"), 2), raises="ANSI", accepts=numbers.sum_fits),
    ),
    "*": Operation(same(NUMERIC, 2), raises="ANSI", accepts=numbers.product_fits),
    "/": Operation(
        (("double", "double"), ("decimal", "decimal")),
        raises="ANSI",
        right_first=True,
        accepts=numbers.quotient_fits,
    ),
    "div": Operation(
        same(("bigint", "decimal", "daytime"), 2),
        raises="ANSI",
        right_first=True,
        accepts=numbers.remainder_fits,
    ),
    **dict.fromkeys(
        ("%", "mod", "pmod"),
        Operation(
            same(NUMERIC, 2),
            raises="ANSI",
            right_first=True,
            accepts=numbers.remainder_fits,
        ),
    ),
    "negative": Operation(same((*NUMERIC, "daytime"), 1), raises="always"),
    "positive": Operation(same(NUMERIC, 1)),
    "abs": Operation(same(NUMERIC, 1), raises="always"),
    **dict.fromkeys(("&", "|", "^"), Operation(same(WHOLE, 2))),
    "~": Operation(same(WHOLE, 1)),
    **dict.fromkeys(
        ("<<", ">>", ">>>", "shiftleft", "shiftright", "shiftrightunsigned"),
        Operation(each(("int", "bigint"), ("int",))),
    ),
    **dict.fromkeys(
        ("floor", "ceil", "ceiling"),
        Operation(same(("double", "bigint", "decimal"), 1), raises="ANSI"),
    ),
    "bit_count": Operation(same((*WHOLE, "boolean"), 1)),
    **dict.fromkeys(("bit_get", "getbit"), Operation(each(WHOLE, ("int",)), raises="always")),
    **dict.fromkeys(("bitmap_bit_position", "bitmap_bucket_number"), Operation((("bigint",),))),
    "unscaledvalue": Operation((("decimal",),), accepts=numbers.decimal_in_long),
    "makedecimal": Operation((("bigint",),), raises="ANSI"),
    **dict.fromkeys(
        ("round", "bround"),
        Operation(
            each(NUMERIC, ("=int",)),
            raises="ANSI",
            accepts=numbers.few_places,
        ),
    ),
    **dict.fromkeys(
        (
            *("sqrt", "exp", "ln", "log10", "log1p", "log2", "signum", "sign", "rint", "cbrt"),
            *("asin", "acos", "atan", "sinh", "cosh", "tanh", "expm1", "sin", "cos", "sec", "csc"),
            *("degrees", "radians"),
        ),
        Operation((("double",),)),
    ),
    "factorial": Operation((("int",),)),
    "width_bucket": Operation((("double", "double", "double", "bigint"),)),
    **dict.fromkeys(("log", "pow", "power", "atan2"), Operation((("double", "double"),))),
    # Strings.
    **dict.fromkeys(("unhex", "upper", "lower", "reverse", "initcap"), Operation((("string",),))),
    **dict.fromkeys(
        ("length", "octet_length", "bit_length"), Operation((("string",), ("binary",)))
    ),
    **dict.fromkeys(("contains", "startswith", "endswith", "instr"), Operation(_TEXT_AND_CONSTANT)),
    "hex": Operation((("bigint",), ("string",), ("binary",))),
    "conv": Operation((("string", "=int", "=int"),), raises="ANSI"),
    **dict.fromkeys(("bin", "chr", "char"), Operation((("bigint",),))),
    "concat": Operation((("string",), ("array",)), variadic=True, eager=True, accepts=same_kinds),
    "concat_ws": Operation(
        (("=string", "string"), ("=string", "any")),
        variadic=True,
        eager=True,
        accepts=texts.are_joined,
    ),
    "substring": Operation(
        tuple((text, size, size) for text in ("string", "binary") for size in ("=int", "int"))
    ),
    **dict.fromkeys(("trim", "ltrim", "rtrim"), Operation((("string",), ("string", "=string")))),
    "overlay": Operation((("string", "string", "=int", "=int"),), accepts=texts.near_places),
    "like": Operation(_TEXT_AND_CONSTANT, accepts=texts.like_pattern),
    **dict.fromkeys(
        ("rlike", "regexp", "regexp_like"),
        Operation(_TEXT_AND_CONSTANT, accepts=texts.known_pattern),
    ),
    "regexp_extract": Operation(
        (("string", "=string", "=int"),), accepts=texts.known_group, slow=True
    ),
    "regexp_replace": Operation(
        (("string", "=string", "=string", "=int"),), accepts=texts.known_replacement, slow=True
    ),
    "regexp_extract_all": Operation(
        (("string", "=string", "=int"),), accepts=texts.known_group_never_empty, slow=True
    ),
    "split": Operation((("string", "=string", "=int"),), accepts=texts.known_separator),
    "substring_index": Operation((("string", "=string", "=int"),), accepts=texts.apart),
    "replace": Operation((("string", "=string", "=string"),)),
    "locate": Operation((("=string", "string", "=int"),), accepts=texts.from_start),
    "repeat": Operation((("string", "=int"),)),
    "elt": Operation(
        (("int", "string"), ("int", "binary")),
        variadic=True,
        raises="ANSI",
        eager=True,
        accepts=texts.same_texts,
    ),
    **dict.fromkeys(("lpad", "rpad"), Operation((("string", "=int", "=string"),))),
    **dict.fromkeys(
        ("format_string", "printf"),
        Operation(
            (("=string", "any"),), variadic=True, eager=True, accepts=print_formats.is_printed
        ),
    ),
    "format_number": Operation(each(NUMERIC, ("=int",)), accepts=numbers.shown_places),
    # Dates and times.
    **dict.fromkeys(
        (
            *("year", "quarter", "month", "dayofmonth", "day", "dayofyear", "dayofweek"),
            *("weekday", "weekofyear", "last_day", "unix_date", "dayname", "monthname"),
        ),
        Operation((("date",),)),
    ),
    **dict.fromkeys(
        ("hour", "minute", "second", "unix_micros", "unix_millis", "unix_seconds"),
        Operation(same(TIMES, 1)),
    ),
    "date_trunc": Operation(
        (("=string", "timestamp"),), raises="always", accepts=times.truncation_unit
    ),
    "trunc": Operation((("date", "=string"),), raises="always", accepts=times.truncation_unit),
    "date_from_unix_date": Operation((("int",),)),
    "timestamp_micros": Operation(same(WHOLE, 1)),
    "timestamp_millis": Operation(same(WHOLE, 1), raises="always"),
    "timestamp_seconds": Operation(
        same(NUMERIC, 1), raises="always", accepts=numbers.seconds_in_long
    ),
    **dict.fromkeys(("date_add", "date_sub"), Operation(each(("date",), _SMALL))),
    "datediff": Operation((("date", "date"),)),
    "subtract_dates": Operation((("date", "date"),), raises="always"),
    "subtract_timestamps": Operation(same(TIMES, 2)),
    "add_months": Operation((("date", "int"),), raises="always"),
    "date_add_ym_interval": Operation((("date", "=yearmonth"),), raises="always"),
    "timestamp_add_ym_interval": Operation(each(TIMES, ("=yearmonth",)), raises="always"),
    "timestamp_add_interval": Operation(each(TIMES, ("daytime",)), raises="always"),
    "interval_of_text": Operation((("string",),), raises="always"),
    "make_dt_interval": Operation(
        (("int", "int", "int", "decimal"),),
        raises="always",
        accepts=lambda given: given.kinds[3] == "decimal(18,6)",
    ),
    "multiply_interval": Operation(each(("daytime",), WHOLE), raises="always"),
    "divide_interval": Operation(each(("daytime",), WHOLE), raises="always"),
    "secondwithfraction": Operation(same(TIMES, 1)),
    **dict.fromkeys(
        (f"extractansiinterval{unit}" for unit in ("days", "hours", "minutes", "seconds")),
        Operation((("daytime",),)),
    ),
    "precise_timestamp_conversion": Operation((("timestamp",), ("timestamp_ntz",), ("bigint",))),
    "make_date": Operation((("int", "int", "int"),), raises="always"),
    **{
        f"{tried}make_timestamp{zoned}": Operation(
            (_PARTS,) if zoned == "_ntz" else (_PARTS, (*_PARTS, "=string")),
            raises="always",
            accepts=times.timestamp_parts,
        )
        for tried in ("", "try_")
        for zoned in ("", "_ltz", "_ntz")
    },
    "date_format": Operation(each(TIMES, ("=string",)), accepts=times.printed_format),
    "from_unixtime": Operation((("bigint", "=string"),), accepts=times.printed_format),
    "gettimestamp": Operation(
        each(("string", "date", *TIMES), ("=string",)), raises="always", accepts=times.read_format
    ),
    **dict.fromkeys(
        ("unix_timestamp", "to_unix_timestamp"),
        Operation(
            each(("string", "timestamp"), ("=string",)), raises="always", accepts=times.read_format
        ),
    ),
    "next_day": Operation((("date", "=string"),), accepts=times.weekday),
    **dict.fromkeys(
        ("from_utc_timestamp", "to_utc_timestamp"),
        Operation((("timestamp", "=string"),), accepts=times.known_zones),
    ),
    "convert_timezone": Operation(
        (("=string", "=string", "timestamp_ntz"),), accepts=times.known_zones
    ),
    "months_between": Operation((("timestamp", "timestamp", "=boolean"),), raises="always"),
    "timestampadd": Operation(
        each(("=string",), ("bigint",), TIMES), raises="always", accepts=times.difference_unit
    ),
    "timestampdiff": Operation(
        (("=string", "timestamp", "timestamp"),), raises="always", accepts=times.difference_unit
    ),
    # Bytes and URLs.
    "encode": Operation((("string", "=string"),), accepts=texts.utf8),
    "decode": Operation((("binary", "=string"),), raises="always", accepts=texts.utf8),
    "base64": Operation((("binary",),)),
    "unbase64": Operation((("string",),), raises="always", accepts=lambda given: not given.options),
    **dict.fromkeys(("url_decode", "try_url_decode"), Operation((("string",),), raises="always")),
    **dict.fromkeys(
        ("parse_url", "try_parse_url"),
        Operation(
            (("string", "=string"), ("string", "=string", "=string")),
            raises="always",
            accepts=texts.url_part,
        ),
    ),
    **NESTED,
}

CASTS: frozenset[Signature] = frozenset(
    {
        *each(NUMBERS, (*NUMBERS, "boolean")),
        *each(("boolean",), (*NUMBERS, "boolean", "decimal", "string")),
        *each(WHOLE, ("decimal", "string", "timestamp")),
        *each(FLOATS, ("decimal", "string")),
        *each(("decimal",), (*WHOLE, "double", "boolean", "decimal", "string")),
        *each(("string",), (*NUMBERS, "decimal", "boolean", "date", "binary")),
        *each(("date", *TIMES), ("date", *TIMES, "string")),
        ("daytime", "string"),
        *each(("timestamp",), (*WHOLE, *FLOATS)),
    }
)


TEXT_OF_BYTES = ("binary", "string")
"""A cast that Spark does of any bytes. Here what is no UTF-8 is an error, as Arrow has no such
strings: so only an engine that has none either computes it here."""


def can_cast(source: Kind, target: Kind, mode: Mode) -> bool:
    """Whether a cast is computed here."""
    if "void" in (source, target):
        return source == "void"
    if isinstance(source, tuple) and target == "string":
        return all((family(part), target) in CASTS or part == target for part in leaves(source))
    if isinstance(source, tuple) and isinstance(target, tuple):
        alike = source[0] == target[0] and len(source[2]) == len(target[2])
        if source[0] == "map" and source[2][0] != target[2][0]:
            return False  # two keys may become one
        return alike and all(map(can_cast, source[2], target[2], [mode] * len(source[2])))
    return source == target or (family(source), family(target)) in (*CASTS, TEXT_OF_BYTES)


def can_raise(name: str, kinds: Sequence[Kind], values: Sequence[object], mode: Mode) -> bool:
    """Whether an operation that can raise does so with these arguments."""
    if name in ("negative", "abs"):
        decimal = decimal_of(kinds[0])
        if decimal is not None:
            return decimal[0] > MOST_SIGNED
        return mode == "ANSI" and kinds[0] not in FLOATS
    if name in ("/", "%", "mod", "pmod", "div") and values[1] not in (..., None, 0):
        return name == "div" and values[1] == -1
    if name in ("floor", "ceil", "ceiling"):
        return kinds[0] == "double"
    if name in ("round", "bround"):
        return kinds[0] in WHOLE and (not isinstance(values[1], int) or values[1] < 0)
    if name == "map":
        return not different_keys(values)
    exact = kinds[0] not in FLOATS and decimal_of(kinds[0]) is None
    return exact or name in ("/", "%", "mod", "pmod", "div")


def by_way_of_double(source: Kind, target: Kind, mode: Mode) -> bool:
    """Whether Spark makes a decimal a double first, unless it is in a long by chance.

    A double below 2**31 goes on to the next whole number where six nines behind the point do not
    show it.
    """
    precision, scale = decimal_of(source) or (0, 0)
    return precision > 18 and scale > 6 and target in _SMALL and mode != "LEGACY"


def cast_raises(source: Kind, target: Kind, mode: Mode) -> bool:
    """Whether a cast that is computed here can raise."""
    if source == "date":
        return target in TIMES
    if (source, target) == TEXT_OF_BYTES:
        return True
    if isinstance(source, tuple) and isinstance(target, tuple):
        return any(map(cast_raises, source[2], target[2], [mode] * len(source[2])))
    if by_way_of_double(source, target, mode):
        return True
    if mode != "ANSI" or source == target or isinstance(source, tuple):
        return False
    if source == "string":
        return target != "binary"
    if source == "timestamp":
        return target in ("tinyint", "smallint", "int")
    if source in FLOATS and target == "string":
        return False
    if decimal_of(target) is not None or decimal_of(source) is not None:
        return target not in (*FLOATS, "boolean", "string")
    if source in WHOLE and target in WHOLE:
        return WHOLE.index(str(target)) < WHOLE.index(str(source))
    return source in FLOATS and target in WHOLE
