"""Watermarks through chained stateful operators."""

from __future__ import annotations

from ...physical.basic import EventTimeWatermarkExec
from ...physical.exchange import ReusedExchangeExec
from ...physical.plan import SparkPlan, StateStoreWriter


def propagate_watermarks(plan: SparkPlan, origin_ms: int) -> dict[int, int | None]:
    """Each writing operator's input watermark in milliseconds, by operator id.

    A watermark node starts with the query's own; an operator's input watermark is the least among
    its children that have one; a stateful operator then says what its output keeps to.
    None: no watermark reaches the operator.
    """
    found: dict[int, int | None] = {}

    def output_watermark(node: SparkPlan) -> int | None:
        below = (node.exchange,) if isinstance(node, ReusedExchangeExec) else node.children
        inputs = [w for w in map(output_watermark, below) if w is not None]
        least = min(inputs, default=None)
        if isinstance(node, EventTimeWatermarkExec):
            return origin_ms
        if not isinstance(node, StateStoreWriter):
            return least
        if node.state_info is not None:
            found[node.state_info.operator_id] = least
        return None if least is None else node.produce_output_watermark(least)

    output_watermark(plan)
    return found
