"""Optimization: the logical rewrites that show in Spark's physical plans."""

from __future__ import annotations

from ...planner.model.conf import Conf
from ...planner.model.memo import memo_scope
from ...planner.model.query_plan import LogicalPlan
from .executor import run
from .order import BATCHES
from .settings import settings_of


def optimize(analyzed: LogicalPlan, conf: Conf) -> LogicalPlan:
    """The plan that Spark's optimizer makes of an analyzed one.

    Raises:
        InternalError: a rule broke an invariant, which is our mistake.
    """
    with settings_of(conf), memo_scope():
        return run(BATCHES, analyzed, conf)
