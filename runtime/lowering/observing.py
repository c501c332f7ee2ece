"""Lowering of `observe`: the rows pass, what is asked of them is told with the batch's progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...physical.metrics import CollectMetricsExec
from ...planner.model.expressions import to_attribute
from .batch import Batch
from .columns import sql_of
from .operators import Frames, lower_operator

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@lower_operator.register(CollectMetricsExec)
def _(node: CollectMetricsExec, inputs: Frames, batch: Batch) -> DataFrame:
    metrics = {to_attribute(e).name: sql_of(e.children[0]) for e in node.metrics}
    return batch.observe_metrics(inputs[0], node.name, metrics)
