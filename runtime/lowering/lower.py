"""From an executed plan to a batch that can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...physical.exchange import expand_reused_exchanges
from ...physical.plan import SparkPlan
from ...planner.model.spark_sql import quote
from . import aggregates as aggregates  # its operators' lowerings register themselves
from . import joins as joins
from . import limits as limits
from . import sessions as sessions
from . import stateful as stateful
from .batch import Batch
from .columns import column_name
from .context import LoweredBatch, LoweringContext
from .deferred import deferred, settled
from .operators import inputs_of, lower_operator

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def lower(plan: SparkPlan, context: LoweringContext) -> LoweredBatch:
    """A batch of an executed plan, ready to run.

    Args:
        plan: the executed plan of the batch: state info and watermarks are in it.
        context: the attempt.

    Raises:
        RuntimeFailure: an operator or function cannot be run, or state cannot be read.
    """

    def build(batch: Batch) -> DataFrame:
        frame = _lower(expand_reused_exchanges(plan), batch)
        names = (f"{column_name(a)} AS {quote(a.name)}" for a in plan.output)
        return settled(frame.selectExpr(*names))

    return Batch(context, build)


def _lower(node: SparkPlan, batch: Batch) -> DataFrame:
    inputs = [_lower(below, batch) for below in inputs_of(node)]
    return deferred(lower_operator(node, inputs, batch))
