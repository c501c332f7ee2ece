"""Aggregates of how often each value occurs: percentiles, median, mode; and ordered lists.

Their state is what Spark's is: each value with its count (Spark keeps a hash map), or the values in
a list. A kernel makes the results of it (`runtime/kernels/aggregates/percentiles.py`).
"""

from __future__ import annotations

from ..expressions.core import Call, Expression, Literal, SortOrder
from ..expressions.evaluation import constant_of, evaluate
from ..expressions.predicates import conjunction_or_none
from ..registry import AggregateForms, Finish, Merge, Show, Start
from ..schemas.types import (
    LONG,
    ArrayType,
    DataType,
    StringType,
    StructField,
    StructType,
    YearMonthIntervalType,
)
from .aggregates_common import OBJECT_BUFFER, OBJECT_FORMS, gathered_forms, present
from .build import call as build
from .build import cast_as, long, struct
from .shapes import first_type


def _list_forms(
    value: Expression,
    used: Expression | None,
    element: DataType,
    finish: Finish,
    operation: str = "concat",
    start: Start | None = None,
) -> AggregateForms:
    """A list of what the used rows bring, and what a kernel makes of it."""
    return gathered_forms(
        value,
        used,
        Merge(operation, (0,), () if start is None else start.constants),
        buffer=ArrayType(element, False),
        start=start,
        finish=finish,
        plan=(OBJECT_BUFFER,),
    )


def _count_forms(
    call: Call, finish: Finish, count: Expression | None = None, *, zeros_differ: bool = False
) -> AggregateForms:
    """Values with their counts: how often each row's value counts, once by default.

    Args:
        call: the aggregate function.
        finish: what makes its result.
        count: how often a row's value counts; None: once.
        zeros_differ: whether -0.0 and 0.0 are two values, as where Spark's map has them as they
            come.
    """
    value = call.arguments[0]
    tests = [build("isnotnull", value)] if value.nullable else []
    if count is not None:
        tests.append(build(">", count, long(0)))
    pair = struct(v=value, n=long(1) if count is None else count)
    element = StructType((StructField("v", value.data_type), StructField("n", LONG)))
    # Where an engine gathers a batch's values, each comes as often as it occurs.
    start = Start("counts", (True,) if zeros_differ else (), element)
    return _list_forms(pair, conjunction_or_none(tests), element, finish, "counts", start)


# --------------------------------------------------------------------------------- percentiles


def _shares(call: Call) -> tuple[tuple[float, ...], bool] | None:
    """The shares and whether they are an array; None if only Spark knows them."""
    found = evaluate(call.arguments[1])
    if found is None or isinstance(first_type(call), YearMonthIntervalType):
        return None
    several = isinstance(found.value, tuple)
    given = found.value if isinstance(found.value, tuple) else (found.value,)
    shares = tuple(share for share in given if isinstance(share, float))
    return (shares, several) if len(shares) == len(given) else None


def is_reversed(call: Call) -> bool:
    """Whether WITHIN GROUP orders downwards."""
    return bool(call.options and call.options[0])


def percentile_forms(call: Call) -> AggregateForms:
    """`percentile(value, share, frequency)`: between the two nearest values, weighted."""
    known = _shares(call)
    if known is None:
        return OBJECT_FORMS
    frequency = call.arguments[2]
    once = isinstance(frequency, Literal) and frequency.value == 1
    finish = Finish("percentile", (*known, is_reversed(call)))
    count = None if once else cast_as(frequency, LONG)
    return _count_forms(call, finish, count, zeros_differ=True)


def discrete_forms(call: Call) -> AggregateForms:
    """`percentile_disc`: the first value that so large a share of all is not above."""
    known = _shares(call)
    if known is None:
        return OBJECT_FORMS
    finish = Finish("percentile_disc", (*known, is_reversed(call)))
    return _count_forms(call, finish, zeros_differ=True)


