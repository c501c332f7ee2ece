"""Plans and expressions as hashable values: the same but for ids and names."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from ..planner.model.expressions import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Expression,
    LambdaVariable,
    Literal,
)

_IDS = ("expr_id", "result_id")
_WITHOUT_MEANING = ("codegen_stage", "plan_id")


def _operands(expression: Expression, name: str) -> Iterator[Expression]:
    if isinstance(expression, Call) and expression.name == name:
        for part in expression.arguments:
            yield from _operands(part, name)
    else:
        yield expression


def signature(value: Any, ids: dict[int, int]) -> Hashable:
    """A plan or a part of it as nested tuples, ids numbered in the order of their appearance."""
    match value:
        case tuple():
            return tuple(signature(item, ids) for item in value)
        case AttributeReference(expr_id=expr_id, data_type=data_type):
            return "column", ids.setdefault(expr_id, len(ids)), data_type
        case Alias(expr_id=expr_id, child=child):
            return "alias", ids.setdefault(expr_id, len(ids)), signature(child, ids)
        case Literal():
            return value
        case Call(name="and" | "or" as name):
            # In one order, whatever the order written: by what the parts are but for their ids.
            parts = sorted(_operands(value, name), key=lambda part: repr(signature(part, {})))
            return name, *(signature(part, ids) for part in parts)
    if not is_dataclass(value):
        return type(value), value  # True is no 1
    with_id = isinstance(value, AggregateExpression | LambdaVariable)
    found: list[Hashable] = [type(value).__name__]
    for field in fields(value):
        if not field.compare or field.name in _WITHOUT_MEANING:
            continue
        part = getattr(value, field.name)
        if with_id and field.name in _IDS:
            part = ids.setdefault(part, len(ids))
        found.append(signature(part, ids))
    return tuple(found)
