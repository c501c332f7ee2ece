"""Optimization: the logical rewrites that show in Spark's physical plans."""

from __future__ import annotations

from ...planner.model.conf import Conf
from ...planner.model.query_plan import LogicalPlan
from .executor import run_batch
from .order import AFTER_INFERENCE, BATCHES, INFERENCE


def optimize(analyzed: LogicalPlan, conf: Conf) -> LogicalPlan:
    """The plan that Spark's optimizer makes of an analyzed one.

    Raises:
        InternalError: a rule broke an invariant, which is our mistake.
    """
    plan = analyzed
    for batch in BATCHES:
        before = plan
        plan = run_batch(batch, plan, conf)
        if batch is INFERENCE and plan is not before:
            plan = run_batch(AFTER_INFERENCE, plan, conf)
    return plan
