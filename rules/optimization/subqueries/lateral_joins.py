"""Lateral joins as operators over the left side or as joins; the domains that they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....planner.model.expressions.core import Alias, AttributeReference, Call, Expression
from ....planner.model.expressions.predicates import conjunction_or_none, split_conjuncts
from ....planner.model.expressions.subqueries import DomainJoin, LateralJoin
from ....planner.model.plans.logical import Aggregate, Generate, Join, Project, Union
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import OneRowRelation, SubqueryAlias
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import bottom_up, by_place, replace_attributes, with_output
from .subqueries import without_outer


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
        inputs: list[LogicalPlan] = []
        for child in plan.inputs:
            own = [replace_attributes(c, by_place(plan, child)) for c in conditions]
            inputs.append(rewrite_domain_joins(outer, child, own))
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


@bottom_up(LateralJoin)
def inline_lateral_joins(node: LateralJoin, conf: Conf) -> LogicalPlan:
    """`LateralJoin (Project [outer(a) + 1 AS b], OneRow), t` -> `Project [t.*, a + 1 AS b], t`.

    So with generators, whose empty results drop the row even of a left join, as in Spark; only
    where the subquery reads nothing and the join has no condition. Idempotent.
    """
    if node.condition is not None:
        return node
    inlined = _on_left_side(node.query.plan, node.child)
    if inlined is None:
        return node
    return with_output(inlined, (*node.child.output, *node.query.plan.output))


def _on_left_side(plan: LogicalPlan, below: LogicalPlan) -> LogicalPlan | None:
    """What stands over no relation, over the left side of the join instead."""
    match plan:
        case OneRowRelation():
            return below
        case SubqueryAlias(child=child):
            return _on_left_side(child, below)
        case Project(project_list=items, child=child):
            inner = _on_left_side(child, below)
            if inner is None:
                return None
            new = tuple(e.transform_up(without_outer) for e in items)
            return Project(project_list=(*below.output, *new), child=inner)
        case Generate(generator=generator, child=child):
            inner = _on_left_side(child, below)
            if inner is None:
                return None
            new_generator = generator.transform_up(without_outer)
            return replace(plan, generator=new_generator, child=inner)
        case _:
            return None


@bottom_up(LateralJoin)
def rewrite_lateral_joins(node: LateralJoin, conf: Conf) -> LogicalPlan:
    """`LateralJoin q [a = b], t` -> `Join (a = b), t, q`.

    Requires optimized subqueries whose correlated conditions are pulled out. Idempotent.
    """
    own = [] if node.condition is None else [node.condition]
    return Join(
        left=node.child,
        right=rewrite_domain_joins(node.child, node.query.plan, node.query.conditions),
        join_type=node.join_type,
        condition=conjunction_or_none([*own, *node.query.conditions]),
        origin=node.origin,
    )
