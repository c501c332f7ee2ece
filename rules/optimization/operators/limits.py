"""Limits: pushed down, combined, or pointless."""

from __future__ import annotations

from ....planner.model.expressions.core import Alias, Expression, Literal, lit
from ....planner.model.expressions.equality import ExpressionSet
from ....planner.model.plans.logical import (
    Aggregate,
    Deduplicate,
    Distinct,
    EventTimeWatermark,
    Filter,
    GlobalLimit,
    Join,
    LocalLimit,
    Offset,
    Project,
    Sort,
    Union,
)
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import LocalRelation, OneRowRelation
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import rewrite_down

LIMITS = frozenset((GlobalLimit, LocalLimit))


def _number(expression: Expression) -> int | None:
    if isinstance(expression, Literal) and isinstance(expression.value, int):
        return expression.value
    return None


def max_rows(plan: LogicalPlan) -> int | None:
    """The most rows that the plan can give, None if nothing bounds them."""
    match plan:
        case Filter(condition=Literal(value=False)):
            return 0
        case OneRowRelation():
            return 1
        case LocalRelation(rows=rows):
            return len(rows)
        case Aggregate(grouping=()):
            return 1
        case GlobalLimit(limit=limit):
            below, number = max_rows(plan.child), _number(limit)
            return number if below is None or (number is not None and number < below) else below
        case Union():
            counts = [max_rows(child) for child in plan.inputs]
            known = [count for count in counts if count is not None]
            return sum(known) if len(known) == len(counts) else None
        case (
            Project() | Filter() | Sort() | Aggregate() | Distinct() | LocalLimit() | Deduplicate()
        ) | EventTimeWatermark():
            return max_rows(plan.child)
    return None


def max_rows_per_partition(plan: LogicalPlan) -> int | None:
    """The most rows that one partition can give, None if nothing bounds them."""
    match plan:
        case Filter(condition=Literal(value=False)):
            return 0
        case LocalLimit(limit=limit):
            return _number(limit)
        case Project() | Filter() | Sort(is_global=False) | EventTimeWatermark():
            return max_rows_per_partition(plan.child)
        case Union():
            return max_rows(plan)
    return max_rows(plan)


