"""UNPIVOT: rows expanded, once per column or group of columns."""

from __future__ import annotations

from ...planner.model.errors import AnalysisError
from ...planner.model.expressions import AttributeReference, Expression, lit
from ...planner.model.functions.coercion import wider_without_strings
from ...planner.model.logical import Expand, Filter
from ...planner.model.query_plan import LogicalPlan
from ...planner.model.tree import replace
from ...planner.model.types import STRING, DataType, same_type
from ...planner.model.unpivot import UnresolvedUnpivot
from .context import Context
from .expressions import Resolver
from .failures import failure, quoted


def resolve_unpivot(plan: UnresolvedUnpivot, child: LogicalPlan, context: Context) -> LogicalPlan:
    """`Unpivot (v FOR k IN (a, b)), t(id, a, b)` -> `Filter v, Expand [id, a, a], [id, b, b], t`.

    Raises:
        AnalysisError: the columns of a value have no common type.
    """
    resolver = Resolver(context.scope(child.output), context)
    columns = tuple(tuple(resolver.resolve(e) for e in entry) for entry in plan.columns)
    if not all(e.resolved for entry in columns for e in entry):
        return replace(plan, columns=columns, child=child)
    chosen = frozenset().union(*(e.references for entry in columns for e in entry))
    kept = tuple(a for a in child.output if a.expr_id not in chosen)
    kinds = [_common([entry[i] for entry in columns], context) for i in range(len(columns[0]))]
    values = tuple(
        AttributeReference(name=name, type_=kind)
        for name, kind in zip(plan.value_names, kinds, strict=True)
    )
    name = AttributeReference(name=plan.name_column, type_=STRING, is_nullable=False)
    rows = tuple(
        (
            *kept,
            lit(own if own is not None else "_".join(_name(e) for e in entry)),
            *(_as(e, kind, context) for e, kind in zip(entry, kinds, strict=True)),
        )
        for own, entry in zip(plan.names, columns, strict=True)
    )
    expanded = Expand(
        projections=rows, attributes=(*kept, name, *values), child=child, origin=plan.origin
    )
    if plan.include_nulls:
        return expanded
    present = context.call("isnotnull", context.call("coalesce", values[0]))
    for value in values[1:]:
        present = context.call("or", present, context.call("isnotnull", value))
    return Filter(condition=present, child=expanded)


def _name(column: Expression) -> str:
    return column.name if isinstance(column, AttributeReference) else ""


def _as(value: Expression, kind: DataType, context: Context) -> Expression:
    return value if same_type(value.data_type, kind) else context.cast(value, kind)


def _common(columns: list[Expression], context: Context) -> DataType:
    kind: DataType | None = columns[0].data_type
    for column in columns[1:]:
        kind = None if kind is None else wider_without_strings(kind, column.data_type, context.conf)
    if kind is None:
        raise _no_common_type(columns)
    return kind


def _no_common_type(columns: list[Expression]) -> AnalysisError:
    by_type: dict[str, list[str]] = {}
    for column in columns:
        by_type.setdefault(column.data_type.sql, []).append(quoted((_name(column),)))
    listed = ", ".join(f'"{kind}" ({", ".join(by_type[kind])})' for kind in sorted(by_type))
    return failure(
        "UNPIVOT_VALUE_DATA_TYPE_MISMATCH",
        f"Unpivot value columns must share a least common type, some types do not: [{listed}].",
        state="42K09",
        hint="Cast the value columns to one type first.",
    )
