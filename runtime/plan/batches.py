"""The runtime plans of a query's batches: most are the last one's, over other state.

Planning goes by expressions, which are the same in every batch, and by few facts of it. What a
batch has of its own, the version of its state and its times, stands in the stateful operators.
"""

from __future__ import annotations

from ...physical.exchange import expand_reused_exchanges
from ...physical.plan import SparkPlan, StatefulOperator, StateStoreWriter
from ...physical.python_state import PythonStatefulExec
from ...planner.model.frozen import dataclass
from ...planner.model.tree import replace
from .facts import BatchFacts
from .make import RuntimePlan, runtime_plan
from .nodes import Kernel, PassingLimit, RuntimeNode


@dataclass(frozen=True)
class _Planned:
    """A plan, and all that it depends on."""

    executed: SparkPlan
    facts: BatchFacts
    made: RuntimePlan


class RuntimePlans:
    """Plans a query's batches, one after the other, in one thread."""

    def __init__(self) -> None:
        self._last: _Planned | None = None

    def of(self, plan: SparkPlan, facts: BatchFacts) -> RuntimePlan:
        """The runtime plan of a batch; see `runtime_plan`."""
        last, executed, decisive = self._last, _at_rest(plan), _decisive(facts)
        if last is not None and (last.executed, last.facts) == (executed, decisive):
            return _moved(last.made, plan, facts)
        made = runtime_plan(plan, facts)
        self._last = _Planned(executed, decisive, made)
        return made


def _at_rest(plan: SparkPlan) -> SparkPlan:
    """The plan without what each batch has of its own."""
    if not plan.holds(StatefulOperator):
        return plan
    plan = plan.map_children(_at_rest)
    if isinstance(plan, PythonStatefulExec):
        plan = replace(plan, batch_timestamp_ms=0)
    if isinstance(plan, StatefulOperator) and plan.state_info is not None:
        plan = replace(
            plan,
            state_info=replace(plan.state_info, version=0),
            event_time_watermark_for_late_events=None,
            event_time_watermark_for_eviction=None,
        )
    return plan


def _decisive(facts: BatchFacts) -> BatchFacts:
    """The facts as far as a plan depends on them: only a limit asks how many rows there are."""
    rows = facts.source_rows if facts.passed else dict.fromkeys(facts.source_rows, 0)
    return replace(facts, batch_id=min(facts.batch_id, 1), source_rows=rows)


def _moved(made: RuntimePlan, plan: SparkPlan, facts: BatchFacts) -> RuntimePlan:
    """The runtime plan over the operators of another batch."""
    operators = {
        writer.state_info.operator_id: writer
        for writer in expand_reused_exchanges(plan).collect(StateStoreWriter)
        if writer.state_info is not None
    }

    def moved(node: RuntimeNode) -> RuntimeNode:
        node = node.map_children(moved)
        if isinstance(node, Kernel | PassingLimit) and node.operator is not None:
            assert node.operator.state_info is not None
            return replace(node, operator=operators[node.operator.state_info.operator_id])
        return node

    return replace(made, root=moved(made.root), facts=facts)
