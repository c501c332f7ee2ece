"""Lateral joins: as operators over the left side, or as joins."""

from __future__ import annotations

from ....planner.model.expressions.predicates import conjunction
from ....planner.model.expressions.subqueries import LateralJoin
from ....planner.model.plans.logical import Generate, Join, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import OneRowRelation, SubqueryAlias
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import bottom_up
from .domain_joins import rewrite_domain_joins
from .subqueries import without_outer


@bottom_up(LateralJoin)
def inline_lateral_joins(node: LateralJoin, conf: Conf) -> LogicalPlan:
    """`LateralJoin (Project [outer(a) + 1 AS b], OneRow), t` -> `Project [t.*, a + 1 AS b], t`.

    So with generators, whose empty results drop the row even of a left join, as in Spark; only
    where the subquery reads nothing and the join has no condition. Idempotent.
    """
    if node.condition is not None:
        return node
    made = _on_left_side(node.query.plan, node.child)
    if made is None:
        return node
    wanted = (*node.child.output, *node.query.plan.output)
    if [a.expr_id for a in made.output] != [a.expr_id for a in wanted]:
        made = Project(project_list=wanted, child=made)
    return made


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
    parts = [*own, *node.query.conditions]
    return Join(
        left=node.child,
        right=rewrite_domain_joins(node.child, node.query.plan, node.query.conditions),
        join_type=node.join_type,
        condition=conjunction(parts) if parts else None,
        origin=node.origin,
    )
