"""Exact forms of arithmetic, comparisons and casts of numbers (rewrites.py)."""

from __future__ import annotations

from ...planner.model.expressions.core import Call, Expression
from ...planner.model.schemas.types import (
    ArrayType,
    ByteType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    IntegralType,
    LongType,
    ShortType,
)
from ...planner.model.text.spark_sql import type_sql
from ..kernels.errors import BYPASS, KernelError, overflow
from .exact import failure, raised, text

_RANGES = {
    ByteType: (-(2**7), 2**7 - 1),
    ShortType: (-(2**15), 2**15 - 1),
    IntegerType: (-(2**31), 2**31 - 1),
    LongType: (-(2**63), 2**63 - 1),
}
_TRY = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}


def checked(expression: Expression, time_zone: str) -> str | None:
    """Arithmetic on whole numbers that fails where the result leaves its type."""
    if not isinstance(expression, Call) or expression.name not in ("+", "-", "*", "negative"):
        return None
    kind = expression.data_type
    if not isinstance(kind, IntegralType):
        return None
    # Wide enough for any result of two numbers of that type.
    long = isinstance(kind, LongType)
    wide = "DECIMAL(19,0)" if long else "BIGINT"
    operands = [f"CAST({{{i}}} AS {wide})" for i in range(len(expression.arguments))]
    sign = "-" if expression.name == "negative" else expression.name
    result = f"({operands[0]} {sign} {operands[1]})" if len(operands) == 2 else f"(- {operands[0]})"
    low, high = (
        f"CAST('{bound}' AS DECIMAL(38,0))" if long else f"{bound}L"
        for bound in _RANGES[type(kind)]
    )
    fails = _raised(_overflow(expression), expression, "{0}")
    otherwise = "NULL" if "TRY" in expression.options else fails
    return (
        f"(CASE WHEN {result} < {low} OR {result} > {high} THEN {otherwise} "
        f"ELSE CAST({result} AS {type_sql(kind)}) END)"
    )


def _overflow(expression: Call) -> str:
    """SQL for Spark's message for a result that leaves its type."""
    kind, instead = expression.data_type, _TRY.get(expression.name, "")
    if isinstance(kind, ByteType | ShortType) and expression.name == "negative":
        shown = "concat('- ', CAST({0} AS STRING), ' caused overflow')"
        config = text(BYPASS["config"])
        return _message("ARITHMETIC_OVERFLOW", message=shown, alternative="''", config=config)
    if isinstance(kind, ByteType | ShortType):
        return _message(
            "BINARY_ARITHMETIC_OVERFLOW",
            value1="concat(CAST({0} AS STRING), 'S')",
            symbol=text(expression.name),
            value2="concat(CAST({1} AS STRING), 'S')",
            functionName=text(f"`{instead}`"),
        )
    name = "long" if isinstance(kind, LongType) else "integer"
    return text(overflow(f"{name} overflow", instead).message)


_ZERO_DIVISOR = {
    "/": "DIVIDE_BY_ZERO",
    "div": "DIVIDE_BY_ZERO",
    "%": "REMAINDER_BY_ZERO",
    "mod": "REMAINDER_BY_ZERO",
    "pmod": "REMAINDER_BY_ZERO",
}


def divided(expression: Expression, time_zone: str) -> str | None:
    """Division that fails on a zero divisor only where both sides have a value."""
    return _divided(expression, lenient=False)


def divided_to_null(expression: Expression, time_zone: str) -> str | None:
    """Division that gives null for a zero divisor: that of try_ functions, or without ANSI."""
    return _divided(expression, lenient=True)


def _divided(expression: Expression, *, lenient: bool) -> str | None:
    if not isinstance(expression, Call) or expression.name not in _ZERO_DIVISOR:
        return None
    condition = _ZERO_DIVISOR[expression.name]
    result = type_sql(expression.data_type)
    kind = expression.arguments[1].data_type
    zero = f"CAST(0 AS {type_sql(kind)})"
    message = KernelError.of(condition, **BYPASS).message
    value = _quotient(expression)
    if isinstance(kind, IntegralType):
        minus = f"{{1}} = CAST(-1 AS {type_sql(kind)})"
        if expression.name != "div":
            # The lowest number by -1 leaves the type before the remainder is taken.
            value = f"CASE WHEN {minus} AND ({{0}}) IS NOT NULL THEN {zero} ELSE {value} END"
        elif not lenient:
            low = "{0} = CAST('-9223372036854775808' AS BIGINT)"
            value = _unless(f"{minus} AND {low}", _too_large(result), value)
    if not lenient:
        found = f"{{1}} = {zero} AND ({{0}}) IS NOT NULL"
        value = _unless(found, failure(message, "{1}", result), value)
    return f"({value})"


