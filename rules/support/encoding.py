"""Which state can be kept as Avro: that of transformWithState only."""

from __future__ import annotations

from ...planner.model.plans.logical import Aggregate, Deduplicate, Distinct, Join
from ...planner.model.plans.python_operators import FlatMapGroupsInPandasWithState
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.settings.conf import Conf
from .refusals import refuse

_ENCODING = "spark.sql.streaming.stateStore.encodingFormat"


def check_encoding(plan: LogicalPlan, conf: Conf) -> None:
    """Refuse Avro for the state of any other operator, the one nearest the sink first.

    Raises:
        StreamingCheckError: the setting asks for Avro, and there is such an operator.
    """
    if conf[_ENCODING].lower() != "avro":
        return
    for operator in plan.walk():
        name = _kept_otherwise(operator)
        if name is not None:
            raise refuse(
                "State store encoding format as avro is not supported for"
                f" operator={name} used within the query",
                plan,
                conf,
                hint=f"Set {_ENCODING} to unsaferow.",
            )


def _kept_otherwise(plan: LogicalPlan) -> str | None:
    match plan:
        case _ if not plan.is_streaming:
            return None
        case Join(left=left, right=right):
            return "join" if left.is_streaming and right.is_streaming else None
        case Aggregate():
            return "aggregation"
        case Distinct():
            return "distinct"
        case Deduplicate(within_watermark=within):
            return "dropDuplicatesWithinWatermark" if within else "dropDuplicates"
        case FlatMapGroupsInPandasWithState():
            return "applyInPandasWithState"
        case _:
            return None
