"""Mathematics: roots, logarithms, angles, rounding, bits, random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..expressions.core import Call, Cast, Expression
from ..expressions.evaluation import constant_of
from ..registry import FunctionSpec, Show, null_if_any, one_function, register
from ..schemas.types import BYTE, DOUBLE, INT, LONG, DataType, DecimalType, NumericType
from ..settings.conf import Conf
from ..tree import replace
from . import math_values as values
from .arithmetic import TRY_NAMES, check_numeric
from .mismatch import non_foldable, non_foldable_argument, require_count
from .operator_values import ARITHMETIC, pmod
from .shapes import (
    always_null,
    check_types,
    each,
    like_call,
    named,
    never_null,
    replaced,
    resolve,
    resolve_like,
    scalar,
    with_arguments,
)

_DOUBLES = "double|yearmonth|daytime"
_PAIR = "double, double"


def _of_doubles(
    name: str,
    evaluate: Callable[..., object] | None = None,
    *,
    takes: str = "double",
    lower: bool = False,
    nullable: Callable[[Call], bool] = always_null,
    **fields: Any,
) -> FunctionSpec:
    """A function of doubles, which plans show in upper case (a few in lower)."""
    form = None if lower else "{upper}({args})"
    return scalar(
        name,
        takes,
        DOUBLE,
        text=form,
        pretty=form,
        nullable=nullable,
        evaluate=None if evaluate is None else (lambda call, *values: evaluate(*values)),
        pushed_into_branches=True,
        **fields,
    )


# ------------------------------------------------------------------------------------- rounding


def _rounded_type(call: Call) -> DataType:
    """A decimal keeps its whole digits and one more, and only the digits asked for behind."""
    source = call.arguments[0].data_type
    if not isinstance(source, DecimalType):
        return source
    scale = constant_of(call.arguments[1], int)
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
    if not isinstance(source, DecimalType):
        return LONG
    if source.scale == 0:
        return source
    return DecimalType(min(source.precision - source.scale + 1, 38), 0)


def _ceil_text(call: Call, show: Show) -> str:
    upper = len(call.arguments) == 1 and call.name != "ceiling"
    name = call.name.upper() if upper else call.name
    return f"{name}({', '.join(map(show, call.arguments))})"


def _ceil(name: str) -> FunctionSpec:
    return scalar(
        name,
        "any...",
        _ceil_type,
        nullable=always_null,
        check=_check_ceil,
        text=_ceil_text,
        pretty=_ceil_text,
        evaluate=values.whole,
    )


# -------------------------------------------------------------------------- remainders and shifts


def _shift(name: str, symbol: str) -> tuple[FunctionSpec, ...]:
    form = f"({{0}} {symbol} {{1}})"
    return one_function(
        scalar(name, "int|bigint, int", 0, by_width=True, evaluate=values.shifted),
        scalar(
            symbol,
            "int|bigint, int",
            0,
            text=form,
            pretty=form,
            sql=f"{name}({{args}})",
            by_width=True,
            evaluate=values.shifted,
        ),
    )


def _check_log(call: Call, conf: Conf) -> Expression:
    require_count(call, 1, 2)
    if len(call.arguments) == 1:
        call = with_arguments(call, (resolve("e", (), conf), *call.arguments))
    return check_types(call, ["double", "double"], conf)


# ------------------------------------------------------------------------------------ try_ forms


def _try(name: str, operator: str) -> FunctionSpec:
    def build(call: Call) -> Expression:
        result = resolve_like(call, operator, *call.arguments)
        numbers = all(isinstance(a.data_type, NumericType) for a in call.arguments)
        if numbers and isinstance(result, Call) and result.name == operator:
            return replace(result, options=("TRY",))
        return like_call(call, "tryeval", result)

    return replaced(name, "any, any", build, nullable=always_null, sql="{name}({args})")


def _try_sql(call: Call, show: Show) -> str:
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


register(
    *(_of_doubles(name) for name in ("acosh", "asinh", "atanh")),
    *(_of_doubles(name, getattr(math, name)) for name in ("cos", "cosh", "sin", "sinh", "tan")),
    *(_of_doubles(name, getattr(math, name)) for name in ("tanh", "atan", "degrees", "radians")),
    _of_doubles("acos", values.within_one(math.acos)),
    _of_doubles("asin", values.within_one(math.asin)),
    _of_doubles("cot", lambda x: 1 / math.tan(x)),
    _of_doubles("csc", lambda x: 1 / math.sin(x)),
    _of_doubles("sec", lambda x: 1 / math.cos(x)),
    _of_doubles("cbrt", values.cube_root),
    _of_doubles("expm1", math.expm1),
    _of_doubles("exp", math.exp),
    _of_doubles("sqrt", math.sqrt),
    _of_doubles("log10", values.log_above(math.log10)),
    _of_doubles("log1p", values.log_above(math.log1p, -1.0)),
    _of_doubles("log2", values.log_above(lambda x: math.log(x) / math.log(2))),
    _of_doubles("ln", values.log_above(math.log), lower=True),
    _of_doubles("log", values.log, takes=_PAIR, check=_check_log),
    _of_doubles("rint", values.rint, lower=True),
    *one_function(
        _of_doubles("signum", values.sign, takes=_DOUBLES),
        _of_doubles("sign", values.sign, lower=True, takes=_DOUBLES),
    ),
    _of_doubles("atan2", math.atan2, takes=_PAIR, nullable=null_if_any),
    _of_doubles("hypot", math.hypot, takes=_PAIR, nullable=null_if_any),
    *one_function(
        _of_doubles("power", math.pow, takes=_PAIR, nullable=null_if_any),
        _of_doubles("pow", math.pow, takes=_PAIR, nullable=null_if_any, lower=True),
    ),
    *each(
        _of_doubles("e", lambda: math.e, takes="", nullable=never_null),
        _of_doubles("pi", lambda: math.pi, takes="", nullable=never_null),
        pushed_into_branches=False,
    ),
    *each(
        *(
            scalar(
                name,
                "numeric, [int=0]",
                _rounded_type,
                then=_constant_scale,
                nullable=always_null,
                null_for_null=True,
                evaluate=values.rounded,
            )
            for name in ("round", "bround")
        ),
        *named(_ceil("ceil"), "ceiling"),
        _ceil("floor"),
        scalar("factorial", "int", LONG, nullable=always_null, evaluate=values.factorial),
        *(
            scalar(
                name,
                "numeric, numeric",
                lambda call: like_call(call, "%", *call.arguments).data_type,
                nullable=always_null,
                check=check_numeric,
                evaluate=evaluate,
                same_as=same_as,
                ansi_error="REMAINDER_BY_ZERO",
                tolerant="try_mod",
            )
            for name, evaluate, same_as in (("pmod", pmod, None), ("mod", ARITHMETIC["%"], "%"))
        ),
        pushed_into_branches=True,
    ),
    scalar(
        "width_bucket",
        "double|yearmonth|daytime, double|yearmonth|daytime, double|yearmonth|daytime, bigint",
        LONG,
        nullable=always_null,
        null_for_null=True,
        evaluate=values.bucket,
    ),
    scalar("bit_count", "!integral|boolean", INT, evaluate=values.bit_count),
    *named(scalar("bit_get", "integral, int", BYTE, evaluate=values.bit_at), "getbit"),
    *_shift("shiftleft", "<<"),
    *_shift("shiftright", ">>"),
    *_shift("shiftrightunsigned", ">>>"),
    *(_try(name, operator) for operator, name in TRY_NAMES.items()),
    scalar(
        "tryeval",
        "any",
        0,
        nullable=always_null,
        sql=_try_sql,
        evaluate=lambda call, value: value,
        written=False,
    ),
    *each(
        *named(scalar("rand", "[!int|bigint]", DOUBLE, nullable=never_null), "random"),
        scalar("randn", "[!int|bigint]", DOUBLE, nullable=never_null),
        deterministic=False,
        random_seed=True,
    ),
)
