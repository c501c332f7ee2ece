"""What tasks compute without Spark: the operations, and the types that each of them takes.

Whatever stands here gives exactly what Spark gives: tests/test_arrow_expressions.py compares every
line with a live Spark. What stands nowhere here is computed by Spark alone. The module imports
neither Arrow nor numpy: the planner's passes ask it.
"""

from __future__ import annotations

from . import accepting, print_formats
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
)
from .program import Kind, Mode, decimal_of
from .supported_nested import NESTED

_PARTS = (*("int",) * 5, "decimal")
_TEXT_AND_CONSTANT = (("string", "=string"),)
_WHOLES = ("floor", "ceil", "ceiling")
_SMALL = ("tinyint", "smallint", "int")

OPERATIONS: dict[str, Operation] = {
    # Logic. `and`, `or`, `if`, `case` and `coalesce` compute what they need, row by row.
    "and": Operation((("boolean", "boolean"),)),
    "or": Operation((("boolean", "boolean"),)),
    "not": Operation((("boolean",),)),
    "if": Operation(
        tuple(("boolean", kind, kind) for kind in ORDERED),
        accepts=lambda kinds, *_: kinds[1] == kinds[2],
    ),
    "case": Operation(tuple(("boolean", kind, kind) for kind in ORDERED)),
    "coalesce": Operation(same(ORDERED, 1), variadic=True, accepts=accepting.same_kinds),
    "isnull": Operation((("any",),)),
    "isnotnull": Operation((("any",),)),
    "isnan": Operation(same(FLOATS, 1)),
    **{
        name: Operation(same(ORDERED, 2), accepts=accepting.same_kinds)
        for name in ("=", "<", "<=", ">", ">=")
    },
    "<=>": Operation(same(ORDERED, 2), accepts=accepting.same_kinds, eager=True),
    "in": Operation(same(ORDERED, 2), variadic=True, accepts=accepting.same_kinds, eager=True),
    "inset": Operation(
        tuple((kind, f"={kind}") for kind in ORDERED if kind not in FLOATS),
        variadic=True,
        accepts=accepting.same_kinds,
        eager=True,
    ),
    **{
        name: Operation(
            same((*ORDERED, "array", "struct"), 2),
            variadic=True,
            accepts=accepting.same_kinds,
            eager=True,
        )
        for name in ("greatest", "least")
    },
    # What the optimizer wraps around an expression.
    "knownnullable": Operation((("any",),)),
    "knownnotnull": Operation((("any",),)),
    "knownfloatingpointnormalized": Operation((("any",),)),
    "normalizenanandzero": Operation(same(FLOATS, 1)),
    # Numbers.
    "+": Operation(
        same((*WHOLE, *FLOATS, "decimal", "daytime"), 2), raises="ANSI", accepts=accepting.sum_fits
    ),
    "-": Operation(
        same((*WHOLE, *FLOATS, "decimal", "daytime"), 2), raises="ANSI", accepts=accepting.sum_fits
    ),
    "*": Operation(
        same((*WHOLE, *FLOATS, "decimal"), 2), raises="ANSI", accepts=accepting.product_fits
    ),
    "/": Operation(
        (("double", "double"), ("decimal", "decimal")),
        raises="ANSI",
        right_first=True,
        accepts=accepting.divides,
    ),
    "div": Operation(same(("bigint", "daytime"), 2), raises="ANSI", right_first=True),
    "%": Operation(same((*WHOLE, *FLOATS), 2), raises="ANSI", right_first=True),
    "mod": Operation(same((*WHOLE, *FLOATS), 2), raises="ANSI", right_first=True),
    "pmod": Operation(same((*WHOLE, *FLOATS), 2), raises="ANSI", right_first=True),
    "negative": Operation(
        same((*WHOLE, *FLOATS, "decimal", "daytime"), 1), raises="ANSI", accepts=accepting.short
    ),
    "positive": Operation(same((*WHOLE, *FLOATS, "decimal"), 1)),
    "abs": Operation(same((*WHOLE, *FLOATS, "decimal"), 1), raises="ANSI", accepts=accepting.short),
    **{name: Operation(same(WHOLE, 2)) for name in ("&", "|", "^")},
    "~": Operation(same(WHOLE, 1)),
    **{
        name: Operation(each(("int", "bigint"), ("int",)))
        for name in ("<<", ">>", ">>>", "shiftleft", "shiftright", "shiftrightunsigned")
    },
    **{
        name: Operation(
            same(("double", "bigint", "decimal"), 1), raises="ANSI", accepts=accepting.short
        )
        for name in _WHOLES
    },
    "unscaledvalue": Operation((("decimal",),), accepts=accepting.in_a_long),
    "makedecimal": Operation((("bigint",),), raises="ANSI", accepts=accepting.in_a_long),
    **{
        name: Operation((("double", "=int"),), accepts=accepting.few_digits)
        for name in ("round", "bround")
    },
    "sqrt": Operation((("double",),)),
    "exp": Operation((("double",),)),
    "ln": Operation((("double",),)),
    "log": Operation((("double", "double"),)),
    "signum": Operation((("double",),)),
    "sign": Operation((("double",),)),
    # Strings.
    "hex": Operation((("bigint",), ("string",), ("binary",))),
    "unhex": Operation((("string",),)),
    "conv": Operation((("string", "=int", "=int"),), raises="ANSI"),
    "bin": Operation((("bigint",),)),
    "upper": Operation((("string",),)),
    "lower": Operation((("string",),)),
    "length": Operation((("string",), ("binary",))),
    "octet_length": Operation((("string",), ("binary",))),
    "bit_length": Operation((("string",), ("binary",))),
    "reverse": Operation((("string",),)),
    "concat": Operation(
        (("string",), ("array",)), variadic=True, eager=True, accepts=accepting.same_kinds
    ),
    "concat_ws": Operation((("=string", "string"),), variadic=True, eager=True),
    "substring": Operation((("string", "=int", "=int"), ("string", "int", "int"))),
    **{
        name: Operation((("string",), ("string", "=string"))) for name in ("trim", "ltrim", "rtrim")
    },
    "overlay": Operation((("string", "string", "=int", "=int"),), accepts=accepting.is_near),
    "contains": Operation(_TEXT_AND_CONSTANT),
    "startswith": Operation(_TEXT_AND_CONSTANT),
    "endswith": Operation(_TEXT_AND_CONSTANT),
    "like": Operation(_TEXT_AND_CONSTANT, accepts=accepting.is_pattern),
    **{
        name: Operation(_TEXT_AND_CONSTANT, accepts=accepting.is_matched)
        for name in ("rlike", "regexp", "regexp_like")
    },
    "regexp_extract": Operation((("string", "=string", "=int"),), accepts=accepting.is_extracted),
    "regexp_replace": Operation(
        (("string", "=string", "=string", "=int"),), accepts=accepting.is_replaced
    ),
    "regexp_extract_all": Operation(
        (("string", "=string", "=int"),), accepts=accepting.is_all_extracted
    ),
    "split": Operation((("string", "=string", "=int"),), accepts=accepting.is_divided),
    "initcap": Operation((("string",),)),
    "replace": Operation((("string", "=string", "=string"),)),
    "instr": Operation(_TEXT_AND_CONSTANT),
    "locate": Operation((("=string", "string", "=int"),), accepts=accepting.from_start),
    "repeat": Operation((("string", "=int"),)),
    "lpad": Operation((("string", "=int", "=string"),)),
    "rpad": Operation((("string", "=int", "=string"),)),
    **{
        name: Operation(
            (("=string", "any"),), variadic=True, eager=True, accepts=print_formats.is_printed
        )
        for name in ("format_string", "printf")
    },
    "format_number": Operation(
        each((*WHOLE, *FLOATS, "decimal"), ("=int",)), accepts=accepting.is_number_format
    ),
    # Dates and times.
    **{
        name: Operation((("date",),))
        for name in (
            *("year", "quarter", "month", "dayofmonth", "day", "dayofyear", "dayofweek"),
            *("weekday", "weekofyear", "last_day"),
        )
    },
    **{name: Operation(same(TIMES, 1)) for name in ("hour", "minute", "second")},
    "date_trunc": Operation(
        (("=string", "timestamp"),), raises="always", accepts=accepting.is_unit
    ),
    "trunc": Operation((("date", "=string"),), raises="always", accepts=accepting.is_unit),
    **{name: Operation(same(TIMES, 1)) for name in ("unix_micros", "unix_millis", "unix_seconds")},
    "unix_date": Operation((("date",),)),
    "date_from_unix_date": Operation((("int",),)),
    "timestamp_micros": Operation(same(WHOLE, 1)),
    "timestamp_millis": Operation(same(WHOLE, 1), raises="always"),
    "timestamp_seconds": Operation(
        same((*WHOLE, *FLOATS, "decimal"), 1), raises="always", accepts=accepting.in_micros
    ),
    "date_add": Operation(each(("date",), _SMALL)),
    "date_sub": Operation(each(("date",), _SMALL)),
    "datediff": Operation((("date", "date"),)),
    "subtract_dates": Operation((("date", "date"),), raises="always"),
    "subtract_timestamps": Operation(same(TIMES, 2)),
    "add_months": Operation((("date", "int"),), raises="always"),
    "date_add_ym_interval": Operation((("date", "=yearmonth"),), raises="always"),
    "timestamp_add_ym_interval": Operation(each(TIMES, ("=yearmonth",)), raises="always"),
    "timestamp_add_interval": Operation(each(TIMES, ("daytime",)), raises="always"),
    "make_dt_interval": Operation(
        (("int", "int", "int", "decimal"),),
        raises="always",
        accepts=lambda kinds, *_: kinds[3] == "decimal(18,6)",
    ),
    "divide_interval": Operation(each(("daytime",), WHOLE), raises="always"),
    "extractansiintervaldays": Operation((("daytime",),)),
    "precise_timestamp_conversion": Operation((("timestamp",), ("timestamp_ntz",), ("bigint",))),
    "make_date": Operation((("int", "int", "int"),), raises="always"),
    **{
        f"{tried}make_timestamp{zoned}": Operation(
            (_PARTS,) if zoned == "_ntz" else (_PARTS, (*_PARTS, "=string")),
            raises="always",
            accepts=accepting.are_parts,
        )
        for tried in ("", "try_")
        for zoned in ("", "_ltz", "_ntz")
    },
    "date_format": Operation(each(TIMES, ("=string",)), accepts=accepting.is_shown),
    "from_unixtime": Operation((("bigint", "=string"),), accepts=accepting.is_shown),
    "gettimestamp": Operation(
        each(("string", "date", *TIMES), ("=string",)), raises="always", accepts=accepting.is_read
    ),
    **{
        name: Operation(
            each(("string", "timestamp"), ("=string",)), raises="always", accepts=accepting.is_read
        )
        for name in ("unix_timestamp", "to_unix_timestamp")
    },
    "next_day": Operation((("date", "=string"),), accepts=accepting.is_weekday),
    "from_utc_timestamp": Operation((("timestamp", "=string"),), accepts=accepting.are_zones),
    "to_utc_timestamp": Operation((("timestamp", "=string"),), accepts=accepting.are_zones),
    "convert_timezone": Operation(
        (("=string", "=string", "timestamp_ntz"),), accepts=accepting.are_zones
    ),
    "months_between": Operation((("timestamp", "timestamp", "=boolean"),), raises="always"),
    "timestampadd": Operation(
        each(("=string",), ("bigint",), TIMES), raises="always", accepts=accepting.is_difference
    ),
    "timestampdiff": Operation(
        (("=string", "timestamp", "timestamp"),), raises="always", accepts=accepting.is_difference
    ),
    # Bytes and URLs.
    "decode": Operation((("binary", "=string"),), raises="always", accepts=accepting.is_utf8),
    "unbase64": Operation(
        (("string",),), raises="always", accepts=lambda kinds, values, options: not options
    ),
    **{
        name: Operation((("string",),), raises="always")
        for name in ("url_decode", "try_url_decode")
    },
    **{
        name: Operation(
            (("string", "=string"), ("string", "=string", "=string")),
            raises="always",
            accepts=accepting.is_url_part,
        )
        for name in ("parse_url", "try_parse_url")
    },
    **NESTED,
}

