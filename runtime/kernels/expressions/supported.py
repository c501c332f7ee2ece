"""What tasks compute without Spark: the operations, and the types that each of them takes.

Whatever stands here gives exactly what Spark gives: tests/test_arrow_expressions.py compares every
line with a live Spark. What stands nowhere here is computed by Spark alone. The module imports
neither Arrow nor numpy: the planner's passes ask it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal as Lit

from . import accepting, print_formats
from .program import Kind, Mode, decimal_of

WHOLE = ("tinyint", "smallint", "int", "bigint")
FLOATS = ("float", "double")
TIMES = ("timestamp", "timestamp_ntz")
ORDERED = (*WHOLE, *FLOATS, "decimal", "boolean", "string", "binary", "date", *TIMES, "daytime")
"""Types whose values can be compared. All of them can be columns."""

HASHED = ORDERED[:-1]

Signature = tuple[str, ...]
"""The types of the arguments; `decimal` is any decimal, `any` any type, `hashed` any but intervals
and structs; one that begins with `=` takes constants only."""


@dataclass(frozen=True)
class Operation:
    """What is known of an operation.

    Attributes:
        signatures: the types that it takes.
        variadic: whether the last argument may be given more than once.
        raises: whether it can raise: `ANSI`, only where a value that does not fit is an error.
        right_first: whether Spark computes the second argument first.
        eager: whether Spark computes all arguments, null or not; if not, an argument is computed
            only where none before it is null.
        accepts: what else must hold, given the kinds of the arguments, their constant values
            (None: no constant) and the options of the call.
    """

    signatures: tuple[Signature, ...]
    variadic: bool = False
    raises: Lit["never", "ANSI", "always"] = "never"
    right_first: bool = False
    eager: bool = False
    accepts: Callable[[Sequence[Kind], Sequence[object], Sequence[object]], bool] | None = None


def _same(kinds: Sequence[str], count: int) -> tuple[Signature, ...]:
    return tuple((kind,) * count for kind in kinds)


def _each(*kinds: Sequence[str]) -> tuple[Signature, ...]:
    return tuple(product(*kinds))


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
    "coalesce": Operation(_same(ORDERED, 1), variadic=True, accepts=accepting.same_kinds),
    "isnull": Operation((("any",),)),
    "isnotnull": Operation((("any",),)),
    "isnan": Operation(_same(FLOATS, 1)),
    **{
        name: Operation(_same(ORDERED, 2), accepts=accepting.same_kinds)
        for name in ("=", "<", "<=", ">", ">=")
    },
    "<=>": Operation(_same(ORDERED, 2), accepts=accepting.same_kinds, eager=True),
    "in": Operation(_same(ORDERED, 2), variadic=True, accepts=accepting.same_kinds, eager=True),
    "inset": Operation(
        tuple((kind, f"={kind}") for kind in ORDERED if kind not in FLOATS),
        variadic=True,
        accepts=accepting.same_kinds,
        eager=True,
    ),
    "greatest": Operation(
        _same(ORDERED, 2), variadic=True, accepts=accepting.same_kinds, eager=True
    ),
    "least": Operation(_same(ORDERED, 2), variadic=True, accepts=accepting.same_kinds, eager=True),
    # What the optimizer wraps around an expression.
    "knownnullable": Operation((("any",),)),
    "knownnotnull": Operation((("any",),)),
    "knownfloatingpointnormalized": Operation((("any",),)),
    "normalizenanandzero": Operation(_same(FLOATS, 1)),
    # Numbers.
    "+": Operation(
        _same((*WHOLE, *FLOATS, "decimal", "daytime"), 2), raises="ANSI", accepts=accepting.sum_fits
    ),
    "-": Operation(
        _same((*WHOLE, *FLOATS, "decimal", "daytime"), 2), raises="ANSI", accepts=accepting.sum_fits
    ),
    "*": Operation(
        _same((*WHOLE, *FLOATS, "decimal"), 2), raises="ANSI", accepts=accepting.product_fits
    ),
    "/": Operation(
        (("double", "double"), ("decimal", "decimal")),
        raises="ANSI",
        right_first=True,
        accepts=accepting.divides,
    ),
    "div": Operation(_same(("bigint", "daytime"), 2), raises="ANSI", right_first=True),
    "%": Operation(_same((*WHOLE, *FLOATS), 2), raises="ANSI", right_first=True),
    "mod": Operation(_same((*WHOLE, *FLOATS), 2), raises="ANSI", right_first=True),
    "pmod": Operation(_same((*WHOLE, *FLOATS), 2), raises="ANSI", right_first=True),
    "negative": Operation(
        _same((*WHOLE, *FLOATS, "decimal", "daytime"), 1), raises="ANSI", accepts=accepting.short
    ),
    "positive": Operation(_same((*WHOLE, *FLOATS, "decimal"), 1)),
    "abs": Operation(
        _same((*WHOLE, *FLOATS, "decimal"), 1), raises="ANSI", accepts=accepting.short
    ),
    **{name: Operation(_same(WHOLE, 2)) for name in ("&", "|", "^")},
    "~": Operation(_same(WHOLE, 1)),
    **{
        name: Operation(_each(("int", "bigint"), ("int",)))
        for name in ("<<", ">>", ">>>", "shiftleft", "shiftright", "shiftrightunsigned")
    },
    **{
        name: Operation(
            _same(("double", "bigint", "decimal"), 1), raises="ANSI", accepts=accepting.short
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
    "bin": Operation((("bigint",),)),
    "upper": Operation((("string",),)),
    "lower": Operation((("string",),)),
    "length": Operation((("string",), ("binary",))),
    "octet_length": Operation((("string",), ("binary",))),
    "bit_length": Operation((("string",), ("binary",))),
    "reverse": Operation((("string",),)),
    "concat": Operation((("string",),), variadic=True, eager=True),
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
        _each((*WHOLE, *FLOATS, "decimal"), ("=int",)), accepts=accepting.is_number_format
    ),
    # Dates and times.
    **{
        name: Operation((("date",),))
        for name in (
            *("year", "quarter", "month", "dayofmonth", "day", "dayofyear", "dayofweek"),
            *("weekday", "weekofyear", "last_day"),
        )
    },
    **{name: Operation(_same(TIMES, 1)) for name in ("hour", "minute", "second")},
    "date_trunc": Operation(
        (("=string", "timestamp"),), raises="always", accepts=accepting.is_unit
    ),
    "trunc": Operation((("date", "=string"),), raises="always", accepts=accepting.is_unit),
    **{name: Operation(_same(TIMES, 1)) for name in ("unix_micros", "unix_millis", "unix_seconds")},
    "unix_date": Operation((("date",),)),
    "date_from_unix_date": Operation((("int",),)),
    "timestamp_micros": Operation(_same(WHOLE, 1)),
    "timestamp_millis": Operation(_same(WHOLE, 1), raises="always"),
    "timestamp_seconds": Operation(_same(WHOLE, 1), raises="always"),
    "date_add": Operation(_each(("date",), _SMALL)),
    "date_sub": Operation(_each(("date",), _SMALL)),
    "datediff": Operation((("date", "date"),)),
    "subtract_dates": Operation((("date", "date"),), raises="always"),
    "subtract_timestamps": Operation(_same(TIMES, 2)),
    "add_months": Operation((("date", "int"),), raises="always"),
    "date_add_ym_interval": Operation((("date", "=yearmonth"),), raises="always"),
    "timestamp_add_ym_interval": Operation(_each(TIMES, ("=yearmonth",)), raises="always"),
    "timestamp_add_interval": Operation(_each(TIMES, ("daytime",)), raises="always"),
    "make_dt_interval": Operation(
        (("int", "int", "int", "decimal"),),
        raises="always",
        accepts=lambda kinds, *_: kinds[3] == "decimal(18,6)",
    ),
    "divide_interval": Operation(_each(("daytime",), WHOLE), raises="always"),
    "extractansiintervaldays": Operation((("daytime",),)),
    "precise_timestamp_conversion": Operation((("timestamp",), ("timestamp_ntz",), ("bigint",))),
    "date_format": Operation(_each(TIMES, ("=string",)), accepts=accepting.is_shown),
    "from_unixtime": Operation((("bigint", "=string"),), accepts=accepting.is_shown),
    "gettimestamp": Operation(_TEXT_AND_CONSTANT, raises="always", accepts=accepting.is_read),
    **{
        name: Operation(
            _each(("string", "timestamp"), ("=string",)), raises="always", accepts=accepting.is_read
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
    # Arrays and maps.
    "array": Operation(_same(("any",), 1), variadic=True, eager=True, accepts=accepting.same_kinds),
    "map": Operation((("any", "any"),), variadic=True, eager=True, accepts=accepting.has_keys),
    "slice": Operation((("array", "=int", "=int"),), accepts=accepting.is_part),
    "map_from_arrays": Operation(
        (("array", "array"),), raises="always", accepts=accepting.have_keys
    ),
    "sort_array": Operation((("array", "=boolean"),), accepts=accepting.of_bytes),
    "split_part": Operation(
        (("string", "=string", "=int"),), accepts=lambda kinds, values, _: values[2] != 0
    ),
    "str_to_map": Operation(
        (("string", "=string", "=string"),), raises="always", accepts=accepting.are_plain_signs
    ),
    # Structs and hashes.
    "to_json": Operation((("any",),), variadic=True, eager=True),
    "named_struct": Operation(_same(("any",), 1), variadic=True, eager=True),
    "get_struct_field": Operation((("struct",),)),
    "from_json": Operation((("string",),), raises="always", accepts=accepting.is_column),
    "get_json_object": Operation(_TEXT_AND_CONSTANT, raises="always", accepts=accepting.is_path),
    "hash": Operation((("hashed",),), variadic=True, eager=True, accepts=accepting.default_seed),
    "xxhash64": Operation(
        (("hashed",),), variadic=True, eager=True, accepts=accepting.default_seed
    ),
}

NUMBERS = (*WHOLE, *FLOATS)
CASTS: frozenset[Signature] = frozenset(
    {
        *_each(NUMBERS, (*NUMBERS, "boolean")),
        *_each(("boolean",), (*NUMBERS, "boolean", "decimal", "string")),
        *_each(WHOLE, ("decimal", "string", "timestamp")),
        *_each(FLOATS, ("decimal", "string")),
        *_each(("decimal",), (*WHOLE, "double", "boolean", "decimal")),
        *_each(("string",), (*NUMBERS, "decimal", "boolean", "date", "binary")),
        *_each(("date", *TIMES), ("date", *TIMES, "string")),
        *_each(("timestamp",), (*WHOLE, *FLOATS)),
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
    return source == target or (family(source), family(target)) in (*CASTS, TEXT_OF_BYTES)


def cast_raises(source: Kind, target: Kind, mode: Mode) -> bool:
    """Whether a cast that is computed here can raise."""
    if source == "date":
        return target in TIMES
    if (source, target) == TEXT_OF_BYTES:
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


def leaves(kind: Kind) -> Iterator[Kind]:
    """The kinds of all values in one."""
    if isinstance(kind, tuple):
        for part in kind[2]:
            yield from leaves(part)
    else:
        yield kind


def family(kind: Kind) -> str:
    """A kind as signatures name it."""
    if isinstance(kind, tuple):
        return kind[0]
    return "decimal" if kind.startswith("decimal(") else kind


def takes(operation: Operation, kinds: Sequence[Kind], values: Sequence[object]) -> bool:
    """Whether a signature of an operation fits arguments; `values` has `...` for no constant."""
    return any(_fits(operation, signature, kinds, values) for signature in operation.signatures)


def _fits(
    operation: Operation, signature: Signature, kinds: Sequence[Kind], values: Sequence[object]
) -> bool:
    more = len(kinds) - len(signature)
    if more < 0 or (more and not operation.variadic):
        return False
    wanted = (*signature, *(signature[-1:] * more))
    return all(
        (code.lstrip("=") in ("any", family(kind)) or (code == "hashed" and family(kind) in HASHED))
        and (not code.startswith("=") or value is not ...)
        for code, kind, value in zip(wanted, kinds, values, strict=True)
    )
