"""`current_timestamp()`, timeouts, timers: the batch's own time, the same when it runs again."""

from __future__ import annotations

import datetime as dt

from ..physical.plan import SparkPlan
from ..physical.python_state import PythonStatefulExec
from ..physical.subqueries import PlannedSubquery, with_plan
from ..planner.model.expressions.core import Call, Expression, Literal
from ..planner.model.schemas.types import DateType, TimestampNTZType, TimestampType
from ..planner.model.text.time_zones import zone
from ..planner.model.tree import replace


def with_batch_time(plan: SparkPlan, timestamp_ms: int) -> SparkPlan:
    """The plan with the batch's time, in milliseconds since 1970, as a constant."""

    def fixed(expression: Expression) -> Expression:
        if isinstance(expression, Call) and expression.spec.current_time:
            return _constant(expression, timestamp_ms)
        if isinstance(expression, PlannedSubquery):
            return with_plan(expression, with_batch_time(expression.computed.child, timestamp_ms))
        return expression

    def timed(node: SparkPlan) -> SparkPlan:
        if isinstance(node, PythonStatefulExec):
            node = replace(node, batch_timestamp_ms=timestamp_ms)
        return node.transform_expressions(fixed)

    return plan.transform_up(timed)


def _constant(call: Call, timestamp_ms: int) -> Literal:
    """Local times and dates are those of the call's time zone."""
    epoch = dt.datetime(1970, 1, 1)
    moment = dt.datetime.fromtimestamp(timestamp_ms / 1000, zone(call.time_zone or "UTC"))
    local = moment.replace(tzinfo=None) - epoch
    match call.data_type:
        case TimestampType():
            value = timestamp_ms * 1000
        case TimestampNTZType():
            value = local // dt.timedelta(milliseconds=1) * 1000
        case DateType():
            value = local.days
        case other:
            raise TypeError(f"{call.name} gives {other.simple}")
    return Literal(value=value, type_=call.data_type)
