"""Columns that an operator uses and none of its inputs gives.

A DataFrame's column (`df.x`) is known by its id: where a later step computed a column of the same
name, or left it out, the old one is not there any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import AttributeReference
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.text.logical_text import line_text
from ..failures import failure


def missing_columns(plan: LogicalPlan) -> AnalysisError | None:
    """MISSING_ATTRIBUTES, with those of the inputs that have the same name."""
    ids = plan.missing_input
    if not ids:
        return None
    missing = _once(a for a in _mentioned(plan) if a.expr_id in ids)
    given = _once(a for child in plan.children for a in child.output)
    names = {column.name.lower() for column in given}
    alike = [column for column in missing if column.name.lower() in names]
    operator: dict[str, Any] = {
        "missingAttributes": _listed(missing),
        "input": _listed(given),
        "operator": f"!{line_text(plan)}",
    }
    if alike:
        return failure(
            "MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_APPEAR_IN_OPERATION",
            origin=plan.origin,
            operation=_listed(alike),
            **operator,
        )
    return failure(
        "MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT", origin=plan.origin, **operator
    )


def _mentioned(plan: LogicalPlan) -> Iterator[AttributeReference]:
    for expression in plan.expressions:
        yield from expression.collect(AttributeReference)


def _once(columns: Iterable[AttributeReference]) -> list[AttributeReference]:
    return list({column.expr_id: column for column in columns}.values())


def _listed(columns: Iterable[AttributeReference]) -> str:
    return ", ".join(f'"{column.name}"' for column in columns)
