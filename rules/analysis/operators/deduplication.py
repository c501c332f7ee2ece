"""Deduplication: which columns its keys are."""

from __future__ import annotations

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import AttributeReference, Expression
from ....planner.model.expressions.unresolved import UnresolvedAttribute, UnresolvedStar
from ....planner.model.plans.logical import Deduplicate
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.text.text import pretty
from ....planner.model.tree import replace
from ..columns import Scope
from ..context import Context
from ..failures import failure


def resolve_deduplicate(plan: Deduplicate, child: LogicalPlan, context: Context) -> LogicalPlan:
    """The deduplication by columns: all of them, or every one that has a key's name.

    Raises:
        AnalysisError: no column has a key's name.
    """
    if any(isinstance(key, UnresolvedStar) for key in plan.keys):
        return replace(plan, keys=child.output, child=child)
    scope = context.scope(child.output)
    keys: list[Expression] = []
    for key in plan.keys:
        found = _key_columns(key, scope)
        if not found:
            raise _unknown_key(key, child)
        keys.extend(column for column in found if column not in keys)
    return replace(plan, keys=tuple(keys), child=child)


def _key_columns(key: Expression, scope: Scope) -> list[AttributeReference]:
    """All columns of a key's name: deduplication takes every one of them."""
    if isinstance(key, AttributeReference):
        return [key]
    if not isinstance(key, UnresolvedAttribute):
        return []
    if len(key.parts) == 1:
        return scope.named(key.parts[0])
    found = scope.find(key.parts)
    return [] if found is None or found[1] else [found[0]]


def _unknown_key(key: Expression, child: LogicalPlan) -> AnalysisError:
    names = ", ".join(column.name for column in child.output)
    name = ".".join(key.parts) if isinstance(key, UnresolvedAttribute) else pretty(key)
    return failure(
        "UNRESOLVED_COLUMN_AMONG_FIELD_NAMES",
        origin=key.origin,
        hint="Deduplicate by columns of the input.",
        subject=key.parts if isinstance(key, UnresolvedAttribute) else (),
        colName=name,
        fieldNames=names,
    )
