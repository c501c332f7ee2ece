"""What places a kernel's rows, computed in this process over the rows as they arrive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...planner.model.expressions.core import AttributeReference
from ..plan.nodes import Kernel
from .evaluating import evaluator

Placing = Callable[[Any], list[Any]]


def placing(node: Kernel) -> Placing:
    """A function from a record batch of a kernel's rows to the columns that are hashed."""
    (rows,) = node.inputs
    columns = rows.output
    positions = {column.expr_id: i for i, column in enumerate(columns)}
    # Of what is a column already nothing is computed: it may be of any type, arrays too.
    made = [e for e in node.hashed if not isinstance(e, AttributeReference)]
    compute = evaluator(made, columns).evaluate if made else lambda batch: []

    def place(batch: Any) -> list[Any]:
        computed = iter(compute(batch))
        return [
            batch.column(positions[e.expr_id])
            if isinstance(e, AttributeReference)
            else next(computed)
            for e in node.hashed
        ]

    return place
