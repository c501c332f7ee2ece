"""Programs of our own Arrow code, from what the runtime plan lets it compute."""

from __future__ import annotations

from collections.abc import Sequence

from ...planner.model.errors import InternalError
from ...planner.model.expressions import AttributeReference, Expression
from ..kernels.expressions.compile import compile_program
from ..kernels.expressions.evaluator import Evaluator


def evaluator(
    expressions: Sequence[Expression],
    columns: Sequence[AttributeReference],
    conditions: Sequence[Expression] = (),
) -> Evaluator:
    """What computes expressions over columns, of the rows that fulfil all conditions."""
    program = compile_program(expressions, columns, conditions)
    if program is None:
        raise InternalError("the runtime plan lets our Arrow code compute what it cannot")
    return Evaluator(program)
