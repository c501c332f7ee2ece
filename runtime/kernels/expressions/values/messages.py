"""Spark's messages for values that cannot be computed."""

from __future__ import annotations

import math
from decimal import Decimal

from ... import errors
from ...errors import KernelError
from ..programs.program import Kind, Step, decimal_of
from .java_numbers import java_double
from .zones import shown_timestamp

_LONGEST_SHOWN = 64
"""Java shows of a text that is no time its first letters only."""


def _at(step: Step, error: KernelError) -> KernelError:
    """An error with the place in the query behind it."""
    message = f"{error.message}\n{step.context}" if step.context else error.message
    return KernelError(error.condition, message)


def error(step: Step, condition: str, /, **parameters: object) -> KernelError:
    """The error for an entry of the table of conditions, a value for each of its parameters."""
    return _at(step, KernelError.of(condition, **parameters))


def comparator_null(step: Step, one: object, other: object) -> KernelError:
    """A comparator that gives null."""
    if not all(isinstance(value, int | str) for value in (one, other)):
        return errors.not_exact("A comparator of array_sort gives null: there Spark fails.")
    return error(step, "COMPARATOR_RETURNS_NULL", firstValue=one, secondValue=other)


def cannot_add(step: Step, number: int, unit: str, micros: int) -> KernelError:
    """A number of units that takes a timestamp out of 64 bits."""
    time = shown_timestamp(micros, step.zone)
    operation = f"add {number}L {unit} to TIMESTAMP '{time}'"
    return error(step, "DATETIME_OVERFLOW", operation=operation)


def field_out_of_bounds(step: Step, why: str) -> KernelError:
    """A year, month, day, hour, minute or second that there is not."""
    condition = "DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION"
    return error(step, condition, rangeMessage=why)


def overflow(step: Step, text: str = "overflow", instead: str = "") -> KernelError:
    """A whole number that leaves its type; `instead` is the function that gives null."""
    return _at(step, errors.overflow(text, instead))


def no_such_bit(step: Step, position: int, width: int) -> KernelError:
    """A position beyond the bits of a number."""
    return error(
        step,
        "INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE",
        functionName="`bit_get`",
        parameter="`pos`",
        upper=width,
        invalidValue=position,
    )


def small_overflow(step: Step, left: int, symbol: str, right: int, instead: str) -> KernelError:
    """A sum, difference or product of bytes or shorts that leaves the type."""
    return error(
        step,
        "BINARY_ARITHMETIC_OVERFLOW",
        value1=f"{left}S",
        symbol=symbol,
        value2=f"{right}S",
        functionName=f"`{instead}`",
    )


def does_not_fit_decimal(step: Step, value: Decimal) -> KernelError:
    """A number with more digits than the decimal type of a step has."""
    return _at(step, errors.no_decimal(f"{value:f}", *(decimal_of(step.kind) or (0, 0))))


def rounded_out_of_range(step: Step, value: Decimal, rounded: Decimal) -> KernelError:
    """A number that Java rounds to one with more digits than the decimal type of a step has."""
    precision, scale = decimal_of(step.kind) or (0, 0)
    return error(
        step,
        "NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION",
        roundedValue=f"{value:f}",
        originalValue=rounded,
        precision=precision,
        scale=scale,
    )


def cast_overflow(step: Step, value: object) -> KernelError:
    """A number that the target of a cast cannot hold."""
    return error(
        step,
        "CAST_OVERFLOW",
        value=_literal(value, step.kinds[0], step.zone),
        sourceType=f'"{_sql(step.kinds[0])}"',
        targetType=f'"{_sql(step.kind)}"',
    )


def cast_invalid(step: Step, value: str) -> KernelError:
    """A string that is no value of the target of a cast."""
    return error(
        step,
        "CAST_INVALID_INPUT",
        expression=_literal(value, "string", step.zone),
        sourceType='"STRING"',
        targetType=f'"{_sql(step.kind)}"',
    )


def cannot_parse(step: Step, value: str, where: str) -> KernelError:
    """A string that is no time in a pattern."""
    function = str(step.options[0]) if step.options else "try_to_timestamp"
    shown = value
    if len(value.encode("utf-16-le")) > 2 * _LONGEST_SHOWN:
        shown = (
            value.encode("utf-16-le")[: 2 * _LONGEST_SHOWN].decode("utf-16-le", "ignore") + "..."
        )
    message = f"Text '{shown}' could not be parsed{where}"
    return error(step, "CANNOT_PARSE_TIMESTAMP", message=message, func=f"`{function}`")


def datetime_overflow(step: Step, value: int, unit: str) -> KernelError:
    """A number of milliseconds or seconds that is no timestamp."""
    operation = f"create a TIMESTAMP from {value}L {unit} since the epoch"
    return error(step, "DATETIME_OVERFLOW", operation=operation)


def _sql(kind: Kind) -> str:
    return str(kind).upper()


def _literal(value: object, kind: Kind, zone: str) -> str:
    """A value as Spark writes it in messages."""
    match value:
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        case float():
            text = java_double(value, single=kind == "float")
            return text if not math.isfinite(value) or kind == "float" else f"{text}D"
        case Decimal():
            return f"{value:f}BD"
        case int() if kind == "timestamp":
            return f"TIMESTAMP '{shown_timestamp(value, zone)}'"
    return f"{value}{ {'tinyint': 'Y', 'smallint': 'S', 'bigint': 'L'}.get(str(kind), '') }"
