"""Names over plans: table aliases and views."""

from __future__ import annotations

from ...planner.model.conf import Conf
from ...planner.model.logical import LogicalPlan, SubqueryAlias, View
from .trees import rewrite_up


def eliminate_names(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """Table aliases and views go: columns are known by id from here on.

    `SubqueryAlias t, child` -> `child`. Requires a resolved plan. Idempotent.
    """

    def drop(node: LogicalPlan) -> LogicalPlan:
        return node.child if isinstance(node, SubqueryAlias | View) else node

    return rewrite_up(plan, drop, frozenset((SubqueryAlias, View)))
