"""Join hints, from the sides of a join to the join."""

from __future__ import annotations

from ....planner.model.plans.hints import ResolvedHint
from ....planner.model.plans.logical import Join
from ....planner.model.plans.query_plan import LogicalPlan, UnaryNode
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import rewrite_up


def move_hints_to_joins(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Join (Hint broadcast, l), r` -> `Join l, r (broadcast, -)`; other hints go. Idempotent.

    A hint holds for the nearest join over it, with only operators of one input between them.
    """

    def moved(node: LogicalPlan) -> LogicalPlan:
        if not isinstance(node, Join):
            return node
        left, right = node.hint
        found = (left or _hint(node.left), right or _hint(node.right))
        return replace(node, hint=found) if found != node.hint else node

    def dropped(node: LogicalPlan) -> LogicalPlan:
        return node.child if isinstance(node, ResolvedHint) else node

    with_hints = rewrite_up(plan, moved, frozenset((ResolvedHint,)))
    return rewrite_up(with_hints, dropped, frozenset((ResolvedHint,)))


def _hint(side: LogicalPlan) -> str | None:
    while isinstance(side, UnaryNode):
        if isinstance(side, ResolvedHint):
            return side.strategy
        side = side.child
    return None