def approximate_forms(call: Call) -> AggregateForms:
    """`percentile_approx(value, share, accuracy)`: a summary of the values."""
    known, accuracy = _shares(call), constant_of(call.arguments[2], int)
    if known is None or accuracy is None:
        return OBJECT_FORMS
    value = call.arguments[0]
    return gathered_forms(
        value,
        present(value),
        Merge("quantiles", (0,)),
        buffer=ArrayType(LONG, False),
        start=Start("quantiles", (accuracy,), value.data_type),
        finish=Finish("approximate_percentiles", known),
        plan=(OBJECT_BUFFER,),
    )


def percentile_sql(call: Call, show: Show) -> str:
    """Spark's percentile, or where it counts downwards the name that takes an order."""
    if is_reversed(call):
        return _within_group("percentile_cont", (call.arguments[1],), call, show, " DESC")
    return f"percentile({', '.join(map(show, call.arguments))})"


def discrete_sql(call: Call, show: Show) -> str:
    """`percentile_disc(share) WITHIN GROUP (ORDER BY value)`."""
    direction = " DESC" if is_reversed(call) else ""
    return _within_group(call.name, (call.arguments[1],), call, show, direction)


def _within_group(
    name: str, arguments: tuple[Expression, ...], call: Call, show: Show, direction: str
) -> str:
    order = f"{show(call.arguments[0])}{direction}"
    return f"{name}({', '.join(map(show, arguments))}) WITHIN GROUP (ORDER BY {order})"


# ----------------------------------------------------------------------------------------- mode


def _prefers_highest(call: Call) -> bool | None:
    """Whether of values that occur equally often the highest is the mode; None: any is."""
    if call.options:
        return not call.options[0]
    return None if len(call.arguments) == 1 else False  # mode(value, true)


def mode_forms(call: Call) -> AggregateForms:
    """`mode(value)`: of values that occur equally often the lowest, or the highest if asked."""
    return _count_forms(call, Finish("mode", (_prefers_highest(call),)))


def mode_pretty(call: Call, show: Show) -> str:
    """The mode as the name of a column: the order is the other one, as in Spark."""
    highest = _prefers_highest(call)
    if highest is None:
        return f"{call.name}({show(call.arguments[0])})"
    return _within_group(call.name, (), call, show, "" if highest else " DESC")


def mode_sql(call: Call, show: Show) -> str:
    """The mode that does not depend on the order of rows."""
    if _prefers_highest(call):
        return _within_group(call.name, (), call, show, " DESC")
    return f"{call.name}({show(call.arguments[0])}, true)"


# -------------------------------------------------------------------------------- ordered lists


def listagg_forms(call: Call) -> AggregateForms:
    """`listagg(value, separator)`; WITHIN GROUP's order follows as arguments."""
    value, separator, *order = call.arguments
    if not isinstance(separator, Literal):
        return OBJECT_FORMS
    orders = [o for o in order if isinstance(o, SortOrder)]
    directions = tuple((o.ascending, o.nulls_first) for o in orders)
    nothing = "" if isinstance(call.data_type, StringType) else b""
    finish = Finish("listagg", (separator.value or nothing, directions))
    used = present(value)
    if not orders:
        return _list_forms(value, used, value.data_type, finish)
    keys = {f"k{i}": o.child for i, o in enumerate(orders)}
    fields = (StructField(name, key.data_type) for name, key in keys.items())
    element = StructType((StructField("v", value.data_type), *fields))
    return _list_forms(struct(v=value, **keys), used, element, finish)


def listagg_sql(call: Call, show: Show) -> str:
    """`listagg(value, separator) WITHIN GROUP (ORDER BY ...)`."""
    text = f"{call.name}({', '.join(map(show, call.arguments[:2]))})"
    order = ", ".join(map(show, call.arguments[2:]))
    return f"{text} WITHIN GROUP (ORDER BY {order})" if order else text
