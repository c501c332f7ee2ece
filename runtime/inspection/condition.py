"""Conditions over state: Spark SQL, analyzed by the planner, computed by Arrow."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...planner.builder import stream
from ...planner.model.errors import AnalysisError
from ...planner.model.expressions.core import (
    AttributeReference,
    Call,
    Cast,
    Expression,
    GetStructField,
    Literal,
)
from ...planner.model.expressions.evaluation import evaluate
from ...planner.model.plans.logical import Filter
from ...planner.model.schemas.types import (
    INT,
    TIMESTAMP,
    BinaryType,
    DataType,
    DoubleType,
    FloatType,
)
from ...planner.model.text.spark_sql import quote, type_sql
from ..arrow_types import arrow_type
from ..plan.carried import carrier
from ..state.scan import EVENT_TIME, PARTITION
from .columns import StateColumn


def state_condition(text: str, columns: Sequence[StateColumn]) -> Any:
    """A condition over the columns of a state, as an Arrow expression over its flat table.

    Args:
        text: in Spark SQL, such as `user = 'ann' AND window.end < '2026-01-01'`.
        columns: the state's columns; event time and store number come with them.

    Raises:
        AnalysisError: it names no column of these, or something that is not computed here.
    """
    named: list[tuple[str, DataType]] = [(c.name, c.data_type) for c in columns]
    named += [(EVENT_TIME, TIMESTAMP), (PARTITION, INT)]
    schema = ", ".join(f"{quote(name)} {type_sql(kind)}" for name, kind in named)
    try:
        plan = stream("state", schema).where(text).query().execution.analyzed
    except AnalysisError as error:
        raise _with_columns(error, named) from None
    condition = next(iter(plan.collect(Filter))).condition
    return _arrow(condition)


def _with_columns(error: AnalysisError, columns: list[tuple[str, DataType]]) -> AnalysisError:
    listed = ", ".join(f"{name} {kind.sql}" for name, kind in columns)
    error.hint = f"The columns of the state are {listed}."
    return error


def _arrow(node: Expression) -> Any:
    if isinstance(node, Literal):
        return pc.scalar(_scalar(node))
    if not any(isinstance(n, AttributeReference) for n in _walk(node)):
        constant = evaluate(node)
        if constant is not None:
            return _arrow(constant)
    match node:
        case AttributeReference(name=name):
            return pc.field(name)
        case GetStructField(child=child):
            return pc.field(*_path(node)) if _is_path(child) else _refuse(node)
        case Cast(child=child, type_=target):
            return _arrow(child).cast(arrow_type(carrier(target)))
        case Call(name=name, arguments=arguments):
            compute = _CALLS.get(name)
            if compute is not None:
                return compute(arguments)
            if name == "like":
                return _like(node, arguments)
    return _refuse(node)


def _walk(node: Expression) -> Iterator[Expression]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _is_path(node: Expression) -> bool:
    inner = node.child if isinstance(node, GetStructField) else node
    return (inner is not node and _is_path(inner)) or isinstance(node, AttributeReference)


def _path(node: Expression) -> list[str]:
    if isinstance(node, AttributeReference):
        return [node.name]
    assert isinstance(node, GetStructField)
    fields = node.child.data_type.fields  # type: ignore[attr-defined]
    return [*_path(node.child), fields[node.ordinal].name]


def _scalar(node: Literal) -> Any:
    return pa.scalar(node.value, arrow_type(carrier(node.data_type)))


def _refuse(node: Expression) -> Any:
    what = f"`{node.name}`" if isinstance(node, Call) else node.data_type.sql
    raise AnalysisError(
        "STATEPLAN_UNSUPPORTED_CONDITION",
        f"A condition over state cannot use {what}.",
        hint="Use comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL, arithmetic and casts; or "
        "filter the DataFrame of stateplan.read_state(spark, checkpoint).",
    )


# ------------------------------------------------------------------------------------ comparisons


def _number(node: Expression) -> bool:
    return isinstance(node.data_type, FloatType | DoubleType)


def _nan(value: Any) -> Any:
    return pc.is_nan(value)


def _equal(left: Any, right: Any, floating: bool) -> Any:
    """In Spark NaN equals NaN."""
    same = left == right
    return same | (_nan(left) & _nan(right)) if floating else same


def _less(left: Any, right: Any, floating: bool) -> Any:
    """In Spark NaN is above all numbers."""
    return (left < right) | (~_nan(left) & _nan(right)) if floating else left < right


Comparison = Callable[[Any, Any, bool], Any]
_COMPARISONS: dict[str, Comparison] = {
    "=": _equal,
    "!=": lambda a, b, f: ~_equal(a, b, f),
    "<": _less,
    ">": lambda a, b, f: _less(b, a, f),
    "<=": lambda a, b, f: ~_less(b, a, f),
    ">=": lambda a, b, f: ~_less(a, b, f),
}


def _compared(compare: Comparison) -> Callable[[Sequence[Expression]], Any]:
    def compute(arguments: Sequence[Expression]) -> Any:
        left, right = map(_arrow, arguments)
        return compare(left, right, _number(arguments[0]))

    return compute


def _null_safe(arguments: Sequence[Expression]) -> Any:
    left, right = map(_arrow, arguments)
    neither = left.is_null() & right.is_null()
    return neither | pc.coalesce(_equal(left, right, _number(arguments[0])), pc.scalar(False))


def _in(arguments: Sequence[Expression]) -> Any:
    value, *options = map(_arrow, arguments)
    floating = _number(arguments[0])
    return reduce(operator.or_, (_equal(value, option, floating) for option in options))


def _between(arguments: Sequence[Expression]) -> Any:
    value, low, high = map(_arrow, arguments)
    floating = _number(arguments[0])
    return ~_less(value, low, floating) & ~_less(high, value, floating)


def _like(node: Expression, arguments: Sequence[Expression]) -> Any:
    pattern = evaluate(arguments[1])
    if len(arguments) != 2 or pattern is None or not isinstance(pattern.value, str):
        return _refuse(node)
    return pc.match_like(_arrow(arguments[0]), pattern.value)


def _binary(compute: Callable[[Any, Any], Any]) -> Callable[[Sequence[Expression]], Any]:
    return lambda arguments: compute(*map(_arrow, arguments))


def _unary(compute: Callable[[Any], Any]) -> Callable[[Sequence[Expression]], Any]:
    return lambda arguments: compute(*map(_arrow, arguments))


def _length(arguments: Sequence[Expression]) -> Any:
    value = arguments[0]
    if isinstance(value.data_type, BinaryType):
        return pc.binary_length(_arrow(value))
    return pc.utf8_length(_arrow(value))


_CALLS: dict[str, Callable[[Sequence[Expression]], Any]] = {
    **{name: _compared(compare) for name, compare in _COMPARISONS.items()},
    "<=>": _null_safe,
    "and": _binary(operator.and_),
    "or": _binary(operator.or_),
    "not": _unary(operator.invert),
    "in": _in,
    "between": _between,
    "isnull": _unary(lambda value: value.is_null()),
    "isnotnull": _unary(lambda value: value.is_valid()),
    "isnan": _unary(_nan),
    "+": _binary(pc.add_checked),
    "-": _binary(pc.subtract_checked),
    "*": _binary(pc.multiply_checked),
    "negative": _unary(pc.negate_checked),
    "abs": _unary(pc.abs_checked),
    "lower": _unary(pc.utf8_lower),
    "upper": _unary(pc.utf8_upper),
    "length": _length,
    "coalesce": lambda arguments: pc.coalesce(*map(_arrow, arguments)),
}