def _unless(condition: str, fails: str, value: str) -> str:
    """A failure on a condition. The engine computes each of several branches: there is one."""
    return f"CASE WHEN coalesce({condition}, false) THEN {fails} ELSE {value} END"


def _too_large(result: str) -> str:
    instead = " Use `try_divide` to tolerate overflow and return NULL instead."
    error = KernelError.of(
        "ARITHMETIC_OVERFLOW",
        message="Overflow in integral divide",
        alternative=instead,
        **BYPASS,
    )
    return failure(error.message, "{1}", result)


def _quotient(expression: Call) -> str:
    """The engine's SQL of a division, with null for a zero divisor (-0.0 is none to NULLIF)."""
    zero = f"CAST(0 AS {type_sql(expression.arguments[1].data_type)})"
    divisor = f"(CASE WHEN {{1}} = {zero} THEN NULL ELSE {{1}} END)"
    if expression.name == "pmod":
        return f"pmod({{0}}, {divisor})"
    kind = expression.data_type
    if expression.name == "/" and isinstance(kind, DecimalType):
        # The engine cuts the quotient four digits after those of the dividend: one more than the
        # result has, for rounding, needs three less there.
        scale = max(kind.scale - 3, 0)
        return f"CAST((CAST({{0}} AS DECIMAL(38,{scale})) / {divisor}) AS {type_sql(kind)})"
    name = "%" if expression.name == "mod" else expression.name
    return f"({{0}} {name} {divisor})"


def rounded(expression: Expression, time_zone: str) -> str | None:
    """Rounding: a decimal in Spark's type, of the same scale; a floating zero without a sign."""
    if not isinstance(expression, Call) or expression.name not in _ROUNDING:
        return None
    kind = expression.data_type
    if isinstance(kind, DecimalType):
        return f"CAST({{plain}} AS {type_sql(kind)})"
    if isinstance(kind, FloatType | DoubleType):
        zero = f"CAST(0 AS {type_sql(kind)})"
        return f"(CASE WHEN {{plain}} = {zero} THEN {zero} ELSE {{plain}} END)"
    return None


_ROUNDING = ("round", "bround", "ceil", "ceiling", "floor")


def item(expression: Expression, time_zone: str) -> str | None:
    """An array's element at an index that is a column, counted from 0."""
    if not isinstance(expression, Call) or expression.name != "get_array_item":
        return None
    outside = "{1} < 0 OR {1} >= size({0})"
    value = f"get({{0}}, CAST(CASE WHEN {outside} THEN NULL ELSE {{1}} END AS INT))"
    if not expression.ansi:
        return f"({value})"
    failing = _outside_array("INVALID_ARRAY_INDEX")
    return (
        f"({_unless(f'({outside}) AND ({{0}}) IS NOT NULL', _raised(failing, expression), value)})"
    )


def element(expression: Expression, time_zone: str) -> str | None:
    """An array's element at an index that counts from 1, or from -1 at its end."""
    match expression:
        case Call(name="element_at", arguments=(array, _)) if isinstance(
            array.data_type, ArrayType
        ):
            pass
        case _:
            return None
    index = "CAST({1} AS BIGINT)"
    outside = f"abs({index}) > size({{0}})"
    place = f"CASE WHEN {index} > 0 THEN {index} - 1 ELSE size({{0}}) + {index} END"
    value = f"get({{0}}, CAST(CASE WHEN {outside} THEN NULL ELSE {place} END AS INT))"
    failing = text(KernelError.of("INVALID_INDEX_OF_ZERO").message)
    wrong = "{1} = 0"
    if expression.ansi and "TRY" not in expression.options:
        other = _outside_array("INVALID_ARRAY_INDEX_IN_ELEMENT_AT")
        failing = f"CASE WHEN {wrong} THEN {failing} ELSE {other} END"
        wrong = f"({wrong} OR {outside})"
    wrong = f"{wrong} AND ({{0}}) IS NOT NULL"
    return f"({_unless(wrong, _raised(failing, expression), value)})"


def _outside_array(condition: str) -> str:
    """SQL for the message that an index is outside its array."""
    index, size = "CAST({1} AS STRING)", "CAST(size({0}) AS STRING)"
    return _message(condition, indexValue=index, arraySize=size)


def _message(condition: str, **parameters: str) -> str:
    """SQL for a condition's message whose parameters are SQL."""
    mark = "\0"
    message = KernelError.of(condition, **{n: f"{mark}{n}{mark}" for n in parameters}).message
    parts = message.split(mark)
    pieces = (parameters[one] if i % 2 else text(one) for i, one in enumerate(parts))
    return f"concat({', '.join(pieces)})"


def _raised(words: str, expression: Expression, value: str = "{1}") -> str:
    """SQL that fails with words, instead of a value of an expression's type."""
    return raised(words, value, type_sql(expression.data_type))
