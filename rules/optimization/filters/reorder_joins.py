"""Inner joins side by side, each where a condition is there for it; conditions that are `<=>`."""

from __future__ import annotations

from ....planner.model.expressions.core import Call, Expression
from ....planner.model.expressions.equality import same
from ....planner.model.expressions.predicates import conjunction, split_conjuncts
from ....planner.model.plans.logical import Filter, Join, JoinType, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import top_down
from ..support.calls import call, is_call
from .push_through_joins import fits_in_join

_INNER = ("Inner", "Cross")
_Input = tuple[LogicalPlan, JoinType]


@top_down(LogicalPlan, holding=(Join,))
def reorder_joins(node: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Filter a.x = c.x AND b.y = c.y, (a JOIN b) JOIN c` -> `(a JOIN c ON ..) JOIN b ON ..`.

    Of three or more inputs of inner joins without hints the next to be joined is the first one that
    has a condition with those before it, or, where none has, the first (Spark's ReorderJoin). A
    Project restores the order of the columns. Idempotent.
    """
    if not isinstance(_join_of(node), Join):
        return node
    inputs, conditions = _flattened(node, "Inner")
    if len(inputs) < 3 or not conditions:
        return node
    ordered = _ordered(inputs, conditions)
    if _alike(node, ordered):
        return node
    if [a.expr_id for a in ordered.output] == [a.expr_id for a in node.output]:
        return ordered
    return Project(project_list=node.output, child=ordered)


@top_down(Join)
def simplify_join_conditions(node: Join, conf: Conf) -> LogicalPlan:
    """`Join l = r OR (isnull(l) AND isnull(r))` -> `Join l <=> r`. Idempotent."""
    if node.condition is None:
        return node
    condition = node.condition.transform_up(_null_safe)
    return node if condition is node.condition else replace(node, condition=condition)


def _null_safe(expression: Expression) -> Expression:
    if not is_call(expression, "or"):
        return expression
    for equal, nulls in (expression.children, expression.children[::-1]):
        if not is_call(equal, "=") or not is_call(nulls, "and"):
            continue
        left, right = equal.children
        checks = nulls.children
        if not all(is_call(check, "isnull") for check in checks):
            continue
        one, other = (check.children[0] for check in checks)
        if (same(left, one) and same(right, other)) or (same(left, other) and same(right, one)):
            return call("<=>", left, right)
    return expression


def _join_of(node: LogicalPlan) -> Join | None:
    """The inner join without a hint that the node is, or filters."""
    join = node.child if isinstance(node, Filter) else node
    if isinstance(join, Join) and join.join_type in _INNER and join.hint == (None, None):
        return join
    return None


def _flattened(plan: LogicalPlan, around: JoinType) -> tuple[list[_Input], list[Expression]]:
    """The inputs of the joins, each with the type of the join that it is the right side of."""
    join = _join_of(plan)
    if join is None:
        return [(plan, around)], []
    if isinstance(plan, Filter):
        inputs, conditions = _flattened(join, "Inner")
        return inputs, [*conditions, *split_conjuncts(plan.condition)]
    inputs, conditions = _flattened(join.left, join.join_type)
    own = split_conjuncts(join.condition)
    return [*inputs, (join.right, join.join_type)], [*conditions, *own]


def _ordered(inputs: list[_Input], conditions: list[Expression]) -> LogicalPlan:
    (left, left_type), *rest = inputs
    if len(rest) == 1:
        ((right, right_type),) = rest
        inner = left_type == right_type == "Inner"
        kind: JoinType = "Inner" if inner else "Cross"
        within, others = _partition(conditions, None)
        join = _joined(left, right, kind, within)
        return Filter(child=join, condition=conjunction(others)) if others else join
    right, kind = next((i for i in rest if _has_condition(left, i[0], conditions)), rest[0])
    within, others = _partition(conditions, left.output_ids | right.output_ids)
    joined = _joined(left, right, kind, within)
    return _ordered([(joined, "Inner"), *(i for i in rest if i[0] is not right)], others)


def _partition(
    conditions: list[Expression], columns: frozenset[int] | None
) -> tuple[list[Expression], list[Expression]]:
    """What a join of these columns can test, and the rest."""
    within = [
        e for e in conditions if fits_in_join(e) and (columns is None or e.references <= columns)
    ]
    return within, [e for e in conditions if not any(e is other for other in within)]


def _has_condition(left: LogicalPlan, right: LogicalPlan, conditions: list[Expression]) -> bool:
    both = left.output_ids | right.output_ids
    return any(
        e.references <= both
        and not (e.references and e.references <= left.output_ids)
        and not (e.references and e.references <= right.output_ids)
        for e in conditions
    )


def _joined(
    left: LogicalPlan, right: LogicalPlan, kind: JoinType, conditions: list[Expression]
) -> Join:
    condition = conjunction(conditions) if conditions else None
    return Join(left=left, right=right, join_type=kind, condition=condition)


def _alike(one: LogicalPlan, other: LogicalPlan) -> bool:
    """Whether both join the same inputs in the same order, on the same conditions."""
    if one is other:
        return True
    match one, other:
        case Filter(), Filter():
            return _means(one.condition, other.condition) and _alike(one.child, other.child)
        case Join(), Join():
            return (
                one.join_type == other.join_type
                and _means(one.condition, other.condition)
                and one.right is other.right
                and _alike(one.left, other.left)
            )
    return False


def _means(one: Expression | None, other: Expression | None) -> bool:
    if one is None or other is None:
        return one is other
    mine, theirs = split_conjuncts(one), split_conjuncts(other)
    return len(mine) == len(theirs) and all(
        a is b or (isinstance(a, Call) and a == b) for a, b in zip(mine, theirs, strict=True)
    )
