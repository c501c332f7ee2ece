"""Which signatures our own Arrow code computes, whatever the engine makes of them."""

from __future__ import annotations

from collections.abc import Iterable

from stateplan.planner.model.expressions.core import (
    AggregateExpression,
    AttributeReference,
    Expression,
)
from stateplan.runtime.kernels.expressions.programs.compile import compile_program
from stateplan.runtime.plan.specs import merged_forms

from .cases import Case

Key = tuple[str, str]
"""A signature's name and arguments, as in the table."""


def computed_here(cases: Iterable[Case]) -> frozenset[Key]:
    """The signatures of which an expression is computed."""
    return frozenset(
        (case.signature.name, case.signature.arguments)
        for case in cases
        if any(map(_computed, case.forms.values()))
    )


def _computed(expression: Expression) -> bool:
    if isinstance(expression, AggregateExpression):
        return not expression.distinct and merged_forms(expression) is not None
    nodes = [node for node in expression.walk() if isinstance(node, AttributeReference)]
    columns = list({column.name: column for column in nodes}.values())
    return compile_program([expression], columns) is not None
