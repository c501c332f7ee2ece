"""The values of outer columns that a subquery is computed for, read from the plan around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....planner.model.expressions.core import Alias, AttributeReference, Call, Expression
from ....planner.model.expressions.predicates import split_conjuncts
from ....planner.model.expressions.subqueries import DomainJoin
from ....planner.model.plans.logical import Aggregate, Join, Union
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import OneRowRelation
from ....planner.model.tree import replace
from ...common.trees import replace_attributes


def rewrite_domain_joins(
    outer: LogicalPlan, plan: LogicalPlan, conditions: Sequence[Expression]
) -> LogicalPlan:
    """`DomainJoin [a'], t` (a' <=> a) -> `Join, Aggregate [a], [a AS a'], outer, t`.

    The conditions between the outer plan and the subquery say what outer expression each of the
    domain's columns stands for. Idempotent: none is left.
    """
    if DomainJoin not in plan.classes:
        return plan
    if isinstance(plan, Union):
        inputs = (
            rewrite_domain_joins(outer, child, _in_terms_of(child, plan, conditions))
            for child in plan.inputs
        )
        return replace(plan, inputs=tuple(inputs))
    if not isinstance(plan, DomainJoin):
        return plan.map_children(lambda child: rewrite_domain_joins(outer, child, conditions))
    values = _values(plan, conditions)
    child = plan.child
    if plan.condition is not None:
        below = [replace_attributes(c, values) for c in split_conjuncts(plan.condition)]
        child = rewrite_domain_joins(outer, child, below)
    domain = Aggregate(
        grouping=tuple(values[a.expr_id] for a in plan.domains),
        aggregates=tuple(
            Alias(child=values[a.expr_id], name=a.name, expr_id=a.expr_id) for a in plan.domains
        ),
        child=outer,
    )
    if isinstance(child, OneRowRelation):
        return domain
    return Join(left=domain, right=child, join_type=plan.join_type, condition=plan.condition)


def _in_terms_of(
    child: LogicalPlan, union: Union, conditions: Sequence[Expression]
) -> list[Expression]:
    columns = {a.expr_id: b for a, b in zip(union.output, child.output, strict=True)}
    return [replace_attributes(c, columns) for c in conditions]


def _values(plan: DomainJoin, conditions: Sequence[Expression]) -> Mapping[int, Expression]:
    domains = {a.expr_id for a in plan.domains}
    found: dict[int, Expression] = {}
    for condition in conditions:
        # A null-safe equality of what is never null has become a plain one.
        if not isinstance(condition, Call) or condition.name not in ("<=>", "="):
            continue
        left, right = condition.arguments
        if isinstance(left, AttributeReference) and left.expr_id in domains:
            found[left.expr_id] = right
        elif isinstance(right, AttributeReference) and right.expr_id in domains:
            found[right.expr_id] = left
    return found
