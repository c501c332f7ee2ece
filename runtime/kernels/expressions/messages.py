"""Spark's messages for values that cannot be computed."""

from __future__ import annotations

import math
from decimal import Decimal

from ..errors import KernelError
from .java_numbers import java_double
from .program import Kind, Step, decimal_of
from .zones import shown_timestamp

_ADVICE = 'If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error'


def _error(step: Step, condition: str, text: str, state: str) -> KernelError:
    message = f"[{condition}] {text} SQLSTATE: {state}"
    return KernelError(condition, f"{message}\n{step.context}" if step.context else message)


def divide_by_zero(step: Step) -> KernelError:
    """A division by zero."""
    text = (
        "Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead. "
        f"{_ADVICE}."
    )
    return _error(step, "DIVIDE_BY_ZERO", text, "22012")


def remainder_by_zero(step: Step) -> KernelError:
    """A remainder of a division by zero."""
    text = (
        "Remainder by zero. Use `try_mod` to tolerate divisor being 0 and return NULL instead. "
        f"{_ADVICE}."
    )
    return _error(step, "REMAINDER_BY_ZERO", text, "22012")


def interval_divided_by_zero(step: Step) -> KernelError:
    """An interval divided by zero."""
    text = "Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead."
    return _error(step, "INTERVAL_DIVIDED_BY_ZERO", text, "22012")


def interval_overflow(step: Step) -> KernelError:
    """An interval that is longer than any."""
    text = (
        "Integer overflow while operating with intervals. Try devising appropriate values for the "
        "interval parameters."
    )
    return _error(step, "INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION", text, "22015")


def null_key(step: Step) -> KernelError:
    """A map with a null for a key."""
    return _error(step, "NULL_MAP_KEY", "Cannot use null as map key.", "2200E")


def overflow(step: Step, text: str = "overflow", instead: str = "") -> KernelError:
    """A whole number that leaves its type; `instead` is the function that gives null."""
    hint = f" Use '{instead}' to tolerate overflow and return NULL instead." if instead else ""
    return _error(step, "ARITHMETIC_OVERFLOW", f"{text}.{hint} {_ADVICE}.", "22003")


def small_overflow(step: Step, left: int, symbol: str, right: int, instead: str) -> KernelError:
    """A sum, difference or product of bytes or shorts that leaves the type."""
    text = (
        f"{left}S {symbol} {right}S caused overflow. Use `{instead}` to ignore overflow problem "
        "and return NULL."
    )
    return _error(step, "BINARY_ARITHMETIC_OVERFLOW", text, "22003")


def does_not_fit_decimal(step: Step, value: Decimal, kind: Kind) -> KernelError:
    """A number with more digits than a decimal type has."""
    precision, scale = decimal_of(kind) or (0, 0)
    condition = "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"
    text = (
        f" {value:f} cannot be represented as Decimal({precision}, {scale}). {_ADVICE}, and return "
        "NULL instead."
    )
    return _error(step, condition, text, "22003")


def cast_overflow(step: Step, value: object) -> KernelError:
    """A number that the target of a cast cannot hold."""
    text = (
        f"The value {_literal(value, step.kinds[0], step.zone)} of the type "
        f'"{_sql(step.kinds[0])}" cannot be cast to "{_sql(step.kind)}" due to an overflow. Use '
        "`try_cast` to tolerate overflow and return NULL instead."
    )
    return _error(step, "CAST_OVERFLOW", text, "22003")


def cast_invalid(step: Step, value: str) -> KernelError:
    """A string that is no value of the target of a cast."""
    text = (
        f'The value {_literal(value, "string", step.zone)} of the type "STRING" cannot be cast to '
        f'"{_sql(step.kind)}" because it is malformed. Correct the value as per the syntax, or '
        "change its target type. Use `try_cast` to tolerate malformed input and return NULL "
        "instead."
    )
    return _error(step, "CAST_INVALID_INPUT", text, "22018")


def cannot_parse(step: Step, value: str, where: str) -> KernelError:
    """A string that is no time in a pattern."""
    function = str(step.options[0]) if step.options else "try_to_timestamp"
    text = (
        f"Text '{value}' could not be parsed{where}. Use `{function}` to tolerate invalid input "
        "string and return NULL instead."
    )
    return _error(step, "CANNOT_PARSE_TIMESTAMP", text, "22007")


def malformed_characters(step: Step, charset: str) -> KernelError:
    """Bytes that are no text in a character set."""
    text = f"Invalid value found when performing `decode` with {charset}"
    return _error(step, "MALFORMED_CHARACTER_CODING", text, "22000")


def cannot_decode_url(step: Step, value: str) -> KernelError:
    """A text with a percent sign before what are no two hexadecimal digits."""
    text = (
        f"The provided URL cannot be decoded: {value}. Please ensure that the URL is properly "
        "formatted and try again."
    )
    return _error(step, "CANNOT_DECODE_URL", text, "22546")


def invalid_url(step: Step, value: str) -> KernelError:
    """A text that is no URL."""
    text = (
        f"The url is invalid: {value}. Use `try_parse_url` to tolerate invalid URL and return NULL "
        "instead."
    )
    return _error(step, "INVALID_URL", text, "22P02")


def datetime_overflow(step: Step, value: int, unit: str) -> KernelError:
    """A number of milliseconds or seconds that is no timestamp."""
    text = f"Datetime operation overflow: create a TIMESTAMP from {value}L {unit} since the epoch."
    return _error(step, "DATETIME_OVERFLOW", text, "22008")


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
