"""Columns that JOIN ... USING hides: not in its output, but found by their table's name.

`Project [k, ...], Join [k = k']` hides the other side's k'. An operator above that says `u.k` gets
it added to the Projects in between, and a Project of its own cuts the output back. Aggregations,
unions, and named subqueries end a column's reach.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....planner.model.expressions.core import AttributeReference, Expression
from ....planner.model.expressions.unresolved import UnresolvedAttribute, UnresolvedStar
from ....planner.model.plans.logical import (
    Filter,
    Generate,
    GlobalLimit,
    Join,
    LocalLimit,
    Offset,
    Project,
    Sort,
)
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import PipeOperator
from ....planner.model.tree import replace
from ..context import Context

Columns = tuple[AttributeReference, ...]
_TRANSPARENT = (Filter, Sort, Generate, GlobalLimit, LocalLimit, Offset, PipeOperator)


def hidden_columns(plan: LogicalPlan) -> Columns:
    """The columns that a name with a table's may still reach below this operator."""
    match plan:
        case Project(hidden=hidden):
            return hidden or hidden_columns(plan.child)
        case Join():
            return (*hidden_columns(plan.left), *hidden_columns(plan.right))
    if isinstance(plan, _TRANSPARENT):
        return hidden_columns(plan.child)
    return ()


def with_hidden_columns(
    expressions: tuple[Expression, ...], child: LogicalPlan, context: Context
) -> LogicalPlan:
    """The child with those of its hidden columns that the expressions name."""
    hidden = hidden_columns(child)
    if not hidden:
        return child
    needed = frozenset(_named(expressions, child, hidden, context))
    return _adding(child, needed) if needed else child


def _named(
    expressions: tuple[Expression, ...], child: LogicalPlan, hidden: Columns, context: Context
) -> Iterator[int]:
    visible, below = context.scope(child.output), context.scope(hidden)
    reachable = {column.expr_id for column in hidden} - child.output_ids
    for expression in expressions:
        for node in expression.walk():
            if isinstance(node, AttributeReference) and node.expr_id in reachable:
                yield node.expr_id
            elif (
                isinstance(node, UnresolvedAttribute)
                and not isinstance(node, UnresolvedStar)
                and len(node.parts) > 1
                and visible.find(node.parts) is None
            ):
                found = below.find(node.parts)
                if found is not None and below.qualifies(found[0], node.parts[:1]):
                    yield found[0].expr_id


def _adding(plan: LogicalPlan, needed: frozenset[int]) -> LogicalPlan:
    """The plan with the columns in its output, last."""
    match plan:
        case Project():
            missing = needed - plan.output_ids
            new = tuple(c for c in hidden_columns(plan) if c.expr_id in missing)
            child = _adding(plan.child, needed - plan.child.output_ids)
            return replace(plan, project_list=(*plan.project_list, *new), child=child)
    if isinstance(plan, (*_TRANSPARENT, Join)):
        below: LogicalPlan = plan
        return below.map_children(lambda child: _adding(child, needed))
    return plan


def cut_back(plan: LogicalPlan, width: int, output: Columns) -> LogicalPlan:
    """The operator with the output that it has without the added columns.

    Args:
        plan: the operator over a child with added columns.
        width: how many columns the child has with them.
        output: those that it had before.
    """
    if not isinstance(plan, (*_TRANSPARENT, Join)) or len(output) == width:
        return plan
    return Project(project_list=output, child=plan)
