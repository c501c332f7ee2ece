"""Joins of everything with everything, where the settings forbid what does not say CROSS."""

from __future__ import annotations

from ....planner.model.errors import PlanningError
from ....planner.model.expressions.core import Literal
from ....planner.model.expressions.predicates import split_conjuncts
from ....planner.model.plans.logical import Join
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.text.logical_text import tree_text

_SETTING = "spark.sql.crossJoin.enabled"
_JOINS = {
    "Inner": "INNER",
    "LeftOuter": "LEFT OUTER",
    "RightOuter": "RIGHT OUTER",
    "FullOuter": "FULL OUTER",
}


def refuse_cartesian_products(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """The plan itself, unless a join without CROSS has no condition over both sides.

    Raises:
        PlanningError: it has none, and the setting is off.
    """
    if conf.flag(_SETTING):
        return plan
    for join in plan.collect(Join):
        if join.join_type in _JOINS and _is_product(join):
            limit = conf.integer("spark.sql.debug.maxToStringFields")
            left, right = (tree_text(side, limit) for side in (join.left, join.right))
            raise PlanningError.of(
                "_LEGACY_ERROR_TEMP_1211",
                joinType=_JOINS[join.join_type],
                leftPlan=left,
                rightPlan=right,
            )
    return plan


def _is_product(join: Join) -> bool:
    parts = split_conjuncts(join.condition)
    if len(parts) == 1 and isinstance(parts[0], Literal) and parts[0].value in (False, None):
        return False
    left, right = join.left.output_ids, join.right.output_ids
    return not any(part.references & left and part.references & right for part in parts)
