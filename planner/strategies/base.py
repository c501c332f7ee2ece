"""What strategies are and how they call each other."""

from __future__ import annotations

from collections.abc import Callable

from ...physical.plan import SparkPlan
from ...physical.stateful import OutputMode
from ..model.errors import PlanningError
from ..model.expressions.core import Expression, Origin
from ..model.frozen import dataclass
from ..model.plans.query_plan import LogicalPlan
from ..model.settings.conf import Conf
from ..model.tree import replace

Strategy = Callable[[LogicalPlan, "PlanLater"], SparkPlan | None]


@dataclass(frozen=True)
class PlanLater:
    """Plans a logical operator by the first strategy that knows it.

    Strategies get this to plan their operator's children with, and what the plan is made for.
    """

    strategies: tuple[Strategy, ...]
    output_mode: OutputMode
    conf: Conf

    def __call__(self, logical: LogicalPlan) -> SparkPlan:
        """The physical operator for a logical one and all below it.

        Raises:
            PlanningError: no strategy knows the operator.
        """
        for strategy in self.strategies:
            planned = strategy(logical, self)
            if planned is not None:
                origin = where_from(logical)
                return planned if origin is None else _placed(planned, origin)
        name = type(logical).__name__
        raise PlanningError.of("STATEPLAN_NO_STRATEGY", name=name)


def require_keys(keys: tuple[Expression, ...]) -> None:
    """Rows with state are put in place by their keys: there must be one.

    Raises:
        PlanningError: there is none.
    """
    if not keys:
        raise PlanningError(
            None,
            "requirement failed: The expressions for hash of a StatefulOpClusteredDistribution"
            " should not be Nil. An AllTuples should be used to represent a distribution that only"
            " has a single partition.",
            hint="Name at least one column.",
        )


def _placed(plan: SparkPlan, origin: Origin) -> SparkPlan:
    """The operators that a strategy made of a logical one, with its place."""
    if plan.place is not None or not plan.children:
        return plan
    below = plan.map_children(lambda child: _placed(child, origin))
    return replace(below, place=origin)


def where_from(logical: LogicalPlan) -> Origin | None:
    """Where an operator stands in the query's text: its own place or its first expression's."""
    if logical.origin is not None:
        return logical.origin
    nodes = (node for expression in logical.expressions for node in expression.walk())
    return next((node.origin for node in nodes if node.origin is not None), None)
