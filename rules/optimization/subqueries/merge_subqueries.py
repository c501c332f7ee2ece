"""Scalar subqueries that aggregate the same rows, computed together."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    Call,
    Expression,
    GetStructField,
    lit,
    to_attribute,
)
from ....planner.model.expressions.equality import canonical, signature
from ....planner.model.expressions.subqueries import ScalarSubquery, subqueries_in
from ....planner.model.plans.logical import Aggregate, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import ArrayType, BinaryType, MapType, StringType, StructType
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from .subqueries import has_subquery, rewrite_expressions

_VARIABLE = (StringType, BinaryType, ArrayType, MapType, StructType)


@dataclass
class _Shared:
    """The aggregations over one input as one; `places` says which column each subquery means."""

    plan: Aggregate
    places: dict[int, int] = field(default_factory=dict)

    def add(self, subquery: ScalarSubquery, aggregate: Aggregate) -> None:
        """Take another aggregation in: its one column is there, or goes to the end."""
        (item,) = aggregate.aggregates
        known = [canonical(e) for e in self.plan.aggregates]
        if canonical(item) not in known:
            self.plan = replace(self.plan, aggregates=(*self.plan.aggregates, item))
            known.append(canonical(item))
        self.places[subquery.expr_id] = known.index(canonical(item))

    @cached_property
    def struct(self) -> LogicalPlan:
        """All columns as one; not to be asked for before all are there."""
        columns = [to_attribute(e) for e in self.plan.aggregates]
        parts = tuple(part for c in columns for part in (lit(c.name), c))
        value = Alias(child=Call(name="named_struct", arguments=parts), name="mergedValue")
        return Project(project_list=(value,), child=self.plan)


def merge_scalar_subqueries(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`(SELECT min(a) FROM t) + (SELECT max(a) FROM t)` -> one subquery that gives both.

    Each place has the whole subquery and takes its own field. Subqueries with the same plan become
    equal. Requires optimized subqueries; for whole queries only, once.
    """
    if not has_subquery(plan):
        return plan
    owners: dict[int, _Shared] = {}
    alike: dict[Hashable, LogicalPlan] = {}
    shared: list[_Shared] = []
    known: dict[int, LogicalPlan] = {}
    for subquery in _uncorrelated(plan):
        aggregate = alike.setdefault(signature(subquery.plan, {}), subquery.plan)
        known[subquery.expr_id] = aggregate
        if not isinstance(aggregate, Aggregate) or len(aggregate.aggregates) != 1:
            continue
        group = next((s for s in shared if _merges(s.plan, aggregate)), None)
        if group is None:
            group = _Shared(aggregate)
            shared.append(group)
        group.add(subquery, aggregate)
        owners[subquery.expr_id] = group

    def merged(expression: Expression) -> Expression:
        if not isinstance(expression, ScalarSubquery) or expression.expr_id not in known:
            return expression
        group = owners.get(expression.expr_id)
        if group is None or len(group.plan.aggregates) == 1:
            return replace(expression, plan=known[expression.expr_id])
        place = group.places[expression.expr_id]
        name = to_attribute(group.plan.aggregates[place]).name
        whole = replace(expression, plan=group.struct)
        return GetStructField(child=whole, ordinal=place, name=name)

    return rewrite_expressions(plan, merged)


def _uncorrelated(plan: LogicalPlan) -> Iterator[ScalarSubquery]:
    for expression in plan.expressions:
        for subquery in subqueries_in(expression):
            if isinstance(subquery, ScalarSubquery) and not subquery.correlated:
                yield subquery
    for child in plan.children:
        yield from _uncorrelated(child)


def _merges(one: Aggregate, other: Aggregate) -> bool:
    """Whether both aggregate the same rows in the same way."""
    return (
        one.child == other.child and one.grouping == other.grouping and _kind(one) == _kind(other)
    )


def _kind(plan: Aggregate) -> tuple[bool, bool]:
    """What decides the operator: objects in buffers, or values that change their place."""
    functions = [a.function for e in plan.aggregates for a in e.collect(AggregateExpression)]
    objects = any(f.spec.object_hash for f in functions)
    buffers = (b for f in functions if f.spec.forms for b in f.spec.forms(f).plan_buffers)
    fixed = all(not isinstance(b.data_type, _VARIABLE) for b in buffers)
    return objects, fixed
