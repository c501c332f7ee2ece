"""Programs of our own Arrow code, from what the runtime plan lets it compute."""

from __future__ import annotations

from collections.abc import Sequence

from ...physical.source_filters import source_filters
from ...planner.model.errors import InternalError
from ...planner.model.expressions import AttributeReference, Expression
from ..kernels.expressions.compile import compile_program
from ..kernels.expressions.evaluator import Evaluator
from ..kernels.json_filters import PushedFilter


def evaluator(
    expressions: Sequence[Expression],
    columns: Sequence[AttributeReference],
    conditions: Sequence[Expression] = (),
) -> Evaluator:
    """What computes expressions over columns, of the rows that fulfil all conditions."""
    program = compile_program(expressions, columns, conditions, untouched=True)
    if program is None:
        raise InternalError("the runtime plan lets our Arrow code compute what it cannot")
    return Evaluator(program)


def pushed_filters(
    conditions: Sequence[Expression], columns: Sequence[AttributeReference]
) -> tuple[PushedFilter, ...]:
    """Of some conditions over columns those that Spark hands to a reader of JSON files."""
    places = {column.expr_id: place for place, column in enumerate(columns)}
    found = []
    for condition in conditions:
        used = condition.references
        if used and source_filters([condition]) and used <= places.keys():
            program = compile_program((condition,), columns)
            computed = None if program is None else Evaluator(program)
            found.append(PushedFilter(frozenset(places[id_] for id_ in used), computed))
    return tuple(found)
