"""Comparisons, null tests, IN, greatest and least.

Spark orders floats with NaN behind all numbers and equal to itself, and 0.0 equal to -0.0; strings
and binaries by their bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..columns import ordering
from ..columns.ordering import valid
from .programs.operation_facts import FLOATS
from .programs.program import Step
from .values.vectors import (
    Value,
    has_nulls,
    made,
    numbers,
    of_one_length,
    repeated,
    row_count,
    truths,
)


def equal(left: Value, right: Value, kind: object) -> Any:
    """`left = right`; null where a side is null."""
    found = pc.equal(left, right)
    if kind in FLOATS and _has_nan(left) and _has_nan(right):
        found = pc.or_(found, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return found


def less(left: Value, right: Value, kind: object) -> Any:
    """`left < right`; null where a side is null, or, of nested values, null is the least."""
    if isinstance(kind, tuple):
        return pa.array(ordering.compare(*of_one_length(left, right)) < 0)
    if kind == "boolean":
        left, right = left.cast(pa.int8()), right.cast(pa.int8())
    found = pc.less(left, right)
    if kind in FLOATS and _has_nan(right):
        found = pc.or_(found, pc.and_(pc.invert(pc.is_nan(left)), pc.is_nan(right)))
    return found


def at_most(left: Value, right: Value, kind: object) -> Any:
    """`left <= right`; null where a side is null."""
    if kind == "boolean":
        left, right = left.cast(pa.int8()), right.cast(pa.int8())
    found = pc.less_equal(left, right)
    if kind in FLOATS and _has_nan(right):
        found = pc.or_(found, pc.and_(pc.is_nan(right), pc.is_valid(left)))
        found = pc.if_else(pc.is_valid(left), found, pa.scalar(None, pa.bool_()))
    return found


def _has_nan(value: Value) -> bool:
    return bool(np.isnan(numbers(value)).any())


def same(step: Step, left: Value, right: Value) -> Any:
    """`<=>`: as `=`, and two nulls are equal."""
    found = equal(left, right, step.kinds[0])
    if not found.null_count:
        return found
    both = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.coalesce(found, both)


def is_nan(step: Step, value: Any) -> Any:
    """`isnan`: false for null."""
    return truths(pc.is_nan(value))


def enough_values(step: Step, least: Value, *values: Value) -> Any:
    """`atleastnnonnulls(least, values...)`: NaN counts as null."""
    columns = of_one_length(*values)
    count = np.zeros(len(columns[0]), np.int64)
    for kind, column in zip(step.kinds[1:], columns, strict=True):
        known = valid(column)
        count += known & ~np.isnan(numbers(column)) if kind in FLOATS else known
    return pa.array(count >= least.as_py())


def is_in(step: Step, value: Value, *items: Value) -> Any:
    """`value IN (items)`: null where nothing is equal and the value or an item is null."""
    kind = step.kinds[0]
    constants = [item for item in items if isinstance(item, pa.Scalar)]
    if len(constants) == len(items) and kind not in FLOATS:
        wanted = [item for item in items if item.is_valid]
        values = pa.array([item.as_py() for item in wanted], value.type)
        found = pc.is_in(value, value_set=values)
        unknown = value.is_null() if has_nulls(value) else None
        if len(wanted) < len(items):
            found = pc.if_else(found, True, pa.scalar(None, pa.bool_()))
        return found if unknown is None else pc.if_else(unknown, pa.scalar(None, pa.bool_()), found)
    found = equal(value, items[0], kind)
    for item in items[1:]:
        found = pc.or_kleene(found, equal(value, item, kind))
    return found


def extreme(step: Step, *values: Value) -> Any:
    """`greatest` and `least`: of the values that are not null the first that is extreme."""
    count = row_count(*values)
    best = repeated(values[0], count)
    for value in values[1:]:
        pair = (best, value) if step.name == "greatest" else (value, best)
        better = truths(less(*pair, step.kind))
        if has_nulls(best):
            better = pc.or_(better, pc.is_null(best))
        if has_nulls(value):
            better = pc.and_(better, repeated(pc.is_valid(value), count))
        best = pc.if_else(better, value, best)
    return best


def normalized(step: Step, value: Any) -> Any:
    """A float as keys have it: one NaN, no -0.0."""
    data = numbers(value) + 0.0
    if step.kind == "float":
        data = data.astype(np.float32)
    return made(np.where(np.isnan(data), data.dtype.type("nan"), data), value)
