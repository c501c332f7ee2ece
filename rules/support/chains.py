"""Stateful operators above others whose rows may be late for them."""

from __future__ import annotations

from ...planner.model.expressions.core import AttributeReference
from ...planner.model.plans.logical import Aggregate, Deduplicate, Distinct, Join
from ...planner.model.plans.python_operators import (
    FlatMapGroupsInPandasWithState,
    TransformWithStateInPySpark,
)
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.settings.conf import Conf
from .refusals import refuse

CORRECTNESS = "spark.sql.streaming.statefulOperator.checkCorrectness.enabled"
MESSAGE = (
    "Detected pattern of possible 'correctness' issue due to global watermark. The query contains"
    " stateful operation which can emit rows older than the current watermark plus allowed late"
    ' record delay, which are "late rows" in downstream stateful operations and these rows can be'
    " discarded. Please refer the programming guide doc for more details. If you understand the"
    " possible risk of correctness issue and still need to run the query, you can disable this"
    f" check by setting the config `{CORRECTNESS}` to false."
)


def check_chains(plan: LogicalPlan, mode: str, conf: Conf) -> None:
    """Nothing stateful may stand above what may emit late rows.

    An aggregation does so outside append mode, a Python function with event-time timeouts in any.

    Raises:
        StreamingCheckError: something does, and the check is not switched off.
    """
    if not conf.flag(CORRECTNESS):
        return
    if _is_stateful_above(plan, mode):
        raise refuse(
            MESSAGE, plan, conf, hint="Use append mode with watermarks, or one aggregation only."
        )


def _is_stateful_above(plan: LogicalPlan, mode: str) -> bool:
    """Whether a stateful operator has one below it that may emit late rows."""
    for operator in plan.walk():
        if is_stateful(operator) and any(
            _emits_late_rows(below, mode) for child in operator.children for below in child.walk()
        ):
            return True
    return False


def _emits_late_rows(plan: LogicalPlan, mode: str) -> bool:
    match plan:
        case FlatMapGroupsInPandasWithState(timeout=timeout):
            return plan.is_streaming and timeout == "EventTimeTimeout"
        case Aggregate() | Distinct():
            return plan.is_streaming and mode != "append"
        case _:
            return False


def is_stateful(plan: LogicalPlan) -> bool:
    """Whether a stream keeps state for the operator."""
    match plan:
        case Deduplicate(within_watermark=False, keys=keys):
            # Without an event time among its keys it takes late rows too.
            timed = any(isinstance(k, AttributeReference) and k.delay_ms is not None for k in keys)
            return plan.is_streaming and timed
        case Aggregate() | Distinct() | Deduplicate():
            return plan.is_streaming
        case FlatMapGroupsInPandasWithState() | TransformWithStateInPySpark():
            return plan.is_streaming
        case Join(left=left, right=right):
            return left.is_streaming and right.is_streaming
        case _:
            return False
