"""Watermarks through chained stateful operators."""

from __future__ import annotations

from ...physical.basic import EventTimeWatermarkExec
from ...physical.exchange import ReusedExchangeExec
from ...physical.plan import SparkPlan, StateStoreWriter
from ...planner.model.errors import PlanningError
from ...planner.model.settings.conf import Conf

_SEVERAL = "spark.sql.streaming.statefulOperator.allowMultiple"


def has_single_watermark(conf: Conf) -> bool:
    """Whether all stateful operators go by the query's watermark, as before Spark 3.5.

    It then also says which rows are late, not that of the batch before; and watermarks may stand
    above each other.
    """
    return not conf.flag(_SEVERAL)


def propagate_watermarks(
    plan: SparkPlan, origin_ms: int, *, redefine: bool = False
) -> dict[int, int | None]:
    """Each writing operator's input watermark in milliseconds, by operator id.

    A watermark node starts with the query's own; an operator's input watermark is the least among
    its children that have one; a stateful operator then says what its output keeps to.
    None: no watermark reaches the operator.

    Args:
        plan: a prepared plan.
        origin_ms: the query's watermark.
        redefine: whether a watermark may stand above another one.

    Raises:
        PlanningError: a watermark stands above another one (_LEGACY_ERROR_TEMP_3076). Spark, too,
            finds out once the query's watermark has left 1970: its first batches run.
    """
    found: dict[int, int | None] = {}

    def output_watermark(node: SparkPlan) -> int | None:
        below = (node.exchange,) if isinstance(node, ReusedExchangeExec) else node.children
        inputs = [w for w in map(output_watermark, below) if w is not None]
        least = min(inputs, default=None)
        if isinstance(node, EventTimeWatermarkExec):
            if least is not None and origin_ms > 0 and not redefine:
                raise _redefined()
            return origin_ms
        if not isinstance(node, StateStoreWriter):
            return least
        if node.state_info is not None:
            found[node.state_info.operator_id] = least
        return None if least is None else node.produce_output_watermark(least)

    output_watermark(plan)
    return found


def _redefined() -> PlanningError:
    return PlanningError.of("_LEGACY_ERROR_TEMP_3076", config=_SEVERAL)
