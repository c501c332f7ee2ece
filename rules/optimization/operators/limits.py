"""Limits: pushed down, combined, pointless, or of the rows that a rank keeps."""

from __future__ import annotations

from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Call,
    Expression,
    Literal,
    lit,
    without_alias,
)
from ....planner.model.expressions.equality import ExpressionSet
from ....planner.model.expressions.predicates import split_conjuncts
from ....planner.model.expressions.windows import WindowExpression
from ....planner.model.plans.join_types import SEMI_JOINS
from ....planner.model.plans.logical import (
    Aggregate,
    Deduplicate,
    Distinct,
    EventTimeWatermark,
    Expand,
    Filter,
    GlobalLimit,
    Join,
    LocalLimit,
    Offset,
    Project,
    Sort,
    Union,
    limited,
)
from ....planner.model.plans.partitions import (
    RebalancePartitions,
    Repartition,
    RepartitionByExpression,
    Sample,
)
from ....planner.model.plans.query_plan import LogicalPlan, UnaryNode
from ....planner.model.plans.relations import LocalRelation, OneRowRelation, Range
from ....planner.model.plans.windows import Window, WindowGroupLimit
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import top_down, with_sides
from .local_relations import empty_like


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
        case Range():
            return plan.row_count
        case Aggregate(grouping=()):
            return 1
        case Expand(projections=projections):
            below = max_rows(plan.child)
            return None if below is None else below * len(projections)
        case GlobalLimit(limit=limit):
            below, number = max_rows(plan.child), _number(limit)
            return number if below is None or (number is not None and number < below) else below
        case Offset(offset=offset):
            below, number = max_rows(plan.child), _number(offset)
            return None if below is None or number is None else max(0, below - number)
        case Union():
            counts = [max_rows(child) for child in plan.inputs]
            known = [count for count in counts if count is not None]
            return sum(known) if len(known) == len(counts) else None
        case Join():
            return _max_rows_of_join(plan)
        case Sample():
            return None if plan.with_replacement else max_rows(plan.child)
        case UnaryNode() if isinstance(plan, _NO_MORE_ROWS):
            return max_rows(plan.child)
    return None


_NO_MORE_ROWS = (
    Aggregate,
    Deduplicate,
    Distinct,
    EventTimeWatermark,
    Filter,
    LocalLimit,
    Project,
    RebalancePartitions,
    Repartition,
    RepartitionByExpression,
    Sort,
    Window,
)


def _max_rows_of_join(join: Join) -> int | None:
    left = max_rows(join.left)
    if join.join_type in SEMI_JOINS:
        return left
    right = max_rows(join.right)
    if left is None or right is None or join.join_type == "ExistenceJoin":
        return None
    least = {"LeftOuter": left, "LeftSingle": left, "RightOuter": right, "FullOuter": left + right}
    return max(left * right, least.get(join.join_type, 0))


def max_rows_per_partition(plan: LogicalPlan) -> int | None:
    """The most rows that one partition can give, None if nothing bounds them."""
    match plan:
        case Filter(condition=Literal(value=False)):
            return 0
        case LocalLimit(limit=limit):
            return _number(limit)
        case Project() | Filter() | Sort(is_global=False) | EventTimeWatermark():
            return max_rows_per_partition(plan.child)
    return max_rows(plan)


@top_down(LocalLimit, Join)
def push_limits_down(node: LocalLimit | Join, conf: Conf) -> LogicalPlan:
    """A LocalLimit is repeated below a union, and below the preserved side of an outer join.

    `LocalLimit 5, Union(a, b)` -> `LocalLimit 5, Union(LocalLimit 5 a, LocalLimit 5 b)`. Where all
    rows are ranked, only the first ones are. Idempotent: inputs that are bounded already get none.
    """
    if isinstance(node, Join):
        return _one_is_enough(node)
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
        case Window() as window if _ranks_first_rows(window, node.limit):
            return _with_first_rows(window, node.limit)
        case Project(child=Window() as window) as child if _ranks_first_rows(window, node.limit):
            return replace(child, child=_with_first_rows(window, node.limit))
    return node


def _ranks_first_rows(window: Window, limit: Expression) -> bool:
    """Whether the first rows of all have the ranks that they have among all."""
    number, bound = _number(limit), max_rows(window.child)
    return (
        not window.partition_by
        and number is not None
        and (bound is None or bound > number)
        and all(_rank_of(item) is not None for item in window.windows)
    )


def _rank_of(item: Expression) -> Call | None:
    """The rank function that a column of a window is the value of."""
    match without_alias(item):
        case WindowExpression(function=Call() as function) if function.spec.limits_groups:
            return function
    return None


def _with_first_rows(window: Window, limit: Expression) -> Window:
    return replace(window, child=limited(Sort(child=window.child, order=window.order_by), limit))


