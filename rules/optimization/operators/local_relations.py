"""Rows of the plan itself, computed while planning."""

from __future__ import annotations

from ....planner.model.expressions.core import (
    Expression,
    Literal,
    to_attribute,
    without_alias,
)
from ....planner.model.expressions.evaluation import evaluate
from ....planner.model.plans.logical import Filter, GlobalLimit, LocalLimit, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import LocalRelation
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import bottom_up, replace_attributes


@bottom_up(LogicalPlan, holding=(LocalRelation,))
def convert_to_local_relations(node: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Project [a + 1 AS b], LocalRelation [a]` -> `LocalRelation [b]`; so filters and limits.

    Where an expression's value is not known here the operator stays. Idempotent.
    """
    match node:
        case Project(project_list=items, child=LocalRelation() as table):
            return _projected(items, table) or node
        case Filter(condition=condition, child=LocalRelation() as table):
            return _filtered(condition, table) or node
        case (
            LocalLimit(limit=Literal(value=int(count)), child=LocalRelation() as table)
            | GlobalLimit(limit=Literal(value=int(count)), child=LocalRelation() as table)
        ):
            return replace(table, rows=table.rows[:count])
    return node


def _values(
    expressions: tuple[Expression, ...], table: LocalRelation
) -> tuple[tuple[Literal, ...], ...] | None:
    """The expressions' values for each row; None where one is not known."""
    if not all(e.deterministic for e in expressions):
        return None
    rows: list[tuple[Literal, ...]] = []
    for row in table.rows:
        columns: dict[int, Expression] = {
            a.expr_id: value for a, value in zip(table.attributes, row, strict=True)
        }
        found = [evaluate(replace_attributes(without_alias(e), columns)) for e in expressions]
        values = tuple(value for value in found if value is not None)
        if len(values) < len(found):
            return None
        rows.append(values)
    return tuple(rows)


def _projected(items: tuple[Expression, ...], table: LocalRelation) -> LogicalPlan | None:
    rows = _values(items, table)
    if rows is None:
        return None
    attributes = tuple(to_attribute(item) for item in items)
    return replace(table, attributes=attributes, rows=rows)


def _filtered(condition: Expression, table: LocalRelation) -> LogicalPlan | None:
    kept = _values((condition,), table)
    if kept is None:
        return None
    rows = tuple(row for row, (test,) in zip(table.rows, kept, strict=True) if test.value is True)
    return replace(table, rows=rows)
