"""From an executed plan to a batch that can run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, overload

from ...physical.exchange import expand_reused_exchanges
from ...physical.plan import SparkPlan
from ...planner.model.spark_sql import quote
from . import aggregates as aggregates  # its operators' lowerings register themselves
from . import joins as joins
from . import limits as limits
from . import observing as observing
from . import over as over
from . import partitions as partitions
from . import python_functions as python_functions
from . import sessions as sessions
from . import stateful as stateful
from .batch import Batch
from .columns import column_name
from .context import LoweredBatch, LoweringContext
from .deferred import deferred, settled
from .operators import inputs_of, lower_operator
from .partitions import sampled_operators
from .subqueries import make_views

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
        make_views(plan, batch, _settled)
        frame = _lower(expand_reused_exchanges(plan), batch)
        names = (f"{column_name(a)} AS {quote(a.name)}" for a in plan.output)
        return settled(frame.selectExpr(*names))

    return Batch(context, build, sampled_operators(plan))


def _settled(plan: SparkPlan, batch: Batch) -> DataFrame:
    return settled(_lower(expand_reused_exchanges(plan), batch))


def _lower(node: SparkPlan, batch: Batch) -> DataFrame:
    inputs = _Inputs([partial(_lower, below, batch) for below in inputs_of(node)])
    return deferred(lower_operator(node, inputs, batch))


class _Inputs(Sequence["DataFrame"]):
    """The DataFrames that an operator reads, each lowered when it is asked for, once.

    An operator whose tasks read files themselves asks for none.
    """

    def __init__(self, lower: Sequence[Callable[[], DataFrame]]) -> None:
        self._lower = lower
        self._made: dict[int, DataFrame] = {}

    def __len__(self) -> int:
        return len(self._lower)

    @overload
    def __getitem__(self, index: int) -> DataFrame: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[DataFrame]: ...
    def __getitem__(self, index: int | slice) -> DataFrame | Sequence[DataFrame]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index not in self._made:
            self._made[index] = self._lower[index]()
        return self._made[index]
