"""WITH: definitions beside the query until the optimizer puts them in."""

from __future__ import annotations

from ...planner.model.expressions.core import Alias, Expression
from ...planner.model.expressions.subqueries import SubqueryExpression
from ...planner.model.plans.logical import Project
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.plans.relations import CTERelationDef, CTERelationRef, WithCTE
from ...planner.model.tree import replace
from .duplicates import renewed, renewed_once


def reference(definition: CTERelationDef) -> CTERelationRef:
    """A use of the definition, with its columns."""
    return CTERelationRef(
        cte_id=definition.cte_id,
        attributes=definition.child.output,
        streaming=definition.is_streaming,
        always_nullable=definition.nullable_state,
    )


def inline_ctes(plan: LogicalPlan) -> LogicalPlan:
    """Each use of a name of WITH replaced by what it stands for; no WithCTE is left.

    Where a use has column ids of its own, a Project gives them, over columns of its own.
    """
    return _inlined(plan, {})


def _inlined(plan: LogicalPlan, known: dict[int, LogicalPlan]) -> LogicalPlan:
    if isinstance(plan, WithCTE):
        known = dict(known)
        for definition in plan.definitions:
            known[definition.cte_id] = _inlined(definition.child, known)
        return _inlined(plan.child, known)
    if isinstance(plan, CTERelationRef):
        return _renamed(known[plan.cte_id], plan)

    def inside(expression: Expression) -> Expression:
        if isinstance(expression, SubqueryExpression):
            return replace(expression, plan=_inlined(expression.plan, known))
        return expression

    node = plan.map_children(lambda child: _inlined(child, known))
    return node.map_expressions(
        lambda e: e.transform_up(inside) if e.holds(SubqueryExpression) else e
    )


def _renamed(child: LogicalPlan, use: CTERelationRef) -> LogicalPlan:
    if [own.expr_id for own in child.output] == [other.expr_id for other in use.attributes]:
        return child
    fresh = renewed_once(child) if child.is_streaming else renewed(child, _made(child))
    items = tuple(
        own
        if own.expr_id == other.expr_id
        else Alias(child=own, name=other.name, expr_id=other.expr_id)
        for own, other in zip(fresh.output, use.attributes, strict=True)
    )
    return Project(project_list=items, child=fresh)


def _made(plan: LogicalPlan) -> frozenset[int]:
    """The ids of all columns that the plan's operators make."""
    found = set(plan.output_ids)
    for node in plan.walk():
        if not node.children:
            found |= node.output_ids
        for expression in node.expressions:
            found.update(alias.expr_id for alias in expression.collect(Alias))
    return frozenset(found)
