"""Exchanges of the same rows: shuffled once, read twice."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from typing import Any

from ...physical.exchange import ReusedExchangeExec, ShuffleExchangeExec
from ...physical.plan import SparkPlan
from ...planner.model.expressions import (
    AggregateExpression,
    Alias,
    AttributeReference,
    LambdaVariable,
    Literal,
)
from .execution import Execution

_IDS = ("expr_id", "result_id")
_WITHOUT_MEANING = ("codegen_stage", "plan_id")


def reuse_exchanges(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """Replace an exchange by the first one to the left or below that moves the same rows.

    The same: equal but for the ids and names of columns. `Union(Exchange(a), Exchange(a))` becomes
    `Union(Exchange(a), ReusedExchange)`. Operators with state or a watermark are never the same,
    so only scans and stateless operators are shared. Idempotent.
    """
    # On a single chain one exchange lies within the other: they cannot be the same.
    if all(len(node.children) < 2 for node in plan.walk()):
        return plan
    seen: dict[Hashable, ShuffleExchangeExec] = {}

    def reused(node: SparkPlan) -> SparkPlan:
        if not isinstance(node, ShuffleExchangeExec):
            return node
        first = seen.setdefault(_signature(node, {}), node)
        if first is node:
            return node
        return ReusedExchangeExec(exchange=first, attributes=node.output)

    return plan.transform_up(reused)


def _signature(value: Any, ids: dict[int, int]) -> Hashable:
    """A plan or a part of it as nested tuples, ids numbered in the order of their appearance."""
    match value:
        case tuple():
            return tuple(_signature(item, ids) for item in value)
        case AttributeReference(expr_id=expr_id, data_type=data_type):
            return "column", ids.setdefault(expr_id, len(ids)), data_type
        case Alias(expr_id=expr_id, child=child):
            return "alias", ids.setdefault(expr_id, len(ids)), _signature(child, ids)
        case Literal():
            return value
    if not is_dataclass(value):
        return type(value), value  # True is no 1
    with_id = isinstance(value, AggregateExpression | LambdaVariable)
    parts: list[Hashable] = [type(value).__name__]
    for field in fields(value):
        if not field.compare or field.name in _WITHOUT_MEANING:
            continue
        part = getattr(value, field.name)
        if with_id and field.name in _IDS:
            part = ids.setdefault(part, len(ids))
        parts.append(_signature(part, ids))
    return tuple(parts)
