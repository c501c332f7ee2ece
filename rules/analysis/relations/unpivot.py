"""UNPIVOT: rows expanded, once per column or group of columns."""

from __future__ import annotations

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Expression,
    lit,
    to_attribute,
    without_alias,
)
from ....planner.model.functions.coercion import common_type
from ....planner.model.plans.logical import Expand, Filter
from ....planner.model.plans.pivot import UnresolvedUnpivot
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import STRING, DataType, same_type
from ....planner.model.text.quoting import to_sql_id
from ....planner.model.text.text import pretty
from ....planner.model.tree import replace
from ..context import Context
from ..expressions.expressions import Resolver
from ..failures import failure
from ..names.names import named
from ..selects.selects import resolve_items


def resolve_unpivot(plan: UnresolvedUnpivot, child: LogicalPlan, context: Context) -> LogicalPlan:
    """`Unpivot (v FOR k IN (a, b)), t(id, a, b)` -> `Filter v, Expand [id, a, a], [id, b, b], t`.

    Raises:
        AnalysisError: there is no column to take, or those of a value have no common type.
    """
    resolver = Resolver(context.scope(child.output), context)
    ids = None if plan.ids is None else tuple(map(named, resolve_items(plan.ids, resolver)))
    if plan.columns is None:
        columns = _all_but(ids or (), child)
    else:
        columns = tuple(taken for entry in plan.columns for taken in _entry(entry, plan, resolver))
    if not all(e.resolved for entry in ((ids or ()), *columns) for e in entry):
        return replace(plan, ids=ids, columns=columns, child=child)
    if not columns:
        raise failure("UNPIVOT_REQUIRES_VALUE_COLUMNS")
    if any(len(entry) != len(plan.value_names) for entry in columns):
        raise failure("UNPIVOT_VALUE_SIZE_MISMATCH", names=len(plan.value_names))
    if ids is None:
        chosen = frozenset().union(*(e.references for entry in columns for e in entry))
        ids = tuple(a for a in child.output if a.expr_id not in chosen)
    kinds = [_common([entry[i] for entry in columns], context) for i in range(len(columns[0]))]
    values = tuple(
        AttributeReference(name=name, type_=kind)
        for name, kind in zip(plan.value_names, kinds, strict=True)
    )
    name = AttributeReference(name=plan.name_column, type_=STRING, is_nullable=False)
    kept = tuple(map(without_alias, ids))
    rows = tuple(
        (
            *kept,
            lit(own if own is not None else "_".join(_name(e) for e in entry)),
            *(_as(without_alias(e), kind, context) for e, kind in zip(entry, kinds, strict=True)),
        )
        for own, entry in zip(plan.names or (None,) * len(columns), columns, strict=True)
    )
    made = (*map(to_attribute, ids), name, *values)
    expanded = Expand(projections=rows, attributes=made, child=child, origin=plan.origin)
    if plan.include_nulls:
        return expanded
    present = context.call("isnotnull", context.call("coalesce", values[0]))
    for value in values[1:]:
        present = context.call("or", present, context.call("isnotnull", value))
    return Filter(condition=present, child=expanded)


def _entry(
    entry: tuple[Expression, ...], plan: UnresolvedUnpivot, resolver: Resolver
) -> list[tuple[Expression, ...]]:
    """An entry's columns; a select list's star is as many entries."""
    if plan.ids is None:
        return [tuple(map(resolver.resolve, entry))]
    return [(named(e),) for e in resolve_items(entry, resolver)]


def _all_but(ids: tuple[Expression, ...], child: LogicalPlan) -> tuple[tuple[Expression, ...], ...]:
    computed = [f'"{pretty(e)}"' for e in ids if not isinstance(e, AttributeReference)]
    if computed and all(e.resolved for e in ids):
        raise failure(
            "UNPIVOT_REQUIRES_ATTRIBUTES",
            given="id",
            empty="value",
            expressions=", ".join(computed),
        )
    kept = {e.expr_id for e in ids if isinstance(e, AttributeReference)}
    return tuple((a,) for a in child.output if a.expr_id not in kept)


def _name(column: Expression) -> str:
    return column.name if isinstance(column, AttributeReference | Alias) else ""


def _as(value: Expression, kind: DataType, context: Context) -> Expression:
    return value if same_type(value.data_type, kind) else context.cast(value, kind)


def _common(columns: list[Expression], context: Context) -> DataType:
    # Spark has one rule for this with and without ANSI.
    conf = context.conf.updated({"spark.sql.ansi.enabled": "false"})
    kind = common_type([column.data_type for column in columns], conf, strings=False)
    if kind is None:
        raise _no_common_type(columns)
    return kind


def _no_common_type(columns: list[Expression]) -> AnalysisError:
    by_type: dict[str, list[str]] = {}
    for column in columns:
        by_type.setdefault(column.data_type.sql, []).append(to_sql_id((_name(column),)))
    listed = ", ".join(f'"{kind}" ({_first(names)})' for kind, names in sorted(by_type.items()))
    return failure("UNPIVOT_VALUE_DATA_TYPE_MISMATCH", types=listed)


def _first(names: list[str]) -> str:
    """Three names at most, in order."""
    return ", ".join(sorted(names)[:3] + ["..."] * (len(names) > 3))
