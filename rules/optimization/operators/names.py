"""Names over plans, aliases, hints and projections that have done their work."""

from __future__ import annotations

from ....planner.model.expressions.core import NO_METADATA, Alias, AttributeReference, Expression
from ....planner.model.memo import remembered
from ....planner.model.plans.hints import ResolvedHint
from ....planner.model.plans.logical import Aggregate, Join, Project, Union
from ....planner.model.plans.query_plan import LogicalPlan, UnaryNode
from ....planner.model.plans.relations import PipeOperator, SubqueryAlias, View
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.fresh_ids import inline_ctes
from ...common.trees import bottom_up, rewrite_up, same_columns, with_sides
from ..support.executor import is_nested


def inline_definitions(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """What WITH names stands where it is used: `WithCTE(def 0, Project, CTERelationRef 0)` ->
    `Project, def 0`. Idempotent.
    """
    return inline_ctes(plan)


@bottom_up(SubqueryAlias, View, PipeOperator)
def eliminate_names(node: SubqueryAlias | View | PipeOperator, conf: Conf) -> LogicalPlan:
    """Table aliases, views and the ends of pipes go: columns are known by id from here on.

    `SubqueryAlias t, child` -> `child`. Requires a resolved plan. Idempotent.
    """
    return node.child


def move_hints_to_joins(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Join (Hint broadcast, l), r` -> `Join l, r (broadcast, -)`; other hints go. Idempotent.

    A hint holds for the nearest join over it, with only operators of one input between them.
    """

    def moved(node: LogicalPlan) -> LogicalPlan:
        if not isinstance(node, Join):
            return node
        left, right = node.hint
        found = (left or _hint(node.left), right or _hint(node.right))
        return replace(node, hint=found) if found != node.hint else node

    def dropped(node: LogicalPlan) -> LogicalPlan:
        return node.child if isinstance(node, ResolvedHint) else node

    with_hints = rewrite_up(plan, moved, frozenset((ResolvedHint,)))
    return rewrite_up(with_hints, dropped, frozenset((ResolvedHint,)))


def _hint(side: LogicalPlan) -> str | None:
    while isinstance(side, UnaryNode):
        if isinstance(side, ResolvedHint):
            return side.strategy
        side = side.child
    return None


@bottom_up(Project)
def remove_noop_operators(node: Project, conf: Conf) -> LogicalPlan:
    """A Project with the columns of its input, in order and by name, goes. Idempotent."""
    if not same_columns(node.output, node.child.output):
        return node
    names = [a.name for a in node.output]
    child = node.child
    if isinstance(child, Project):
        child = replace(child, project_list=_named(child.project_list, names))
    elif isinstance(child, Aggregate):
        child = replace(child, aggregates=_named(child.aggregates, names))
    return child if [a.name for a in child.output] == names else node


def _named(items: tuple[Expression, ...], names: list[str]) -> tuple[Expression, ...]:
    def named(item: Expression, name: str) -> Expression:
        if isinstance(item, Alias | AttributeReference) and item.name != name:
            return replace(item, name=name)
        return item

    return tuple(named(item, name) for item, name in zip(items, names, strict=True))


Columns = dict[int, AttributeReference]


def remove_redundant_aliases(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Project [a#1 AS a#5]` -> `Project [a#1]`, and #1 for #5 everywhere above.

    Not where the alias carries another event-time mark, keeps the two sides of a join apart, or
    makes a column of a subquery. Idempotent.
    """
    return _clean(plan, plan.output_ids if is_nested() else frozenset())


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
    """A union's columns are those of its first branch: they must stay different ones.

    A union of which a branch gives a column both as it is and under another name is left alone.
    """
    if any(map(_gives_twice, plan.inputs)):
        return plan
    first, *rest = plan.inputs
    own = first.output_ids
    inputs = (_clean(first, excluded | own), *(_clean_branch(one, excluded - own) for one in rest))
    if all(new is old for new, old in zip(inputs, plan.inputs, strict=True)):
        return plan
    return replace(plan, inputs=inputs)


def _gives_twice(branch: LogicalPlan) -> bool:
    match branch:
        case Project(project_list=items) | Aggregate(aggregates=items):
            plain = {item for item in items if isinstance(item, AttributeReference)}
            return any(isinstance(item, Alias) and item.child in plain for item in items)
    return False


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
    new = with_sides(plan, left, right)
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
