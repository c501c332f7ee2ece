"""What places a kernel's rows, computed in this process over the rows as they arrive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...planner.model.expressions import AttributeReference
from ..plan.nodes import Kernel
from .evaluating import evaluator

Placing = Callable[[Any], list[Any]]


def placing(node: Kernel) -> Placing:
    """A function from a record batch of a kernel's rows to the columns that are hashed."""
    (rows,) = node.inputs
    columns = rows.output
    positions = {column.expr_id: i for i, column in enumerate(columns)}
    own = [positions[e.expr_id] for e in node.hashed if isinstance(e, AttributeReference)]
    if len(own) == len(node.hashed):
        return lambda batch: [batch.column(i) for i in own]
    return evaluator(node.hashed, columns).evaluate
