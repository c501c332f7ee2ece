"""What tasks compute without Spark: the operations, and the types that each of them takes.

Whatever stands here gives exactly what Spark gives: tests/test_arrow_expressions.py compares every
line with a live Spark. What stands nowhere here is computed by Spark alone. The module imports
neither Arrow nor numpy: the planner's passes ask it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal as Lit

from ..json_support import path_names
from . import patterns, time_formats
from .program import Kind, Mode, decimal_of
from .zone_names import known_zone

WHOLE = ("tinyint", "smallint", "int", "bigint")
FLOATS = ("float", "double")
TIMES = ("timestamp", "timestamp_ntz")
ORDERED = (*WHOLE, *FLOATS, "decimal", "boolean", "string", "binary", "date", *TIMES, "daytime")
"""Types whose values can be compared. All of them can be columns."""

HASHED = ORDERED[:-1]

DATE_UNITS = frozenset(("WEEK", "MON", "MONTH", "MM", "QUARTER", "YEAR", "YYYY", "YY"))
CLOCK_UNITS = frozenset(("DAY", "DD", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"))
"""What dates, and beside it timestamps, are truncated to."""

_DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
WEEKDAYS = {name[:size]: i for i, name in enumerate(_DAYS) for size in (2, 3, len(name))}
"""How `next_day` is told a day, and its place from Monday."""

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


def _sum_fits(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether the sum of two decimals keeps all its digits."""
    sides = [decimal_of(kind) for kind in kinds]
    if None in sides:
        return True
    (p, s), (q, t) = (side for side in sides if side is not None)
    return max(p - s, q - t) + max(s, t) + 1 <= 38


def _product_fits(kinds: Sequence[Kind], *_: object) -> bool:
    sides = [decimal_of(kind) for kind in kinds]
    if None in sides:
        return True
    (p, _s), (q, _t) = (side for side in sides if side is not None)
    return p + q + 1 <= 38


