"""How a refused query is told."""

from __future__ import annotations

from ...planner.model.errors import StreamingCheckError
from ...planner.model.plans.logical import Aggregate, Distinct
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.settings.conf import Conf
from ...planner.model.text.logical_text import tree_text


def refuse(message: str, plan: LogicalPlan, conf: Conf, *, hint: str = "") -> StreamingCheckError:
    """Most refusals share one condition; the message and the operator's tree tell them apart."""
    limit = conf.integer("spark.sql.debug.maxToStringFields")
    tree = tree_text(plan, limit)
    return StreamingCheckError.of("_LEGACY_ERROR_TEMP_3102", hint=hint, tree=tree, msg=message)


def refuse_mode(mode: str, operation: str, *, hint: str) -> StreamingCheckError:
    """An output mode that does not go with the query."""
    condition = "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"
    return StreamingCheckError.of(condition, hint=hint, outputMode=mode, operation=operation)


def streaming_aggregates(plan: LogicalPlan) -> list[LogicalPlan]:
    """The aggregations over streams, outermost first; DISTINCT is one."""
    return [p for p in plan.walk() if isinstance(p, Aggregate | Distinct) and p.is_streaming]
