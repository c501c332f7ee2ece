"""Aliases that rename nothing."""

from __future__ import annotations

from ....planner.model.expressions.core import NO_METADATA, Alias, AttributeReference, Expression
from ....planner.model.memo import remembered
from ....planner.model.plans.logical import Aggregate, Join, Project, Union
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace

Columns = dict[int, AttributeReference]


def remove_redundant_aliases(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Project [a#1 AS a#5]` -> `Project [a#1]`, and #1 for #5 everywhere above.

    Not where the alias carries another event-time mark, or keeps the two sides of a join apart.
    Idempotent.
    """
    return _clean(plan, frozenset())


def _clean(plan: LogicalPlan, excluded: frozenset[int]) -> LogicalPlan:
    if not _has_redundant(plan):
        return plan
    if isinstance(plan, Join):
        return _clean_join(plan, excluded)
    if isinstance(plan, Union):
        return _clean_union(plan, excluded)
    mapping: Columns = {}

    def visit(child: LogicalPlan) -> LogicalPlan:
        new = _clean(child, excluded)
        if new is not child:
            _record(child, new, mapping)
        return new

    node = plan.map_children(visit)

    def rewrite(expression: Expression) -> Expression:
        result = _with_new_ids(expression, mapping) if mapping else expression
        if isinstance(plan, Project | Aggregate):
            return _stripped(result, excluded)
        return result

    return node.map_expressions(rewrite)


def _clean_union(plan: Union, excluded: frozenset[int]) -> LogicalPlan:
    """A union's columns are those of its first branch: they must stay different ones."""
    first, *rest = plan.inputs
    own = first.output_ids
    inputs = (_clean(first, excluded | own), *(_clean_branch(one, excluded - own) for one in rest))
    if all(new is old for new, old in zip(inputs, plan.inputs, strict=True)):
        return plan
    return replace(plan, inputs=inputs)


def _clean_branch(branch: LogicalPlan, excluded: frozenset[int]) -> LogicalPlan:
    """Another branch: its columns, too, must stay different from each other."""
    clean = _clean(branch, excluded)
    if len(clean.output_ids) == len(clean.output):
        return clean
    ids = [column.expr_id for column in clean.output]
    return _clean(branch, excluded | {i for i in ids if ids.count(i) > 1})


def _clean_join(plan: Join, excluded: frozenset[int]) -> LogicalPlan:
    mapping: Columns = {}
    left = _clean(plan.left, excluded | plan.right.output_ids)
    right = _clean(plan.right, excluded | left.output_ids)
    _record(plan.left, left, mapping)
    _record(plan.right, right, mapping)
    if left is plan.left and right is plan.right:
        return plan
    new = replace(plan, left=left, right=right)
    return new.map_expressions(lambda e: _with_new_ids(e, mapping)) if mapping else new


@remembered
def _has_redundant(plan: LogicalPlan) -> bool:
    """Whether any alias in the tree may be redundant."""
    return any(map(_has_redundant, plan.children)) or (
        isinstance(plan, Project | Aggregate)
        and any(_stripped(e, frozenset()) is not e for e in plan.expressions)
    )


def _record(old: LogicalPlan, new: LogicalPlan, mapping: Columns) -> None:
    for before, after in zip(old.output, new.output, strict=True):
        if before.expr_id != after.expr_id:
            mapping.setdefault(before.expr_id, after)


def _with_new_ids(expression: Expression, mapping: Columns) -> Expression:
    if mapping.keys().isdisjoint(expression.references):
        return expression
    if isinstance(expression, AttributeReference):
        new = mapping[expression.expr_id]
        return new if new.name == expression.name else replace(new, name=expression.name)
    return expression.map_children(lambda child: _with_new_ids(child, mapping))


def _stripped(expression: Expression, excluded: frozenset[int]) -> Expression:
    if not isinstance(expression, Alias) or not isinstance(expression.child, AttributeReference):
        return expression
    column = expression.child
    if (
        (expression.metadata == NO_METADATA or expression.metadata == column.metadata)
        and expression.name == column.name
        and column.expr_id not in excluded
        and expression.expr_id not in excluded
    ):
        return column
    return expression