NUMBERS = (*WHOLE, *FLOATS)
CASTS: frozenset[Signature] = frozenset(
    {
        *each(NUMBERS, (*NUMBERS, "boolean")),
        *each(("boolean",), (*NUMBERS, "boolean", "decimal", "string")),
        *each(WHOLE, ("decimal", "string", "timestamp")),
        *each(FLOATS, ("decimal", "string")),
        *each(("decimal",), (*WHOLE, "double", "boolean", "decimal", "string")),
        *each(("string",), (*NUMBERS, "decimal", "boolean", "date", "binary")),
        *each(("date", *TIMES), ("date", *TIMES, "string")),
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
    if (decimal_of(source) or (0, 0))[0] > 18 and target in _SMALL and mode != "LEGACY":
        return False  # Spark checks these by way of a double, unless they are short by chance
    if isinstance(source, tuple) and target == "string":
        return all((family(part), target) in CASTS or part == target for part in leaves(source))
    if isinstance(source, tuple) and isinstance(target, tuple):
        alike = source[0] == target[0] and len(source[2]) == len(target[2])
        if source[0] == "map" and source[2][0] != target[2][0]:
            return False  # two keys may become one
        return alike and all(map(can_cast, source[2], target[2], [mode] * len(source[2])))
    return source == target or (family(source), family(target)) in (*CASTS, TEXT_OF_BYTES)


def cast_raises(source: Kind, target: Kind, mode: Mode) -> bool:
    """Whether a cast that is computed here can raise."""
    if source == "date":
        return target in TIMES
    if (source, target) == TEXT_OF_BYTES:
        return True
    if isinstance(source, tuple) and isinstance(target, tuple):
        return any(map(cast_raises, source[2], target[2], [mode] * len(source[2])))
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
