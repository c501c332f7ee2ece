"""Which columns of a plan no two rows share."""

from __future__ import annotations

from collections.abc import Iterable

from ...planner.model.expressions import Alias, AttributeReference, Expression
from ...planner.model.logical import (
    Aggregate,
    Distinct,
    Filter,
    GlobalLimit,
    Join,
    LocalLimit,
    Project,
    Sort,
)
from ...planner.model.query_plan import LogicalPlan

Keys = frozenset[int]


def distinct_keys(plan: LogicalPlan) -> list[Keys]:
    """Sets of column ids, each of which tells all rows apart."""
    match plan:
        case Distinct():
            return [plan.output_ids]
        case Aggregate(grouping=grouping, aggregates=items):
            keys = frozenset(e.expr_id for e in grouping if isinstance(e, AttributeReference))
            if len(keys) < len(grouping):
                return []
            return _renamed([keys], items)
        case Project(project_list=items, child=child):
            return _renamed(distinct_keys(child), items)
        case Filter() | Sort() | GlobalLimit() | LocalLimit():
            return distinct_keys(plan.child)
        case Join(join_type="LeftSemi" | "LeftAnti", left=left):
            return distinct_keys(left)
        case _:
            return []


def _renamed(keys: Iterable[Keys], items: Iterable[Expression]) -> list[Keys]:
    """The keys under the names that a select list gives them; those that it lacks go."""
    names: dict[int, int] = {}
    for item in items:
        if isinstance(item, AttributeReference):
            names[item.expr_id] = item.expr_id
        elif isinstance(item, Alias) and isinstance(item.child, AttributeReference):
            names.setdefault(item.child.expr_id, item.expr_id)
    return [frozenset(names[i] for i in key) for key in keys if key <= names.keys()]
