"""A small decimal as its unscaled whole number, and back: what sums of decimals are planned as."""

from __future__ import annotations

from ..expressions.core import Call
from ..registry import FunctionSpec, Show, register
from ..schemas.types import LONG, DataType, DecimalType


def _scale(call: Call) -> int:
    data_type = call.arguments[0].data_type
    assert isinstance(data_type, DecimalType)
    return data_type.scale


def _unscaled_sql(call: Call, show: Show) -> str:
    value, scale = show(call.arguments[0]), _scale(call)
    return f"CAST({value} * {10**scale}BD AS BIGINT)"


def _made_type(call: Call) -> DataType:
    precision, scale = call.options
    assert isinstance(precision, int) and isinstance(scale, int)
    return DecimalType(precision, scale)


def _made_text(call: Call, show: Show) -> str:
    precision, scale = call.options
    return f"MakeDecimal({show(call.arguments[0])},{precision},{scale})"


def _made_sql(call: Call, show: Show) -> str:
    _, scale = call.options
    assert isinstance(scale, int)
    whole = f"CAST({show(call.arguments[0])} AS DECIMAL(19,0))"
    unit = "1" if scale == 0 else f"0.{'0' * (scale - 1)}1"
    return f"CAST({whole} * {unit}BD AS {_made_type(call).sql})"


register(
    # `unscaledvalue(m)`: 1.25 as 125; its argument is a decimal of at most 18 digits.
    FunctionSpec(
        name="unscaledvalue",
        data_type=lambda call: LONG,
        text=lambda call, show: f"UnscaledValue({show(call.arguments[0])})",
        sql=_unscaled_sql,
        null_intolerant=True,
    ),
    # `makedecimal(whole)` with options precision and scale: 125 as 1.25.
    FunctionSpec(
        name="makedecimal",
        data_type=_made_type,
        nullable=lambda call: True,
        text=_made_text,
        sql=_made_sql,
        null_intolerant=True,
        options_hold="type",
    ),
)
