"""Casts of bytes to strings by our own Arrow code, below what the engine computes of them.

    Select [upper(cast(value as string))]     Select [upper(text)]
                                              +- Select in Arrow [cast(value as string) AS text]

The columns of messages are bytes, so their queries begin with such casts. The embedded engine has
no strings that are no UTF-8: such a value is an error, by our code or by its own. Idempotent.
"""

from __future__ import annotations

from dataclasses import replace

from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Cast,
    Expression,
    to_attribute,
)
from ....planner.model.schemas.types import BinaryType, StringType
from ..facts import BatchFacts
from ..nodes import RuntimeNode, Select, used_by
from .compute_exactly import computable


def decode_first(plan: RuntimeNode, facts: BatchFacts) -> RuntimeNode:
    """The plan whose selects have strings in the place of such casts."""
    if facts.engine.exactness is None:
        return plan

    def decoded(node: RuntimeNode) -> RuntimeNode:
        if not isinstance(node, Select) or node.in_arrow:
            return node
        casts = [part for e in node.expressions for part in e.walk() if _decodes(part)]
        if not casts or computable(node):
            return node
        texts = {cast: Alias(child=cast, name="text") for cast in dict.fromkeys(casts)}

        def named(part: Expression) -> Expression:
            return to_attribute(texts[part]) if part in texts else part

        columns = tuple(column.transform_up(named) for column in node.columns)
        conditions = tuple(condition.transform_up(named) for condition in node.conditions)
        kept = used_by((*columns, *conditions), node.child.output)
        below = Select(child=node.child, columns=(*kept, *texts.values()), in_arrow=True)
        return replace(node, child=below, columns=columns, conditions=conditions)

    return plan.transform_up(decoded)


def _decodes(part: Expression) -> bool:
    return (
        isinstance(part, Cast)
        and isinstance(part.child, AttributeReference)
        and isinstance(part.child.data_type, BinaryType)
        and type(part.data_type) is StringType  # not one with a collation
    )
