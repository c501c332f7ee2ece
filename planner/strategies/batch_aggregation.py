"""Aggregation of tables: partial and final steps, with DISTINCT in four."""

from __future__ import annotations

from collections.abc import Sequence

from ...physical.aggregate import BaseAggregateExec
from ...physical.plan import SparkPlan
from ...physical.python_operators import AggregateInPythonExec
from ..model.errors import PlanningError
from ..model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Expression,
    to_attribute,
)
from ..model.expressions.equality import Canonical, canonical
from ..model.expressions.python_functions import PythonUDF
from ..model.ids import fresh_id
from ..model.plans.logical import Aggregate
from ..model.text.text import plan_text
from ..model.tree import replace
from .aggregation import (
    PhysicalAggregation,
    final_step,
    in_mode,
    operator_for,
    partial_step,
    parts_of,
)
from .base import PlanLater
from .floats import normalize_float_values

Buffers = tuple[tuple[AttributeReference, ...], ...]


def plan_batch_aggregation(logical: Aggregate, plan_later: PlanLater) -> SparkPlan:
    """The steps of an aggregation over a table: partial, then final over the exchange."""
    parts = parts_of(logical, plan_later)
    child = plan_later(logical.child)
    in_python = [a for a in parts.aggregates if isinstance(a.function, PythonUDF)]
    if in_python:
        return _in_python(parts, in_python, child)
    if any(a.distinct for a in parts.aggregates):
        return _with_one_distinct(parts, child)
    partial = partial_step(parts, child)
    in_use = tuple(replace(column, expr_id=fresh_id()) for column in _flat(partial.buffers))
    partial = replace(partial, is_streaming=False, buffers_in_use=in_use)
    return replace(final_step(parts, parts.key_attributes, partial), is_streaming=False)


def _in_python(
    parts: PhysicalAggregation, calls: list[AggregateExpression], child: SparkPlan
) -> SparkPlan:
    if len(calls) < len(parts.aggregates):
        names = ", ".join(
            f"`{a.function.function_name}`" for a in calls if isinstance(a.function, PythonUDF)
        )
        raise PlanningError.of("INVALID_PANDAS_UDF_PLACEMENT", functionList=names)
    return AggregateInPythonExec(
        keys=parts.keys, aggregates=parts.aggregates, results=parts.results, child=child
    )


def _with_one_distinct(parts: PhysicalAggregation, child: SparkPlan) -> SparkPlan:
    """The progression where all DISTINCTs are of the same columns. What there is behind each step:

    - partial: a row per key and distinct values of an input partition, with the other functions'
      buffers;
    - (exchange by key and values;)
    - merge: one row per key and values;
    - merge of the other functions, partial step of the distinct ones: a row of buffers per key;
    - (exchange by key;)
    - final: the results.
    """
    written = _distinct_values(parts.aggregates)
    named = tuple(map(_named, written))
    values = tuple(map(to_attribute, named))
    keys = parts.key_attributes
    plain, plain_buffers = _chosen(parts, distinct=False)
    distinct, distinct_buffers = _chosen(parts, distinct=True)
    columns = dict(zip(map(canonical, written), values, strict=True))
    distinct = tuple(_over_columns(a, columns) for a in distinct)
    buffers = (*plain_buffers, *distinct_buffers)
    flowing = _flat(plain_buffers)

    def step(
        aggregates: tuple[AggregateExpression, ...],
        step_buffers: Buffers,
        step_keys: tuple[Expression, ...],
        results: tuple[Expression, ...],
        required: tuple[Expression, ...] | None,
        below: SparkPlan,
    ) -> BaseAggregateExec:
        return operator_for(aggregates, step_buffers, objects=parts.objects, hashes=parts.hashes)(
            keys=step_keys,
            aggregates=aggregates,
            buffers=step_buffers,
            results=results,
            required_keys=required,
            is_streaming=False,
            child=below,
        )

    by_values = (*keys, *values)
    rows = (*by_values, *flowing)
    partial = step(
        in_mode(plain, "Partial"), plain_buffers, (*parts.keys, *named), rows, None, child
    )
    merged = step(
        in_mode(plain, "PartialMerge"), plain_buffers, by_values, rows, by_values, partial
    )
    both = (*in_mode(plain, "PartialMerge"), *in_mode(distinct, "Partial"))
    counted = step(both, buffers, keys, (*keys, *_flat(buffers)), None, merged)
    final = in_mode((*plain, *distinct), "Final")
    return step(final, buffers, keys, parts.results, keys, counted)


def _chosen(
    parts: PhysicalAggregation, *, distinct: bool
) -> tuple[tuple[AggregateExpression, ...], Buffers]:
    pairs = zip(parts.aggregates, parts.buffers, strict=True)
    found = [(a, b) for a, b in pairs if a.distinct == distinct]
    return tuple(a for a, _ in found), tuple(b for _, b in found)


def _distinct_values(aggregates: Sequence[AggregateExpression]) -> list[Expression]:
    first = next(a for a in aggregates if a.distinct)
    return [argument for argument in first.function.arguments if not argument.foldable]


def _named(value: Expression) -> Expression:
    normal = normalize_float_values(value)
    if isinstance(normal, AttributeReference):
        return normal
    name = value.name if isinstance(value, AttributeReference) else plan_text(value)
    return Alias(child=normal, name=name)


def _over_columns(
    aggregate: AggregateExpression, columns: dict[Canonical, AttributeReference]
) -> AggregateExpression:
    arguments = tuple(columns.get(canonical(a), a) for a in aggregate.function.arguments)
    return replace(aggregate, function=replace(aggregate.function, arguments=arguments))


def _flat(buffers: Buffers) -> tuple[AttributeReference, ...]:
    return tuple(buffer for group in buffers for buffer in group)
