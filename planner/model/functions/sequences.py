"""sequence, an array from one value to another in steps, and arrays_zip."""

from __future__ import annotations

from ..expressions.core import Alias, AttributeReference, Call, Expression, GetStructField
from ..registry import Show, register
from ..schemas.types import (
    DATE,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    IntegralType,
    StructField,
    StructType,
)
from ..settings.conf import Conf
from .array_values import sequence_value
from .coercion import coerce_to_common, implicit
from .collections import element_of
from .mismatch import function_mismatch, require_count
from .shapes import check_types, like_call, scalar, with_arguments


def _check_sequence(call: Call, conf: Conf) -> Expression:
    require_count(call, 2, 3)
    kinds = [a.data_type for a in call.arguments[:2]]
    together = call.arguments if isinstance(kinds[0], IntegralType) else call.arguments[:2]
    values = coerce_to_common(together, conf)
    allowed = values is not None and all(
        isinstance(v.data_type, IntegralType) or v.data_type in (DATE, TIMESTAMP, TIMESTAMP_NTZ)
        for v in values[:2]
    )
    if values is None or not allowed:
        raise function_mismatch(
            "SEQUENCE_WRONG_INPUT_TYPES",
            call,
            startType='("TIMESTAMP" or "TIMESTAMP_NTZ" or "DATE")',
            stepType='("INTERVAL" or "INTERVAL YEAR TO MONTH" or "INTERVAL DAY TO SECOND")',
            otherStartType='"INTEGRAL"',
        )
    kind = values[0].data_type
    if any(a.data_type != kind for a in call.arguments[: len(values)]):
        # As soon as one needs a cast, Spark casts all of them.
        values = tuple(implicit(a, kind, conf) for a in call.arguments[: len(values)])
    return with_arguments(call, (*values, *call.arguments[len(values) :]))


def _zipped_names(call: Call) -> list[str]:
    if call.options:
        return [str(name) for name in call.options]
    named = AttributeReference | Alias | GetStructField
    arguments = enumerate(call.arguments)
    return [a.name if isinstance(a, named) else str(position) for position, a in arguments]


def _check_zip(call: Call, conf: Conf) -> Expression:
    typed = check_types(call, ["array"] * len(call.arguments), conf)
    return like_call(typed, "arrays_zip", *typed.arguments, options=tuple(_zipped_names(typed)))


def _zipped(call: Call) -> DataType:
    fields = tuple(
        StructField(name, element_of(argument), True)
        for name, argument in zip(_zipped_names(call), call.arguments, strict=True)
    )
    return ArrayType(StructType(fields), False)


def _zip_sql(call: Call, show: Show) -> str:
    """Arrays zipped, under names that do not depend on those of the columns they are made of."""
    return f"CAST(arrays_zip({', '.join(map(show, call.arguments))}) AS {call.data_type.sql})"


register(
    scalar(
        "sequence",
        "any, any, [any]",
        lambda call: ArrayType(call.arguments[0].data_type, False),
        check=_check_sequence,
        text="sequence({0}, {1}, {option2}, {zone})",
        null_for_null=True,
        evaluate=sequence_value,
    ),
    scalar(
        "arrays_zip",
        "array...",
        _zipped,
        check=_check_zip,
        text=lambda call, show: (
            f"arrays_zip({', '.join([*map(show, call.arguments), *_zipped_names(call)])})"
        ),
        sql=_zip_sql,
        null_intolerant=False,
        treats_alike=True,
        options_hold="names",
    ),
)