def _short(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether a decimal has 34 digits at most: Spark rounds longer ones to so many."""
    return all((decimal_of(kind) or (0, 0))[0] <= 34 for kind in kinds)


def _in_a_long(kinds: Sequence[Kind], values: object, options: Sequence[object]) -> bool:
    """Whether the decimal that goes in, or comes out, has 18 digits at most."""
    return (decimal_of(kinds[0]) or (options or (0,)))[0] in range(19)


def _same_kinds(kinds: Sequence[Kind], *_: object) -> bool:
    return all(kind == kinds[0] for kind in kinds)


def _is_pattern(kinds: Sequence[Kind], values: Sequence[object], options: Sequence[object]) -> bool:
    """Whether a LIKE pattern is well formed: where it is not, Spark fails."""
    pattern, escape = values[1], str(options[0]) if options else "\\"
    if not isinstance(pattern, str):
        return False
    rest = iter(pattern)
    return all(character != escape or next(rest, "") in ("%", "_", escape) for character in rest)


def _from_start(kinds: Sequence[Kind], values: Sequence[object], *_: object) -> bool:
    return values[2] == 1


def _is_unit(kinds: Sequence[Kind], values: Sequence[object], *_: object) -> bool:
    """Whether something is truncated to a unit that there is; else Spark gives null unseen."""
    units = DATE_UNITS if kinds[0] == "date" else DATE_UNITS | CLOCK_UNITS
    unit = values[1] if kinds[0] == "date" else values[0]
    return isinstance(unit, str) and unit.upper() in units


def _few_digits(kinds: object, values: Sequence[object], *_: object) -> bool:
    """Whether a number is rounded behind its point, to so many digits that their power is exact."""
    return isinstance(values[1], int) and 0 <= values[1] <= 15


def _default_seed(kinds: Sequence[Kind], values: object, options: Sequence[object]) -> bool:
    small = all((decimal_of(kind) or (0, 0))[0] <= 18 for kind in kinds)
    return small and tuple(options) in ((), (42,))


def _divides(kinds: Sequence[Kind], *_: object) -> bool:
    """Whether a quotient of decimals, of which the scale is Spark's, is found in longs."""
    if decimal_of(kinds[0]) is None:
        return True
    (p, s), (q, t) = (decimal_of(kind) or (0, 0) for kind in kinds)
    scale = max(6, s + q + 1)
    whole = p - s + t
    return p <= 18 and q <= 17 and scale + t - s <= 17 and scale + q < 36 and whole + scale < 38


def _is_matched(kinds: object, values: Sequence[object], *_: object) -> bool:
    return patterns.is_known(values[1])


def _is_extracted(kinds: object, values: Sequence[object], *_: object) -> bool:
    return isinstance(values[2], int) and patterns.is_known(values[1], (values[2],))


def _is_replaced(kinds: object, values: Sequence[object], *_: object) -> bool:
    return values[3] == 1 and patterns.is_replacement(values[1], values[2])


def _is_divided(kinds: object, values: Sequence[object], *_: object) -> bool:
    unlimited = isinstance(values[2], int) and values[2] <= 0
    return unlimited and patterns.is_splitting(values[1])


def _is_weekday(kinds: object, values: Sequence[object], *_: object) -> bool:
    return isinstance(values[1], str) and values[1].upper() in WEEKDAYS


def _is_shown(kinds: object, values: Sequence[object], *_: object) -> bool:
    return time_formats.is_shown(values[1])


def _is_read(kinds: Sequence[Kind], values: Sequence[object], *_: object) -> bool:
    return kinds[0] != "string" or time_formats.is_read(values[1])


def _is_path(kinds: object, values: Sequence[object], *_: object) -> bool:
    return values[0] is ... and path_names(values[1]) is not None


def _are_zones(kinds: Sequence[Kind], values: Sequence[object], *_: object) -> bool:
    names = [v for kind, v in zip(kinds, values, strict=True) if kind == "string"]
    return all(isinstance(name, str) and known_zone(name) for name in names)


def _is_column(kinds: object, values: Sequence[object], options: object) -> bool:
    return values[0] is ...


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
    "coalesce": Operation(_same(ORDERED, 1), variadic=True, accepts=_same_kinds),
    "isnull": Operation((("any",),)),
    "isnotnull": Operation((("any",),)),
    "isnan": Operation(_same(FLOATS, 1)),
    **{
        name: Operation(_same(ORDERED, 2), accepts=_same_kinds)
        for name in ("=", "<", "<=", ">", ">=")
    },
    "<=>": Operation(_same(ORDERED, 2), accepts=_same_kinds, eager=True),
    "in": Operation(_same(ORDERED, 2), variadic=True, accepts=_same_kinds, eager=True),
    "inset": Operation(
        tuple((kind, f"={kind}") for kind in ORDERED if kind not in FLOATS),
        variadic=True,
        accepts=_same_kinds,
        eager=True,
    ),
    "greatest": Operation(_same(ORDERED, 2), variadic=True, accepts=_same_kinds, eager=True),
    "least": Operation(_same(ORDERED, 2), variadic=True, accepts=_same_kinds, eager=True),
    # What the optimizer wraps around an expression.
    "knownnullable": Operation((("any",),)),
    "knownnotnull": Operation((("any",),)),
    "knownfloatingpointnormalized": Operation((("any",),)),
    "normalizenanandzero": Operation(_same(FLOATS, 1)),
    # Numbers.
    "+": Operation(
        _same((*WHOLE, *FLOATS, "decimal", "daytime"), 2), raises="ANSI", accepts=_sum_fits
    ),
    "-": Operation(
        _same((*WHOLE, *FLOATS, "decimal", "daytime"), 2), raises="ANSI", accepts=_sum_fits
    ),
    "*": Operation(_same((*WHOLE, *FLOATS, "decimal"), 2), raises="ANSI", accepts=_product_fits),
    "/": Operation(
        (("double", "double"), ("decimal", "decimal")),
        raises="ANSI",
        right_first=True,
        accepts=_divides,
    ),
    "div": Operation(_same(("bigint", "daytime"), 2), raises="ANSI", right_first=True),
    "%": Operation(_same((*WHOLE, *FLOATS), 2), raises="ANSI", right_first=True),
    "mod": Operation(_same((*WHOLE, *FLOATS), 2), raises="ANSI", right_first=True),
    "pmod": Operation(_same((*WHOLE, *FLOATS), 2), raises="ANSI", right_first=True),
    "negative": Operation(
        _same((*WHOLE, *FLOATS, "decimal", "daytime"), 1), raises="ANSI", accepts=_short
    ),
    "positive": Operation(_same((*WHOLE, *FLOATS, "decimal"), 1)),
    "abs": Operation(_same((*WHOLE, *FLOATS, "decimal"), 1), raises="ANSI", accepts=_short),
    **{name: Operation(_same(WHOLE, 2)) for name in ("&", "|", "^")},
    "~": Operation(_same(WHOLE, 1)),
    **{
        name: Operation(_each(("int", "bigint"), ("int",)))
        for name in ("<<", ">>", ">>>", "shiftleft", "shiftright", "shiftrightunsigned")
    },
    **{
        name: Operation(_same(("double", "bigint", "decimal"), 1), raises="ANSI", accepts=_short)
        for name in _WHOLES
    },
    "unscaledvalue": Operation((("decimal",),), accepts=_in_a_long),
    "makedecimal": Operation((("bigint",),), raises="ANSI", accepts=_in_a_long),
    **{name: Operation((("double", "=int"),), accepts=_few_digits) for name in ("round", "bround")},
    "sqrt": Operation((("double",),)),
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
    "substring": Operation((("string", "=int", "=int"),)),
    **{
        name: Operation((("string",), ("string", "=string"))) for name in ("trim", "ltrim", "rtrim")
    },
    "contains": Operation(_TEXT_AND_CONSTANT),
    "startswith": Operation(_TEXT_AND_CONSTANT),
    "endswith": Operation(_TEXT_AND_CONSTANT),
    "like": Operation(_TEXT_AND_CONSTANT, accepts=_is_pattern),
    **{
        name: Operation(_TEXT_AND_CONSTANT, accepts=_is_matched)
        for name in ("rlike", "regexp", "regexp_like")
    },
    "regexp_extract": Operation((("string", "=string", "=int"),), accepts=_is_extracted),
    "regexp_replace": Operation((("string", "=string", "=string", "=int"),), accepts=_is_replaced),
    "split": Operation((("string", "=string", "=int"),), accepts=_is_divided),
    "initcap": Operation((("string",),)),
    "replace": Operation((("string", "=string", "=string"),)),
    "instr": Operation(_TEXT_AND_CONSTANT),
    "locate": Operation((("=string", "string", "=int"),), accepts=_from_start),
    "repeat": Operation((("string", "=int"),)),
    "lpad": Operation((("string", "=int", "=string"),)),
    "rpad": Operation((("string", "=int", "=string"),)),
    # Dates and times.
    **{
        name: Operation((("date",),))
        for name in (
            *("year", "quarter", "month", "dayofmonth", "day", "dayofyear", "dayofweek"),
            *("weekday", "weekofyear", "last_day"),
        )
    },
    **{name: Operation(_same(TIMES, 1)) for name in ("hour", "minute", "second")},
    "date_trunc": Operation((("=string", "timestamp"),), raises="always", accepts=_is_unit),
    "trunc": Operation((("date", "=string"),), raises="always", accepts=_is_unit),
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
    "extractansiintervaldays": Operation((("daytime",),)),
    "precise_timestamp_conversion": Operation((("timestamp",), ("timestamp_ntz",), ("bigint",))),
    "date_format": Operation(_each(TIMES, ("=string",)), accepts=_is_shown),
    "from_unixtime": Operation((("bigint", "=string"),), accepts=_is_shown),
    "gettimestamp": Operation(_TEXT_AND_CONSTANT, raises="always", accepts=_is_read),
    **{
        name: Operation(
            _each(("string", "timestamp"), ("=string",)), raises="always", accepts=_is_read
        )
        for name in ("unix_timestamp", "to_unix_timestamp")
    },
    "next_day": Operation((("date", "=string"),), accepts=_is_weekday),
    "from_utc_timestamp": Operation((("timestamp", "=string"),), accepts=_are_zones),
    "to_utc_timestamp": Operation((("timestamp", "=string"),), accepts=_are_zones),
    "convert_timezone": Operation((("=string", "=string", "timestamp_ntz"),), accepts=_are_zones),
    "months_between": Operation((("timestamp", "timestamp", "=boolean"),)),
    # Structs and hashes.
    "to_json": Operation((("any",),), variadic=True, eager=True),
    "named_struct": Operation(_same(("any",), 1), variadic=True, eager=True),
    "get_struct_field": Operation((("struct",),)),
    "from_json": Operation((("string",),), raises="always", accepts=_is_column),
    "get_json_object": Operation(_TEXT_AND_CONSTANT, raises="always", accepts=_is_path),
    "hash": Operation((("hashed",),), variadic=True, eager=True, accepts=_default_seed),
    "xxhash64": Operation((("hashed",),), variadic=True, eager=True, accepts=_default_seed),
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
    return source == target or (family(source), family(target)) in (*CASTS, TEXT_OF_BYTES)


def cast_raises(source: Kind, target: Kind, mode: Mode) -> bool:
    """Whether a cast that is computed here can raise."""
    if source == "date":
        return target in TIMES
    if (source, target) == TEXT_OF_BYTES:
        return True
    if mode != "ANSI" or source == target:
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
