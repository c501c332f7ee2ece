"""Filters of a rank: most rows of a partition need not be ranked."""

from __future__ import annotations

from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Call,
    Expression,
    Literal,
    lit,
)
from ....planner.model.expressions.predicates import split_conjuncts
from ....planner.model.expressions.windows import WindowExpression
from ....planner.model.plans.logical import (
    Filter,
    GlobalLimit,
    LocalLimit,
    Sort,
    Window,
    WindowGroupLimit,
)
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import top_down

_MOST = 1000  # spark.sql.optimizer.windowGroupLimitThreshold


@top_down(Filter, holding=(Window,))
def infer_window_limits(node: Filter, conf: Conf) -> LogicalPlan:
    """`Filter rn <= 3, Window row_number() AS rn` -> `.., Window, WindowGroupLimit 3`.

    Of the rank functions that the filter bounds, the one with the lowest bound; the first rows of
    all if row_number has no partitions. Once: the limit is not looked for.
    """
    match node:
        case Filter(condition=condition, child=Window(order_by=order) as window) if order:
            if isinstance(window.child, WindowGroupLimit):
                return node
            limited = _limited(condition, window, conf)
            return node if limited is None else replace(node, child=limited)
    return node


def _limited(condition: Expression, window: Window, conf: Conf) -> Window | None:
    found: list[tuple[int, Call]] = []
    for item in window.windows:
        if not isinstance(item, Alias) or not isinstance(item.child, WindowExpression):
            continue
        function = item.child.function
        if not isinstance(function, Call) or not function.spec.limits_groups:
            continue
        bounds = [b for c in split_conjuncts(condition) if (b := _bound(c, item)) is not None]
        if bounds:
            found.append((min(bounds), function))
    if not found:
        return None
    limit, rank = min(found, key=lambda pair: pair[0])
    if not 0 < limit <= _MOST:
        return None
    if not window.partition_by and rank.name == "row_number":
        ordered = Sort(child=window.child, order=window.order_by)
        first = GlobalLimit(child=LocalLimit(child=ordered, limit=lit(limit)), limit=lit(limit))
        return replace(window, child=first)
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
