"""Checks of a whole query: its output mode, chains of stateful operators, how state is encoded."""

from __future__ import annotations

from ...planner.model.errors import StreamingCheckError
from ...planner.model.expressions.core import AttributeReference
from ...planner.model.plans.logical import Aggregate, Deduplicate, Distinct, Join
from ...planner.model.plans.python_operators import (
    FlatMapGroupsInPandasWithState,
)
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.settings.conf import Conf
from ...planner.model.settings.pinned import STATE_ENCODING
from ...planner.model.text.logical_text import tree_text
from ..common.trees import keeps_state

Refusal = tuple[str, str] | None
"""Why something is refused, and the hint what to do instead."""


def refuse(message: str, plan: LogicalPlan, conf: Conf, *, hint: str = "") -> StreamingCheckError:
    """Most refusals share one condition; they differ in message and tree."""
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
    inputs = (child for node in plan.walk() if _drops_late_rows(node) for child in node.children)
    if any(child.exists(lambda node: _emits_late_rows(node, mode)) for child in inputs):
        hint = "Use append mode with watermarks, or one aggregation only."
        raise refuse(MESSAGE, plan, conf, hint=hint)


def _emits_late_rows(plan: LogicalPlan, mode: str) -> bool:
    match plan:
        case FlatMapGroupsInPandasWithState(timeout=timeout):
            return plan.is_streaming and timeout == "EventTimeTimeout"
        case Aggregate() | Distinct():
            return plan.is_streaming and mode != "append"
        case _:
            return False


def _drops_late_rows(plan: LogicalPlan) -> bool:
    if isinstance(plan, Deduplicate) and not plan.within_watermark:
        # Without an event time among its keys it takes late rows too.
        timed = any(isinstance(k, AttributeReference) and k.delay_ms is not None for k in plan.keys)
        return plan.is_streaming and timed
    return keeps_state(plan)


def check_encoding(plan: LogicalPlan, conf: Conf) -> None:
    """Refuse Avro for the state of any other operator, the one nearest the sink first.

    Raises:
        StreamingCheckError: the setting asks for Avro, and there is such an operator.
    """
    if conf[STATE_ENCODING].lower() != "avro":
        return
    for operator in plan.walk():
        name = _kept_otherwise(operator)
        if name is not None:
            raise refuse(
                "State store encoding format as avro is not supported for"
                f" operator={name} used within the query",
                plan,
                conf,
                hint=f"Set {STATE_ENCODING} to unsaferow.",
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


def check_output_mode(plan: LogicalPlan, mode: str) -> None:
    """Append needs a watermark on a key, update refuses sessions, complete needs an aggregation.

    Only the outermost aggregation is judged, as in Spark.

    Raises:
        StreamingCheckError: the mode is refused.
    """
    aggregates = streaming_aggregates(plan)
    if not aggregates:
        if mode == "complete":
            raise refuse_mode(
                mode,
                "no streaming aggregations",
                hint="Complete mode needs an aggregation; use append or update.",
            )
        return
    top = aggregates[0]
    keys = top.grouping if isinstance(top, Aggregate) else top.output
    columns = [key for key in keys if isinstance(key, AttributeReference)]
    if mode == "append" and all(column.delay_ms is None for column in columns):
        raise refuse_mode(
            mode,
            "streaming aggregations without watermark",
            hint="Group by a column with a watermark (or a window over one), or use update or "
            "complete mode.",
        )
    if mode == "update" and any(column.metadata.window == "session" for column in columns):
        raise refuse_mode(
            mode,
            "session window streaming aggregations",
            hint="Use append or complete mode.",
        )
