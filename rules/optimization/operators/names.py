"""Names over plans, and where they end: table aliases, views, pipe operators."""

from __future__ import annotations

from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import PipeOperator, SubqueryAlias, View
from ....planner.model.settings.conf import Conf
from ...common.ctes import inline_ctes
from ...common.trees import bottom_up


def inline_definitions(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """What WITH names stands where it is used: `WithCTE(def 0, Project, CTERelationRef 0)` ->
    `Project, def 0`. Idempotent.
    """
    return inline_ctes(plan)


@bottom_up(SubqueryAlias, View, PipeOperator)
def eliminate_names(node: SubqueryAlias | View | PipeOperator, conf: Conf) -> LogicalPlan:
    """Table aliases, views and the ends of pipes go: columns are known by id from here on.

    `SubqueryAlias t, child` -> `child`. Requires a resolved plan. Idempotent.
    """
    return node.child
