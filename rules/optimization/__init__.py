"""Optimization: the logical rewrites that show in Spark's physical plans."""

from __future__ import annotations

from ...planner.model.conf import Conf
from ...planner.model.query_plan import LogicalPlan
from .cartesian import refuse_cartesian_products
from .executor import run_batch
from .merge_subqueries import merge_scalar_subqueries
from .order import AFTER_INFERENCE, BATCHES, INFERENCE, SUBQUERIES
from .settings import settings_of
from .subqueries import has_subquery


def optimize(analyzed: LogicalPlan, conf: Conf, *, nested: bool = False) -> LogicalPlan:
    """The plan that Spark's optimizer makes of an analyzed one; `nested`: of a subquery.

    Raises:
        InternalError: a rule broke an invariant, which is our mistake.
    """
    with settings_of(conf):
        return _optimized(analyzed, conf, nested)


def _optimized(analyzed: LogicalPlan, conf: Conf, nested: bool) -> LogicalPlan:
    plan = analyzed
    late = False  # whether something moved after the operators had come to rest
    for batch in BATCHES:
        if batch is SUBQUERIES and not late and not has_subquery(plan):
            continue
        before = plan
        plan = run_batch(batch, plan, conf)
        late = late or (batch.name == "finish" and plan is not before)
        if batch is INFERENCE and plan is not before:
            plan = run_batch(AFTER_INFERENCE, plan, conf)
    plan = refuse_cartesian_products(plan, conf)
    return plan if nested else merge_scalar_subqueries(plan, conf)
