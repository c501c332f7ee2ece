"""Lowering of functions with OVER, over tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...physical.windows import WindowExec, WindowGroupLimitExec
from .batch import Batch
from .columns import column_name
from .operators import Frames, lower_operator, named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@lower_operator.register(WindowExec)
def _(node: WindowExec, inputs: Frames, batch: Batch) -> DataFrame:
    columns = (column_name(attribute) for attribute in node.child.output)
    return inputs[0].selectExpr(*columns, *map(named, node.windows))


@lower_operator.register(WindowGroupLimitExec)
def _(node: WindowGroupLimitExec, inputs: Frames, batch: Batch) -> DataFrame:
    # It leaves rows out early that a filter above leaves out anyway; Spark puts in its own.
    return inputs[0]
