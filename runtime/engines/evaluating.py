"""Programs of our own Arrow code, from what the runtime plan lets it compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ...planner.model.errors import InternalError
from ...planner.model.expressions.core import AttributeReference, Expression
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
    """What our own reader of files is given of conditions over its columns."""
    places = {column.expr_id: place for place, column in enumerate(columns)}
    found = []
    for condition in conditions:
        program = compile_program((condition,), columns)
        computed = None if program is None else Evaluator(program)
        used = frozenset(places[id_] for id_ in condition.references)
        found.append(PushedFilter(used, computed))
    return tuple(found)


def row_by_row(results: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Columns of all that is made of a row, then of the next: `first` and lists see the order."""
    if len(results) == 1:
        return results[0]
    rows = len(results[0][0])
    order = pa.array(np.arange(len(results) * rows).reshape(len(results), rows).T.ravel())
    return [pa.concat_arrays(parts).take(order) for parts in zip(*results, strict=True)]
