"""Subqueries as expressions: EXISTS by itself, single rows, merged aggregations, optimization."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Expression,
    GetStructField,
    lit,
    to_attribute,
    without_alias,
)
from ....planner.model.expressions.equality import canonical, signature
from ....planner.model.expressions.subqueries import (
    Exists,
    OuterReference,
    ScalarSubquery,
    SubqueryExpression,
    subqueries_in,
)
from ....planner.model.functions.build import call, null, struct_of
from ....planner.model.plans.logical import Aggregate, Filter, Project, Sort, limited
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import OneRowRelation, SubqueryAlias, View
from ....planner.model.schemas.types import ArrayType, BinaryType, MapType, StringType, StructType
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import map_subqueries
from ..operators.collapse_projects import collapse_projects
from ..operators.limits import max_rows
from ..operators.names import eliminate_names
from ..support.executor import run_nested
from .outer_columns import by_name


def has_subquery(plan: LogicalPlan) -> bool:
    """Whether any expression in the tree holds a subquery."""
    return plan.uses(SubqueryExpression)


def rewrite_subqueries(
    plan: LogicalPlan, rewrite: Callable[[SubqueryExpression], Expression]
) -> LogicalPlan:
    """The plan with every subquery in its expressions rewritten, inside out."""
    if not has_subquery(plan):
        return plan
    node = plan.map_children(lambda child: rewrite_subqueries(child, rewrite))
    return map_subqueries(node, rewrite)


def rewrite_lone_exists(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """EXISTS that has nothing to do with the row around it asks for one value.

    `exists [plan]` -> `isnotnull(scalar-subquery [Limit 1, Project [1 AS col], plan])`. Idempotent.
    """

    def rewrite(subquery: SubqueryExpression) -> Expression:
        if not isinstance(subquery, Exists) or subquery.correlated:
            return subquery
        one = Project(child=subquery.plan, project_list=(Alias(child=lit(1), name="col"),))
        first = limited(one, lit(1))
        return call("isnotnull", ScalarSubquery(plan=first, expr_id=subquery.expr_id))

    return rewrite_subqueries(plan, rewrite)


def inline_one_row_subqueries(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """A scalar subquery that reads nothing is its expression: `(SELECT a + 1)` -> `a + 1`."""

    def rewrite(subquery: SubqueryExpression) -> Expression:
        if isinstance(subquery, ScalarSubquery):
            match collapse_projects(eliminate_names(subquery.plan, conf), conf):
                case Project(child=OneRowRelation(), project_list=(item,)):
                    return without_alias(item).transform_up(without_outer)
        return subquery

    return rewrite_subqueries(plan, rewrite)


def without_outer(expression: Expression) -> Expression:
    """The column itself for a reference to a column of the query around."""
    return expression.column if isinstance(expression, OuterReference) else expression


def optimize_subqueries(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """The plans of subqueries optimized, each by itself; their order does not matter.

    The value of one that gives no row is null. An aggregation whose value over no rows may be
    other than null, as a count's 0, stays as it is: its input is optimized.
    """

    def rewrite(subquery: SubqueryExpression) -> Expression:
        if (
            isinstance(subquery, ScalarSubquery)
            and subquery.correlated
            and subquery.may_have_count_bug
            and top_aggregate(subquery.plan) is not None
        ):
            return replace(subquery, plan=_with_optimized_input(subquery.plan, conf))
        plan = _without_order(run_nested(subquery.plan, conf))
        if isinstance(subquery, ScalarSubquery) and not subquery.correlated and max_rows(plan) == 0:
            return null(subquery.data_type)
        return replace(subquery, plan=plan)

    return rewrite_subqueries(plan, rewrite)


def top_aggregate(plan: LogicalPlan) -> Aggregate | None:
    """The aggregation on top of a subquery, under projections and HAVING."""
    while isinstance(plan, Project | Filter | SubqueryAlias | View):
        plan = plan.child
    return plan if isinstance(plan, Aggregate) else None


def _with_optimized_input(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """The plan with the input of its top aggregation optimized: those columns by name."""
    if not isinstance(plan, Aggregate):
        return plan.map_children(lambda child: _with_optimized_input(child, conf))
    columns = by_name(a for a in plan.child.output if a.expr_id in plan.references)
    new = run_nested(Project(project_list=columns, child=plan.child), conf)
    if isinstance(new, Project) and all(
        isinstance(e, AttributeReference) for e in new.project_list
    ):
        new = new.child
    return replace(plan, child=new)


def _without_order(plan: LogicalPlan) -> LogicalPlan:
    match plan:
        case Sort(child=child):
            return child
        case Project(child=Sort(child=child)):
            return replace(plan, child=child)
        case _:
            return plan


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
        columns = map(to_attribute, self.plan.aggregates)
        value = Alias(child=struct_of((c.name, c) for c in columns), name="mergedValue")
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

    def merged(subquery: SubqueryExpression) -> Expression:
        if not isinstance(subquery, ScalarSubquery) or subquery.expr_id not in known:
            return subquery
        group = owners.get(subquery.expr_id)
        if group is None or len(group.plan.aggregates) == 1:
            return replace(subquery, plan=known[subquery.expr_id])
        place = group.places[subquery.expr_id]
        name = to_attribute(group.plan.aggregates[place]).name
        whole = replace(subquery, plan=group.struct)
        return GetStructField(child=whole, ordinal=place, name=name)

    return rewrite_subqueries(plan, merged)


def _uncorrelated(plan: LogicalPlan) -> Iterator[ScalarSubquery]:
    for expression in (e for node in plan.walk() for e in node.expressions):
        for subquery in subqueries_in(expression):
            if isinstance(subquery, ScalarSubquery) and not subquery.correlated:
                yield subquery


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
