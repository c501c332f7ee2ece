"""The shapes in which a LIMIT stands in an optimized plan."""

from __future__ import annotations

from ..model.expressions.core import Expression as Expr
from ..model.expressions.core import Literal, SortOrder, to_attribute
from ..model.plans.logical import GlobalLimit, LocalLimit, Project, Sort
from ..model.plans.query_plan import LogicalPlan


def match_limit(logical: LogicalPlan) -> tuple[int, LogicalPlan] | None:
    """`LIMIT n` and what is limited: GlobalLimit over LocalLimit of the same number."""
    match logical:
        case GlobalLimit(
            limit=Literal(value=int(number)),
            child=LocalLimit(limit=Literal(value=local), child=child),
        ) if number == local:
            return number, child
        case _:
            return None


def match_top(
    logical: LogicalPlan,
) -> tuple[int, tuple[SortOrder, ...], tuple[Expr, ...], LogicalPlan] | None:
    """`ORDER BY ... LIMIT n`, perhaps a projection between: n, order, columns, input."""
    match match_limit(logical):
        case (number, Sort(order=order, is_global=True, child=child)):
            return number, order, tuple(map(to_attribute, child.output)), child
        case (number, Project(project_list=columns, child=Sort() as sort)) if sort.is_global:
            return number, sort.order, columns, sort.child
        case _:
            return None
