"""The state rule: operator ids with their state info, store counts, watermarks."""

from __future__ import annotations

from collections.abc import Sequence

from ...physical.aggregate import AggregationStep
from ...physical.basic import EventTimeWatermarkExec, LocalLimitExec
from ...physical.exchange import ReusedExchangeExec, ShuffleExchangeExec
from ...physical.plan import SparkPlan, StatefulOperator, StateStoreWriter
from ...physical.state import NO_WATERMARK, StatefulOperatorStateInfo
from ...physical.stateful import (
    SessionWindowStateStoreRestoreExec,
    StateStoreRestoreExec,
    StreamingLocalLimitExec,
)
from ...physical.streaming_join import StreamingSymmetricHashJoinExec
from ...planner.model.errors import PlanningError
from ...planner.model.expressions.core import AttributeReference
from ...planner.model.settings.conf import SEVERAL_STATEFUL, Conf
from ...planner.model.text.text import plan_text
from ...planner.model.tree import replace
from .execution import Execution


def has_single_watermark(conf: Conf) -> bool:
    """Whether all stateful operators go by the query's watermark, as before Spark 3.5.

    It then also says which rows are late, not that of the batch before; and watermarks may stand
    above each other.
    """
    return not conf.flag(SEVERAL_STATEFUL)


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
                raise PlanningError.of("_LEGACY_ERROR_TEMP_3076", config=SEVERAL_STATEFUL)
            return origin_ms
        if not isinstance(node, StateStoreWriter):
            return least
        if node.state_info is not None:
            found[node.state_info.operator_id] = least
        return None if least is None else node.produce_output_watermark(least)

    output_watermark(plan)
    return found


_STRICT = "spark.sql.streaming.statefulOperator.useStrictDistribution"


def fill_in_state(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """Give every stateful operator its place in the checkpoint and its watermarks.

    Ids count top-down, the operator nearest the sink first; a restore shares the id of the save
    above it. Before a start every watermark is Long.MinValue; then each operator's own is derived
    from the query's. StreamingLocalLimit becomes LocalLimit where it need not read its input to
    the end. Establishes `state_info` on stateful operators and the store count on aggregates;
    idempotent but for the ids that the execution hands out.
    """
    strict = execution.conf.flag(_STRICT)
    stores = execution.conf.shuffle_partitions
    plan = _filled(plan, execution, None, strict, stores)
    late, eviction = execution.watermark_late, execution.watermark_eviction
    return with_watermarks(plan, late, eviction, single=has_single_watermark(execution.conf))


def _filled(
    plan: SparkPlan,
    execution: Execution,
    above: StatefulOperatorStateInfo | None,
    strict: bool,
    stores: int,
) -> SparkPlan:
    match plan:
        case StateStoreWriter():
            above = execution.next_stateful_operation_state_info()
            plan = replace(
                plan,
                state_info=above,
                strict_distribution=strict,
                output_mode=execution.output_mode,
            )
        case StateStoreRestoreExec() | SessionWindowStateStoreRestoreExec():
            plan = replace(plan, state_info=above, strict_distribution=strict)
        case AggregationStep(is_streaming=True):
            plan = replace(plan, num_shuffle_partitions=stores, strict_distribution=strict)
        case StreamingLocalLimitExec(limit=limit, child=child) if not _state_in_reach(child):
            plan = LocalLimitExec(limit=limit, child=child)
    if isinstance(plan, StreamingSymmetricHashJoinExec):
        for side in plan.children:
            refuse_several_event_times(side)
    info = above
    return plan.map_children(lambda child: _filled(child, execution, info, strict, stores))


def refuse_several_event_times(side: SparkPlan) -> None:
    """State goes by one event time: that of a join's side, or of an operator's input.

    Raises:
        PlanningError: there are several (MULTIPLE_EVENT_TIME_COLUMNS).
    """
    times = [column for column in side.output if column.delay_ms is not None]
    if len({time.expr_id for time in times}) > 1:
        raise PlanningError.of(
            "MULTIPLE_EVENT_TIME_COLUMNS", eventTimeCols=f"({','.join(map(plan_text, times))})"
        )


def refuse_no_event_time(keys: Sequence[AttributeReference], what: str) -> None:
    """What is appended is a group that the watermark has passed.

    Raises:
        PlanningError: no key is an event time (UNSUPPORTED_STREAMING_OPERATOR_WITHOUT_WATERMARK).
    """
    if all(key.delay_ms is None for key in keys):
        condition = "UNSUPPORTED_STREAMING_OPERATOR_WITHOUT_WATERMARK"
        raise PlanningError.of(condition, outputMode="Append", statefulOperator=what)


def _state_in_reach(plan: SparkPlan) -> bool:
    """Whether a stateful operator lies below, before a shuffle: it must see all its input."""
    if isinstance(plan, StatefulOperator):
        return True
    if isinstance(plan, ShuffleExchangeExec):
        return False
    return any(_state_in_reach(child) for child in plan.children)


def with_watermarks(
    plan: SparkPlan, late: int | None, eviction: int | None, *, single: bool
) -> SparkPlan:
    """The plan with each stateful operator's watermarks, in milliseconds.

    `late` is the query's watermark of the batch before, `eviction` this batch's. None: the query
    has not started, and every operator gets Long.MinValue. `single`: see `has_single_watermark`.

    Raises:
        PlanningError: a watermark stands above another one, and `single` does not allow it.
    """
    if single:
        late = eviction
    lates, evictions = (
        {} if origin is None or single else propagate_watermarks(plan, origin)
        for origin in (late, eviction)
    )

    def filled(node: SparkPlan) -> SparkPlan:
        if isinstance(node, StatefulOperator) and node.state_info is not None:
            own = node.state_info.operator_id
            node = replace(
                node,
                event_time_watermark_for_late_events=_own(lates, own, late),
                event_time_watermark_for_eviction=_own(evictions, own, eviction),
            )
        return node.map_children(filled)

    return filled(plan)


def _own(found: dict[int, int | None], operator: int, query: int | None) -> int:
    if query is None:
        return NO_WATERMARK
    own = found.get(operator)
    return query if own is None else own


def for_version(
    plan: SparkPlan, version: int, late: int, eviction: int, *, single: bool = False
) -> SparkPlan:
    """A prepared plan for another batch: that state version, those watermarks of the query.

    Raises:
        PlanningError: as `with_watermarks`.
    """

    def moved(node: SparkPlan) -> SparkPlan:
        if isinstance(node, StatefulOperator) and node.state_info is not None:
            node = replace(node, state_info=replace(node.state_info, version=version))
        return node.map_children(moved)

    return with_watermarks(moved(plan), late, eviction, single=single)
