"""Walking logical plans for rules: which nodes a tree holds, and rewriting with pruning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ...planner.model.expressions import (
    Alias,
    AttributeReference,
    Expression,
)
from ...planner.model.logical import LogicalPlan, Project

Kinds = frozenset[type]
Rewrite = Callable[[LogicalPlan], LogicalPlan]


def kinds_of(plan: LogicalPlan) -> Kinds:
    """The classes of all nodes in the tree; kept on the (immutable) node."""
    known: Kinds | None = plan.__dict__.get("_kinds")
    if known is None:
        own: Kinds = frozenset((type(plan),))
        known = own.union(*(kinds_of(child) for child in plan.children))
        plan.__dict__["_kinds"] = known
    return known


def rewrite_down(plan: LogicalPlan, function: Rewrite, kinds: Kinds) -> LogicalPlan:
    """`function` on the node, then the same on the children of what it gave.

    Subtrees that hold none of the kinds are left alone.
    """
    if kinds.isdisjoint(kinds_of(plan)):
        return plan
    return function(plan).map_children(lambda child: rewrite_down(child, function, kinds))


def rewrite_up(plan: LogicalPlan, function: Rewrite, kinds: Kinds) -> LogicalPlan:
    """The children first, then `function` on the node over them.

    Subtrees that hold none of the kinds are left alone.
    """
    if kinds.isdisjoint(kinds_of(plan)):
        return plan
    return function(plan.map_children(lambda child: rewrite_up(child, function, kinds)))


def alias_map(expressions: Iterable[Expression]) -> dict[int, Expression]:
    """What each aliased column of a select list stands for."""
    return {e.expr_id: e.child for e in expressions if isinstance(e, Alias)}


def replace_attributes(expression: Expression, replacement: Mapping[int, Expression]) -> Expression:
    """The expression with columns replaced by id; itself if it has none of them."""
    if replacement.keys().isdisjoint(expression.references):
        return expression

    def visit(node: Expression) -> Expression:
        if isinstance(node, AttributeReference):
            return replacement.get(node.expr_id, node)
        if replacement.keys().isdisjoint(node.references):
            return node
        return node.map_children(visit)

    return visit(expression)


def pruned(plan: LogicalPlan, needed: frozenset[int]) -> LogicalPlan:
    """The plan with a Project over it that keeps the needed columns, if it has any others."""
    if plan.output_ids <= needed:
        return plan
    return Project(child=plan, project_list=tuple(a for a in plan.output if a.expr_id in needed))


def same_output(left: LogicalPlan, right: LogicalPlan) -> bool:
    """Whether two plans have the same columns, by id, in the same order."""
    a, b = left.output, right.output
    return len(a) == len(b) and all(x.expr_id == y.expr_id for x, y in zip(a, b, strict=True))