def push_limits_down(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """A LocalLimit is repeated below a union, and below the preserved side of an outer join.

    `LocalLimit 5, Union(a, b)` -> `LocalLimit 5, Union(LocalLimit 5 a, LocalLimit 5 b)`.
    Idempotent: inputs that are bounded already get none.
    """
    return rewrite_down(plan, _push, frozenset((LocalLimit, Join)))


def push_single_limit_through_groups(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """One row of an aggregate that only groups is one row of its input.

    `GlobalLimit 1, LocalLimit 1, Aggregate [a], [a]` -> `.., Project [a], LocalLimit 1`.
    Idempotent.
    """

    def push(node: LogicalPlan) -> LogicalPlan:
        match node:
            case GlobalLimit(child=LocalLimit(limit=limit, child=Aggregate() as groups) as local):
                if _number(limit) == 1 and _groups_only(groups):
                    return replace(node, child=replace(local, child=_one_of(groups, limit)))
        return node

    return rewrite_down(plan, push, frozenset((Aggregate,)))


def _groups_only(plan: Aggregate) -> bool:
    keys = ExpressionSet(plan.grouping)
    values = (e.child if isinstance(e, Alias) else e for e in plan.aggregates)
    return bool(plan.grouping) and all(e.foldable or e in keys for e in values)


def _one_of(plan: Aggregate, limit: Expression) -> LogicalPlan:
    return Project(child=LocalLimit(child=plan.child, limit=limit), project_list=plan.aggregates)


def _push(node: LogicalPlan) -> LogicalPlan:
    if isinstance(node, Join):
        return _one_is_enough(node)
    if not isinstance(node, LocalLimit):
        return node
    match node.child:
        case Union() as child:
            inputs = tuple(_limited(node.limit, plan) for plan in child.inputs)
            if all(a is b for a, b in zip(inputs, child.inputs, strict=True)):
                return node
            return replace(node, child=replace(child, inputs=inputs))
        case Join() as child:
            below = _through_join(node.limit, child)
            return node if below is child else replace(node, child=below)
        case Project(child=Join() as join) as child:
            below = _through_join(node.limit, join)
            return node if below is join else replace(node, child=replace(child, child=below))
    return node


def _one_is_enough(join: Join) -> Join:
    """Without a condition one row of the other side decides a semi or anti join."""
    if join.join_type not in ("LeftSemi", "LeftAnti") or join.condition is not None:
        return join
    right = _limited(lit(1), join.right)
    return join if right is join.right else replace(join, right=right)


def _limited(limit: Expression, plan: LogicalPlan) -> LogicalPlan:
    number, bound = _number(limit), max_rows_per_partition(plan)
    if bound is not None and (number is None or number >= bound):
        return plan
    child = plan.child if isinstance(plan, GlobalLimit) else plan
    return LocalLimit(child=child, limit=limit)


def _through_join(limit: Expression, join: Join) -> Join:
    left, right = join.left, join.right
    match join.join_type:
        case "RightOuter":
            right = _limited(limit, right)
        case "LeftOuter":
            left = _limited(limit, left)
        case "Inner" | "Cross" if join.condition is None:
            left, right = _limited(limit, left), _limited(limit, right)
        case "LeftSemi" | "LeftAnti" if join.condition is None:
            left = _limited(limit, left)
    return (
        join if left is join.left and right is join.right else replace(join, left=left, right=right)
    )


def push_projections_through_limits(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Project, GlobalLimit, LocalLimit, child` -> `GlobalLimit, LocalLimit, Project, child`."""

    def push(node: LogicalPlan) -> LogicalPlan:
        if not isinstance(node, Project) or not all(e.deterministic for e in node.project_list):
            return node
        match node.child:
            case LocalLimit() | Offset() as limit:
                return replace(limit, child=replace(node, child=limit.child))
            case GlobalLimit(child=LocalLimit() as local) as limit:
                below = replace(local, child=replace(node, child=local.child))
                return replace(limit, child=below)
        return node

    return rewrite_down(plan, push, LIMITS)


def eliminate_limits(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """A limit goes if its input never has more rows; of two adjacent limits the lower counts."""
    return rewrite_down(plan, _eliminate, LIMITS)


def _eliminate(node: LogicalPlan) -> LogicalPlan:
    if not isinstance(node, GlobalLimit | LocalLimit):
        return node
    number = _number(node.limit)
    if number is None:
        return node
    if isinstance(node, GlobalLimit):
        child = node.child
        below = (
            child.child if isinstance(child, LocalLimit) and child.limit == node.limit else child
        )
        bound = max_rows(below)
        if bound is not None and bound <= number:
            return below
    else:
        bound = max_rows_per_partition(node.child)
        if bound is not None and bound <= number:
            return node.child
    return _combined(node, number)


def _combined(node: GlobalLimit | LocalLimit, number: int) -> LogicalPlan:
    child = node.child
    if isinstance(child, LocalLimit) and isinstance(node, GlobalLimit):
        # Limit over limit: both pairs become one.
        inner = child.child
        if (
            child.limit == node.limit
            and isinstance(inner, GlobalLimit)
            and isinstance(inner.child, LocalLimit)
            and inner.limit == inner.child.limit
        ):
            other = _number(inner.limit)
            if other is not None:
                limit = lit(min(number, other))
                below = LocalLimit(child=inner.child.child, limit=limit)
                return GlobalLimit(child=below, limit=limit)
        return node
    if type(child) is type(node) and isinstance(child, GlobalLimit | LocalLimit):
        other = _number(child.limit)
        if other is not None:
            return replace(node, child=child.child, limit=lit(min(number, other)))
    return node
