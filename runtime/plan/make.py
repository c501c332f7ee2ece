"""The runtime plan of a micro-batch: a pure function of its executed plan and its facts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from ...physical.exchange import expand_reused_exchanges
from ...physical.plan import SparkPlan
from ...physical.subqueries import PlannedSubquery
from ...planner.model.errors import InternalError
from ...planner.model.frozen import dataclass
from ...planner.model.ids import id_scope
from . import aggregation as aggregation  # their operators register themselves
from . import joins as joins
from . import metrics as metrics
from . import python_groups as python_groups
from . import stateful as stateful
from . import user_state as user_state
from .facts import BatchFacts
from .nodes import RuntimeNode
from .passes import PASSES
from .printing import plan_text
from .translate import translate

_FIRST_ID = 1 << 20
"""Columns of a runtime plan have ids of their own: planning a query draws fewer than this."""


@dataclass(frozen=True, kw_only=True)
class RuntimePlan:
    """What runs in a micro-batch.

    Attributes:
        root: gives the query's rows.
        names: the names of its columns, which may repeat.
        subqueries: what gives the one row of each subquery, by the view that expressions name;
            those within others first.
        facts: what it was made of.
    """

    root: RuntimeNode
    names: tuple[str, ...]
    subqueries: Mapping[str, RuntimeNode]
    facts: BatchFacts

    @property
    def nodes(self) -> Iterator[RuntimeNode]:
        """All nodes, those of subqueries first."""
        for root in (*self.subqueries.values(), self.root):
            yield from root.walk()


def runtime_plan(plan: SparkPlan, facts: BatchFacts) -> RuntimePlan:
    """The runtime plan of an executed plan.

    Args:
        plan: the executed plan of the batch: state info and watermarks are in it.
        facts: what is known of the batch.

    Raises:
        RuntimeFailure: an operator or function cannot be run.
        PlanningError: several event times come to a stateful operator.
    """
    with id_scope(itertools.count(_FIRST_ID)):
        subqueries = {view: _made(below, facts) for view, below in _subqueries(plan)}
        return RuntimePlan(
            root=_made(plan, facts),
            names=tuple(column.name for column in plan.output),
            subqueries=subqueries,
            facts=facts,
        )


def _made(plan: SparkPlan, facts: BatchFacts) -> RuntimeNode:
    whole = expand_reused_exchanges(plan)
    found = translate(whole, facts)
    for one in PASSES:
        before, found = found, one(found, facts)
        _check(one.__name__, before, found)
    return found


def _check(name: str, before: RuntimeNode, after: RuntimeNode) -> None:
    """A pass changes no column of the output."""
    if after is not before and _columns(before) != _columns(after):
        trees = f"{plan_text(before)}\n{plan_text(after)}"
        raise InternalError(f"{name} changes the output of the runtime plan\n{trees}")


def _columns(node: RuntimeNode) -> list[tuple[int, object]]:
    return [(column.expr_id, column.data_type) for column in node.output]


def _subqueries(plan: SparkPlan) -> Iterator[tuple[str, SparkPlan]]:
    """The plans of all subqueries in a plan by their views, those within others first."""
    seen: set[str] = set()
    for node in plan.walk():
        for expression in node.expressions:
            for subquery in expression.collect(PlannedSubquery):
                if subquery.view not in seen:
                    seen.add(subquery.view)
                    below = subquery.computed.child
                    yield from _subqueries(below)
                    yield subquery.view, below
