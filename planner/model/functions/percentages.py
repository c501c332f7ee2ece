"""Checks of the arguments of percentiles and histograms: numbers, shares and counts."""

from __future__ import annotations

from ..errors import AnalysisError
from ..expressions.core import Call, Expression
from ..expressions.evaluation import evaluate
from ..schemas.types import (
    DOUBLE,
    INT,
    ArrayType,
    DataType,
    DateType,
    IntegralType,
    NullType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)
from ..settings.conf import Conf
from .aggregates_common import is_ansi_interval, mismatch
from .coercion import cast_unless_same
from .mismatch import non_foldable, unexpected_type

_INTERVALS = '"INTERVAL DAY TO SECOND" or "INTERVAL YEAR TO MONTH"'
_NUMBERS = f'(("NUMERIC" or {_INTERVALS}) or "TIME")'
_ORDERED = (
    '("NUMERIC" or "DATE" or "TIMESTAMP" or "TIMESTAMP_NTZ" or "INTERVAL YEAR TO MONTH" or '
    '"INTERVAL DAY TO SECOND" or "TIME")'
)
_TIMES = DateType | TimestampType | TimestampNTZType
_MAX_INT = 2**31 - 1


def number(call: Call, conf: Conf) -> Expression:
    """The first argument as a number or interval; strings are cast to double.

    Raises:
        AnalysisError: it is neither. Dates and times could be times of day, which Spark has not.
    """
    argument = call.arguments[0]
    data_type = argument.data_type
    if isinstance(data_type, NumericType) or is_ansi_interval(data_type):
        return argument
    if isinstance(data_type, StringType | NullType):
        return cast_unless_same(argument, DOUBLE, conf)
    if isinstance(data_type, _TIMES) and conf.ansi:
        raise AnalysisError.of("UNSUPPORTED_TIME_TYPE")
    raise unexpected_type(call, 0, _NUMBERS)


def ordered(call: Call, conf: Conf) -> Expression:
    """The first argument as a number, date, time or interval; strings are cast to double."""
    value = call.arguments[0]
    data_type = value.data_type
    if isinstance(data_type, NumericType | _TIMES) or is_ansi_interval(data_type):
        return value
    if isinstance(data_type, StringType | NullType):
        return cast_unless_same(value, DOUBLE, conf)
    raise unexpected_type(call, 0, _ORDERED)


def shares(call: Call, wanted: str, conf: Conf) -> Expression:
    """The percentages, the second argument, as double or array of double.

    Raises:
        AnalysisError: an array of what are no numbers; `wanted` says which types there may be.
    """
    argument = call.arguments[1]
    if isinstance(argument.data_type, ArrayType):
        if not isinstance(argument.data_type.element_type, NumericType | NullType):
            raise unexpected_type(call, 1, wanted)
        target: DataType = ArrayType(DOUBLE, argument.data_type.contains_null)
        return cast_unless_same(argument, target, conf)
    return cast_unless_same(argument, DOUBLE, conf)


def require_shares(call: Call) -> None:
    """Check the second argument of a typed call.

    Raises:
        AnalysisError: it is no constant, null, or not between 0 and 1.
    """
    share = call.arguments[1]
    if not share.foldable:
        raise non_foldable(call, "percentage", "DOUBLE", share)
    known = evaluate(share)
    if known is None:
        return
    if known.value is None:
        raise _null(call, "percentage")
    given = known.value if isinstance(known.value, tuple) else (known.value,)
    if not all(isinstance(p, float) and 0.0 <= p <= 1.0 for p in given):
        shown = ",".join(f"{p}D" for p in given)
        raise _out_of_range(call, "percentage", "[0.0, 1.0]", shown)


def require_integral(call: Call, position: int) -> None:
    """Check that an argument is a whole number, which is never cast.

    Raises:
        AnalysisError: it is none.
    """
    if not isinstance(call.arguments[position].data_type, IntegralType | NullType):
        raise unexpected_type(call, position, '"INTEGRAL"')


def require_accuracy(call: Call) -> None:
    """Check the third argument of `percentile_approx`.

    Raises:
        AnalysisError: it is no constant, null, or out of range.
    """
    accuracy = call.arguments[2]
    if not accuracy.foldable:
        raise non_foldable(call, "accuracy", "INT", accuracy)
    known = evaluate(accuracy)
    if known is None:
        return
    if known.value is None:
        raise _null(call, "accuracy")
    if not (isinstance(known.value, int) and 0 < known.value <= _MAX_INT):
        raise _out_of_range(call, "accuracy", f"(0, {_MAX_INT}]", f"{known.value}L")


def require_bins(call: Call) -> None:
    """Check the second argument of a typed `histogram_numeric`.

    Raises:
        AnalysisError: it is no constant, null, or less than two.
    """
    bins = call.arguments[1]
    if not bins.foldable:
        raise non_foldable(call, "nb", INT.sql, bins)
    known = evaluate(bins)
    if known is None:
        return
    if known.value is None:
        raise _null(call, "nb")
    if isinstance(known.value, int) and known.value < 2:
        raise _out_of_range(call, "nb", f"[2, {_MAX_INT}]", str(known.value))


def _null(call: Call, name: str) -> AnalysisError:
    return mismatch(call, "UNEXPECTED_NULL", exprName=name)


def _out_of_range(call: Call, name: str, wanted: str, actual: str) -> AnalysisError:
    return mismatch(
        call, "VALUE_OUT_OF_RANGE", exprName=name, valueRange=wanted, currentValue=actual
    )
