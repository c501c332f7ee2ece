"""From the optimized logical plan to physical operators: strategies, tried in Spark's order."""

from __future__ import annotations

from ...physical.plan import SparkPlan
from ..model.output_modes import OutputMode
from ..model.plans.logical import ReturnAnswer
from ..model.plans.query_plan import LogicalPlan
from ..model.settings.conf import Conf
from .base import PlanLater, Strategy
from .basic import basic_operators, file_source, partition_operators, special_limits
from .joins import join_selection, streaming_join
from .streaming import (
    python_operators,
    python_state,
    stateful_aggregation,
    streaming_deduplication,
    streaming_global_limit,
)

STRATEGIES: tuple[Strategy, ...] = (
    streaming_join,  # joins of two streams first: the basics must never see one
    stateful_aggregation,  # sessions included, and the watermark's own operator
    python_state,
    streaming_deduplication,
    streaming_global_limit,  # before special_limits: in append mode a LIMIT counts over batches
    special_limits,  # in complete mode a LIMIT is over each batch's whole answer
    file_source,  # before the basics: a filter and a projection become part of the scan
    join_selection,
    python_operators,
    partition_operators,
    basic_operators,
)


def plan_physical(optimized: LogicalPlan, *, output_mode: OutputMode, conf: Conf) -> SparkPlan:
    """The physical plan of an optimized plan, without state info, exchanges and stage marks.

    Raises:
        PlanningError: no strategy knows an operator, or Spark refuses it at planning.
    """
    root = optimized if isinstance(optimized, ReturnAnswer) else ReturnAnswer(child=optimized)
    return PlanLater(STRATEGIES, output_mode, conf)(root)