@top_down(GlobalLimit, holding=(Aggregate,))
def push_single_limit_through_groups(node: GlobalLimit, conf: Conf) -> LogicalPlan:
    """One row of an aggregate that only groups is one row of its input.

    `GlobalLimit 1, LocalLimit 1, Aggregate [a], [a]` -> `.., Project [a], LocalLimit 1`.
    Idempotent.
    """
    match node:
        case GlobalLimit(child=LocalLimit(limit=limit, child=Aggregate() as groups) as local):
            if _number(limit) == 1 and _groups_only(groups):
                return replace(node, child=replace(local, child=_one_of(groups, limit)))
    return node


def _groups_only(plan: Aggregate) -> bool:
    keys = ExpressionSet(plan.grouping)
    values = (without_alias(e) for e in plan.aggregates)
    return bool(plan.grouping) and all(e.foldable or e in keys for e in values)


def _one_of(plan: Aggregate, limit: Expression) -> LogicalPlan:
    return Project(child=LocalLimit(child=plan.child, limit=limit), project_list=plan.aggregates)


def _one_is_enough(join: Join) -> Join:
    """Without a condition one row of the other side decides a semi or anti join."""
    if join.join_type not in SEMI_JOINS or join.condition is not None:
        return join
    return with_sides(join, join.left, _limited(lit(1), join.right))


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
    return with_sides(join, left, right)


@top_down(Project, holding=(GlobalLimit, LocalLimit))
def push_projections_through_limits(node: Project, conf: Conf) -> LogicalPlan:
    """`Project, GlobalLimit, LocalLimit, child` -> `GlobalLimit, LocalLimit, Project, child`."""
    if not all(e.deterministic for e in node.project_list):
        return node
    match node.child:
        case LocalLimit() | Offset() as limit:
            return replace(limit, child=replace(node, child=limit.child))
        case GlobalLimit(child=LocalLimit() as local) as limit:
            below = replace(local, child=replace(node, child=local.child))
            return replace(limit, child=below)
    return node


@top_down(GlobalLimit, LocalLimit)
def eliminate_limits(node: GlobalLimit | LocalLimit, conf: Conf) -> LogicalPlan:
    """A limit goes if its input never has more rows; of two adjacent limits the lower counts."""
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
                return limited(inner.child.child, lit(min(number, other)))
        return node
    if type(child) is type(node) and isinstance(child, GlobalLimit | LocalLimit):
        other = _number(child.limit)
        if other is not None:
            return replace(node, child=child.child, limit=lit(min(number, other)))
    return node


_MOST = 1000  # spark.sql.optimizer.windowGroupLimitThreshold


@top_down(Filter, holding=(Window,))
def infer_window_limits(node: Filter, conf: Conf) -> LogicalPlan:
    """`Filter rn <= 3, Window row_number() AS rn` -> `.., Window, WindowGroupLimit 3`.

    Of the rank functions that the filter bounds, the one with the lowest bound; the first rows of
    all if row_number has no partitions. Once: the limit is not looked for.
    """
    match node:
        case Filter(condition=condition, child=Window(order_by=order) as window) if order:
            found = _lowest_bound(condition, window)
            if found is None or found[0] > _MOST or isinstance(window.child, WindowGroupLimit):
                return node
            if found[0] <= 0:
                return empty_like(node)
            return replace(node, child=_with_group_limit(window, *found))
    return node


def _lowest_bound(condition: Expression, window: Window) -> tuple[int, Call] | None:
    """The lowest rank that a filter lets pass at most, and its function."""
    found: list[tuple[int, Call]] = []
    for item in window.windows:
        rank = _rank_of(item)
        if rank is None or not isinstance(item, Alias):
            continue
        bounds = [b for c in split_conjuncts(condition) if (b := _bound(c, item)) is not None]
        if bounds:
            found.append((min(bounds), rank))
    return min(found, key=lambda pair: pair[0], default=None)


def _with_group_limit(window: Window, limit: int, rank: Call) -> Window:
    if not window.partition_by and rank.name == "row_number":
        return _with_first_rows(window, lit(limit))
    below = WindowGroupLimit(
        rank=rank,
        limit=limit,
        partition_by=window.partition_by,
        order_by=window.order_by,
        child=window.child,
    )
    return replace(window, child=below)


def _bound(condition: Expression, column: Alias) -> int | None:
    """The greatest value of the column that a condition lets pass, if it says so."""
    match condition:
        case Call(
            name=name, arguments=(AttributeReference(expr_id=i), Literal(value=int(value)))
        ) if i == column.expr_id:
            pass
        case Call(
            spec=spec, arguments=(Literal(value=int(value)), AttributeReference(expr_id=i))
        ) if i == column.expr_id and spec.mirror is not None:
            name = spec.mirror
        case _:
            return None
    match name:
        case "=" | "<=":
            return value
        case "<":
            return value - 1
        case _:
            return None
