"""Computes what a kernel takes before the exchange where fewer columns go through it then.

    Select [key, a * b AS x]          Exchange
    +- Exchange                       +- Select [key, a * b AS x]
       +- Select [key, a, b]             +- ...

Idempotent.
"""

from __future__ import annotations

from ....planner.model.tree import replace
from ..facts import BatchFacts
from ..nodes import Exchange, Kernel, RuntimeNode, Select, with_inputs
from .merge_selects import merged


def place_exchanges(plan: RuntimeNode, facts: BatchFacts) -> RuntimeNode:
    """The plan whose exchanges move no more columns than they have to."""
    return plan.transform_up(_placed)


def _placed(node: RuntimeNode) -> RuntimeNode:
    if not isinstance(node, Kernel):
        return node
    return with_inputs(node, _below_kernel)


def _below_kernel(node: RuntimeNode) -> RuntimeNode:
    match node:
        case Select(child=Exchange(child=Select() as sent) as exchange) if not node.conditions:
            together = merged(node, sent)
            if together is not None and len(together.columns) <= len(sent.columns):
                return replace(exchange, child=together)
    return node
