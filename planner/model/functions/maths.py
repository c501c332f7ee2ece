"""Mathematics: roots, logarithms, angles, rounding, bits, random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..expressions.core import Call, Cast, Expression
from ..registry import FunctionSpec, one_function, register
from ..schemas.types import (
    BYTE,
    DOUBLE,
    INT,
    LONG,
    DataType,
    DecimalType,
    NumericType,
)
from ..settings.conf import Conf
from ..tree import replace
from . import math_values as values
from .mismatch import non_foldable, non_foldable_argument, require_count, wrong_argument_count
from .operands import check_operands, coerce_operands
from .operator_values import ARITHMETIC, pmod
from .shapes import (
    always_null,
    check_types,
    like_call,
    named,
    never_null,
    resolve,
    resolve_like,
    scalar,
    with_arguments,
)

_DOUBLES = "double|yearmonth|daytime"


def _of_double(
    name: str,
    evaluate: Callable[[float], object] | None = None,
    *,
    lower: bool = False,
    takes: str = "double",
) -> FunctionSpec:
    """A function of one double, which plans show in upper case (a few in lower)."""
    form = None if lower else "{upper}({args})"
    return scalar(
        name,
        takes,
        DOUBLE,
        text=form,
        pretty=form,
        nullable=always_null,
        evaluate=None if evaluate is None else (lambda call, value: evaluate(value)),
        pushed_into_branches=True,
    )


def _of_two_doubles(
    name: str, evaluate: Callable[[float, float], float] | None = None, *, lower: bool = False
) -> FunctionSpec:
    form = None if lower else "{upper}({args})"
    return scalar(
        name,
        "double, double",
        DOUBLE,
        text=form,
        pretty=form,
        evaluate=None if evaluate is None else (lambda call, a, b: evaluate(a, b)),
        pushed_into_branches=True,
    )


def _constant(name: str, value: float) -> FunctionSpec:
    return scalar(
        name,
        "",
        DOUBLE,
        text="{upper}()",
        pretty="{upper}()",
        nullable=never_null,
        evaluate=lambda call: value,
    )


# ------------------------------------------------------------------------------------- rounding


def _scale_of(call: Call) -> int | None:
    scale = call.arguments[1]
    from ..expressions.evaluation import evaluate

    value = evaluate(scale)
    return value.value if value is not None and isinstance(value.value, int) else None


def _rounded_type(call: Call) -> DataType:
    """A decimal keeps its whole digits and one more, and only the digits asked for behind."""
    source = call.arguments[0].data_type
    if not isinstance(source, DecimalType):
        return source
    scale = _scale_of(call)
    if scale is None:
        return source
    whole = source.precision - source.scale + 1
    if scale < 0:
        return DecimalType(min(max(whole, -scale + 1), 38), 0)
    kept = min(source.scale, scale)
    return DecimalType(min(whole + kept, 38), kept)


def _constant_scale(call: Call, conf: Conf) -> Expression:
    scale = call.arguments[1]
    if scale.foldable:
        return call
    raise non_foldable(call, "scale", "INT", scale)


def _check_ceil(call: Call, conf: Conf) -> Expression:
    """One argument: a whole number; two: a decimal, as many digits behind as asked for."""
    require_count(call, 1, 2)
    if len(call.arguments) == 1:
        return check_types(call, ["double|decimal|bigint"], conf)
    if not call.arguments[1].foldable:
        raise non_foldable_argument(call.name, "scale", "INT")
    return check_types(call, ["decimal", "int"], conf)


def _ceil_type(call: Call) -> DataType:
    if len(call.arguments) == 2:
        return _rounded_type(call)
    source = call.arguments[0].data_type
    if isinstance(source, DecimalType):
        return DecimalType(min(source.precision - source.scale + 1, 38), 0)
    return LONG


def _ceil(name: str) -> FunctionSpec:
    def form(call: Call, show: Callable[[Expression], str]) -> str:
        shown = ", ".join(show(a) for a in call.arguments)
        upper = len(call.arguments) == 1 and call.name != "ceiling"
        return f"{call.name.upper() if upper else call.name}({shown})"

    return FunctionSpec(
        name=name,
        data_type=_ceil_type,
        nullable=always_null,
        check=_check_ceil,
        text=form,
        pretty=form,
        null_intolerant=True,
        evaluate=values.whole,
        pushed_into_branches=True,
    )


# -------------------------------------------------------------------------- remainders and shifts


def _check_pmod(call: Call, conf: Conf) -> Expression:
    require_count(call, 2)
    return check_operands(coerce_operands(call, conf, "numeric"), "numeric")


def _remainder(call: Call) -> DataType:
    return like_call(call, "%", *call.arguments).data_type


def _shift(name: str, symbol: str) -> tuple[FunctionSpec, ...]:
    form = f"({{0}} {symbol} {{1}})"
    return one_function(
        scalar(name, "int|bigint, int", 0, by_width=True),
        scalar(
            symbol,
            "int|bigint, int",
            0,
            text=form,
            pretty=form,
            sql=f"{name}({{args}})",
            by_width=True,
        ),
    )


def _check_log(call: Call, conf: Conf) -> Expression:
    if len(call.arguments) == 1:
        call = with_arguments(call, (resolve("e", (), conf), *call.arguments))
    if len(call.arguments) != 2:
        raise wrong_argument_count("log", "[1, 2]", len(call.arguments))
    return check_types(call, ["double", "double"], conf)


# ------------------------------------------------------------------------------------ try_ forms

_OPERATORS = {
    "try_add": "+",
    "try_subtract": "-",
    "try_multiply": "*",
    "try_divide": "/",
    "try_mod": "%",
}


def _try(name: str) -> FunctionSpec:
    operator = _OPERATORS[name]

    def build(call: Call) -> Expression:
        result = resolve_like(call, operator, *call.arguments)
        numbers = all(isinstance(a.data_type, NumericType) for a in call.arguments)
        if numbers and isinstance(result, Call) and result.name == operator:
            return replace(result, options=("TRY",))
        return like_call(call, "tryeval", result)

    def check(call: Call, conf: Conf) -> Expression:
        if len(call.arguments) != 2:
            raise wrong_argument_count(name, "2", len(call.arguments))
        build(call)
        return call

    return FunctionSpec(
        name=name,
        data_type=lambda call: build(call).data_type,
        nullable=always_null,
        check=check,
        sql=lambda call, show: f"{name}({', '.join(show(a) for a in call.arguments)})",
        replacement=build,
    )


def _try_sql(call: Call, show: Callable[[Expression], str]) -> str:
    """`tryeval(ts + interval)` as the function that it came from."""
    inner = call.arguments[0]
    if call.options and isinstance(inner, Call):
        # The name of the function, and what it was given besides the arguments that are left.
        name, *more = call.options
        shown = [*map(show, inner.arguments), *(f"'{value}'" for value in more)]
        return f"{name}({', '.join(shown)})"
    moved = inner.child if isinstance(inner, Cast) else inner
    if isinstance(moved, Call) and len(moved.arguments) == 2:
        name = "try_subtract" if moved.name == "datetime_sub" else "try_add"
        scaled = {"multiply_interval": "try_multiply", "divide_interval": "try_divide"}
        left, right = (show(a) for a in moved.arguments)
        return f"{scaled.get(moved.name, name)}({left}, {right})"
    return show(inner)


def _check_random(call: Call, conf: Conf) -> Expression:
    if len(call.arguments) > 1:
        raise wrong_argument_count(call.name, "[0, 1]", len(call.arguments))
    return check_types(call, ["!int|bigint"] * len(call.arguments), conf)


def _random(name: str) -> FunctionSpec:
    return scalar(
        name,
        "",
        DOUBLE,
        check=_check_random,
        deterministic=False,
        nullable=never_null,
        null_intolerant=False,
    )


register(
    *(_of_double(name) for name in ("acosh", "asinh", "atanh")),
    *(_of_double(name, getattr(math, name)) for name in ("cos", "cosh", "sin", "sinh", "tan")),
    *(_of_double(name, getattr(math, name)) for name in ("tanh", "atan", "degrees", "radians")),
    _of_double("acos", values.within_one(math.acos)),
    _of_double("asin", values.within_one(math.asin)),
    _of_double("cot", lambda x: 1 / math.tan(x)),
    _of_double("csc", lambda x: 1 / math.sin(x)),
    _of_double("sec", lambda x: 1 / math.cos(x)),
    _of_double("cbrt", values.cube_root),
    _of_double("expm1", math.expm1),
    _of_double("exp", math.exp),
    _of_double("sqrt", math.sqrt),
    _of_double("log10", values.log_above(math.log10)),
    _of_double("log1p", values.log_above(math.log1p, -1.0)),
    _of_double("log2", values.log_above(lambda x: math.log(x) / math.log(2))),
    _of_double("ln", values.log_above(math.log), lower=True),
    _of_double("rint", values.rint, lower=True),
    *one_function(
        _of_double("signum", values.sign, takes=_DOUBLES),
        _of_double("sign", values.sign, lower=True, takes=_DOUBLES),
    ),
    scalar(
        "log",
        "double, double",
        DOUBLE,
        check=_check_log,
        text="LOG({args})",
        pretty="LOG({args})",
        nullable=always_null,
        evaluate=values.log,
        pushed_into_branches=True,
    ),
    _of_two_doubles("atan2", math.atan2),
    _of_two_doubles("hypot", math.hypot),
    *one_function(_of_two_doubles("power", math.pow), _of_two_doubles("pow", math.pow, lower=True)),
    _constant("e", math.e),
    _constant("pi", math.pi),
    *(
        scalar(
            name,
            "numeric, [int=0]",
            _rounded_type,
            then=_constant_scale,
            nullable=always_null,
            null_for_null=True,
            evaluate=values.rounded,
            pushed_into_branches=True,
        )
        for name in ("round", "bround")
    ),
    *named(_ceil("ceil"), "ceiling"),
    _ceil("floor"),
    scalar(
        "factorial",
        "int",
        LONG,
        nullable=always_null,
        evaluate=values.factorial,
        pushed_into_branches=True,
    ),
    FunctionSpec(
        name="pmod",
        data_type=_remainder,
        nullable=always_null,
        check=_check_pmod,
        null_intolerant=True,
        evaluate=pmod,
        pushed_into_branches=True,
        ansi_error="REMAINDER_BY_ZERO",
        tolerant="try_mod",
    ),
    FunctionSpec(
        name="mod",
        same_as="%",
        data_type=_remainder,
        nullable=always_null,
        check=_check_pmod,
        evaluate=ARITHMETIC["%"],
        null_intolerant=True,
        pushed_into_branches=True,
        ansi_error="REMAINDER_BY_ZERO",
        tolerant="try_mod",
    ),
    scalar(
        "width_bucket",
        "double|yearmonth|daytime, double|yearmonth|daytime, double|yearmonth|daytime, bigint",
        LONG,
        nullable=always_null,
    ),
    scalar("bit_count", "!integral|boolean", INT, evaluate=values.bit_count),
    *named(scalar("bit_get", "integral, int", BYTE), "getbit"),
    *_shift("shiftleft", "<<"),
    *_shift("shiftright", ">>"),
    *_shift("shiftrightunsigned", ">>>"),
    *(_try(name) for name in _OPERATORS),
    scalar("tryeval", "any", 0, nullable=always_null, sql=_try_sql),
    *named(_random("rand"), "random"),
    _random("randn"),
)
