"""Optimization: the logical rewrites that show in Spark's physical plans."""

from __future__ import annotations

from ...planner.model.memo import memo_scope
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.settings.conf import Conf
from .order import BATCHES
from .support.executor import run
from .support.settings import settings_of


def optimize(analyzed: LogicalPlan, conf: Conf) -> LogicalPlan:
    """The plan that Spark's optimizer makes of an analyzed one.

    Raises:
        InternalError: a rule broke an invariant, which is our mistake.
    """
    with settings_of(conf), memo_scope():
        return run(BATCHES, analyzed, conf)
