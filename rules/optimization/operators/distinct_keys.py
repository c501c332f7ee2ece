"""Which columns of a plan no two rows share."""

from __future__ import annotations

from collections.abc import Iterable

from ....planner.model.expressions.core import Alias, AttributeReference, Expression
from ....planner.model.expressions.predicates import split_conjuncts
from ....planner.model.functions.build import is_call
from ....planner.model.plans.join_types import SEMI_JOINS
from ....planner.model.plans.logical import (
    Aggregate,
    Distinct,
    Filter,
    GlobalLimit,
    Join,
    LocalLimit,
    Offset,
    Project,
    Sort,
)
from ....planner.model.plans.partitions import (
    RebalancePartitions,
    Repartition,
    RepartitionByExpression,
)
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.windows import Window
from ...common.trees import equated
from ..support import settings
from .limits import max_rows

Keys = frozenset[int]


def distinct_keys(plan: LogicalPlan) -> list[Keys]:
    """Sets of column ids that no two rows have in common (Spark's DistinctKeyVisitor)."""
    if not settings.current().distinct_keys:
        return []
    match plan:
        case Distinct():
            return [plan.output_ids]
        case Aggregate(grouping=grouping, aggregates=items):
            keys = frozenset(e.expr_id for e in grouping if isinstance(e, AttributeReference))
            below = distinct_keys(plan.child)
            return _renamed(_added(below, keys) if len(keys) == len(grouping) else below, items)
        case Project(project_list=items, child=child):
            return _renamed(distinct_keys(child), items)
        case GlobalLimit() | Offset():
            most = max_rows(plan)
            if most is not None and most <= 1:
                return [frozenset((a.expr_id,)) for a in plan.output]
            return distinct_keys(plan.child)
        case (Filter() | Sort() | LocalLimit() | Window()) | (
            Repartition() | RepartitionByExpression() | RebalancePartitions()
        ):
            return distinct_keys(plan.child)
        case Join():
            return _of_join(plan)
        case _:
            return []


def key_columns(join: Join) -> tuple[Keys, Keys]:
    """The left and right columns that `=` compares; `<=>` compares what is no column."""
    left: set[int] = set()
    right: set[int] = set()
    for part in split_conjuncts(join.condition):
        pair = equated(part, join) if is_call(part, "=") else None
        for side, keys in zip(pair or (), (left, right), strict=False):
            keys.update([side.expr_id] if isinstance(side, AttributeReference) else ())
    return frozenset(left), frozenset(right)


def _of_join(join: Join) -> list[Keys]:
    if join.join_type in SEMI_JOINS:
        return distinct_keys(join.left)
    left, right = distinct_keys(join.left), distinct_keys(join.right)
    if not left or not right:
        return []
    left_columns, right_columns = key_columns(join)
    left_once = bool(left_columns) and any(key <= left_columns for key in left)
    right_once = bool(right_columns) and any(key <= right_columns for key in right)
    match join.join_type:
        case "Inner" if left_once or right_once:
            return [*(left if right_once else ()), *(right if left_once else ())]
        case "LeftOuter" if right_once:
            return left
        case "RightOuter" if left_once:
            return right
        case _:
            return []


def _added(known: list[Keys], keys: Keys) -> list[Keys]:
    """The smallest sets only."""
    if any(key <= keys for key in known):
        return known
    return [*(key for key in known if not keys <= key), keys]


def _renamed(keys: Iterable[Keys], items: Iterable[Expression]) -> list[Keys]:
    """The keys under the names that a select list gives them; those that it lacks go.

    A column with several names goes by the last one.
    """
    plain = frozenset(e.expr_id for e in items if isinstance(e, AttributeReference))
    names = {
        item.child.expr_id: item.expr_id
        for item in items
        if isinstance(item, Alias) and isinstance(item.child, AttributeReference)
    }
    known: list[Keys] = []
    for key in keys:
        if key <= plain:
            known = _added(known, key)
        if all(i in names or i in plain for i in key):
            known = _added(known, frozenset(names.get(i, i) for i in key))
    return known
