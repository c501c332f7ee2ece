"""Programs of our own Arrow code, from what the runtime plan lets it compute."""

from __future__ import annotations

from collections.abc import Sequence

from ...planner.model.errors import InternalError
from ...planner.model.expressions.core import AttributeReference, Expression
from ..kernels.expressions.evaluator import Evaluator
from ..kernels.expressions.programs.compile import compile_program
from ..kernels.expressions.programs.given import Seen
from ..kernels.json.filters import PushedFilter


def evaluator(
    expressions: Sequence[Expression],
    columns: Sequence[AttributeReference],
    conditions: Sequence[Expression] = (),
    observed: Seen | None = None,
) -> Evaluator:
    """What computes expressions over columns, of the rows that fulfil all conditions.

    And what is observed of rows that fulfil those conditions, the first ones.
    """
    program = compile_program(expressions, columns, conditions, untouched=True, observed=observed)
    if program is None:
        raise InternalError("the runtime plan lets our Arrow code compute what it cannot")
    return Evaluator(program)


def pushed_filters(
    conditions: Sequence[Expression], columns: Sequence[AttributeReference]
) -> tuple[PushedFilter, ...]:
    """What our own reader of files is given of conditions over its columns."""
    places = {column.expr_id: place for place, column in enumerate(columns)}
    found = []
    for condition in conditions:
        program = compile_program((condition,), columns)
        computed = None if program is None else Evaluator(program)
        used = frozenset(places[id_] for id_ in condition.references)
        found.append(PushedFilter(used, computed))
    return tuple(found)
