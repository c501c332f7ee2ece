"""Lowering of a limit over the life of a query.

Which rows a limit lets through is not laid down, only how many. Where the sources know how many
rows they give, and all of them may pass, no row needs to be looked at: they flow on as they are,
and the driver writes the limit's one row of state. Neither is there anything to look at once the
limit is reached. In between, and over rows whose number nobody knows, they all
go through one task, as in Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from ...physical.basic import (
    EventTimeWatermarkExec,
    LocalLimitExec,
    ProjectExec,
    StreamingRelationExec,
    UnionExec,
)
from ...physical.exchange import ShuffleExchangeExec
from ...physical.plan import SparkPlan
from ...physical.stateful import StreamingGlobalLimitExec, StreamingLocalLimitExec
from ..failures import state_failure
from ..kernels.limit import LimitKernel, passed_before, rows_without_columns
from ..kernels.task import TaskSpec, carry_out, open_store
from ..state import StateError
from .batch import Batch
from .columns import Column, arrow_schema
from .operators import Frames, inputs_of, lower_operator
from .probes import Probe
from .running import RunningOperator

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NOTHING = "spark_partition_id() < 0"
"""Lets no row through, and Spark does not see it beforehand: it reads them all."""


@dataclass(kw_only=True)
class OpenLimit(RunningOperator):
    """A limit that lets all rows of the batch through, or none.

    Attributes:
        rows: how many rows the sources give.
        probe: may count those that the action sees.
        counted: whether the probe counts them: then an action that saw fewer has not read all.
    """

    rows: int
    probe: Probe
    counted: bool

    def collect(self, deadline: float, *, whole: bool) -> bool:
        if self.counted and not whole:
            values = self.probe.values(deadline)
            if values is None or values["rows"] != self.rows:
                return False
        try:
            _, report = carry_out(self.spec, 0, rows_without_columns(self.rows))
        except StateError as error:
            raise state_failure(error) from error
        self.reports = (report,)
        return True


def _below(node: StreamingGlobalLimitExec) -> tuple[SparkPlan, bool]:
    """What stands below the exchange and the limit of each partition; whether there is one."""
    plan = node.child
    if isinstance(plan, ShuffleExchangeExec):
        plan = plan.child
    return (plan.child, True) if isinstance(plan, LocalLimitExec) else (plan, False)


@inputs_of.register(StreamingGlobalLimitExec)
def _(node: StreamingGlobalLimitExec) -> tuple[SparkPlan, ...]:
    return (_below(node)[0],)


@lower_operator.register(StreamingGlobalLimitExec)
def _(node: StreamingGlobalLimitExec, inputs: Frames, batch: Batch) -> DataFrame:
    below, limited = _below(node)
    rows = _rows(below, batch)
    if rows is not None:
        spec = batch.spec(node, LimitKernel(pa.schema([]), node.limit), True)
        left = node.limit - _passed(spec)
        if rows <= left or left <= 0:
            frame = inputs[0]
            # The state does not depend on the action, but the event times that it sees do.
            probe, counted = Probe(rows="count(1)"), batch.observes_event_times
            batch.add(OpenLimit(node=node, spec=spec, rows=rows, probe=probe, counted=counted))
            frame = probe.over(frame) if counted else frame
            return frame if left > 0 else frame.where(_NOTHING)
    columns = [Column.of(attribute) for attribute in node.child.output]
    kernel = LimitKernel(arrow_schema(columns), node.limit)
    frame = inputs[0].limit(node.limit) if limited else inputs[0]
    frame = batch.gathered(frame) if batch.context.tasks == 1 else frame.repartition(1)
    return batch.run_kernel(
        node, frame, kernel, keys=[], columns=columns, output=columns, single=True
    )


def _passed(spec: TaskSpec) -> int:
    try:
        return passed_before(open_store(spec, 0))
    except StateError as error:
        raise state_failure(error) from error


def _rows(node: SparkPlan, batch: Batch) -> int | None:
    """How many rows come out of an operator, exactly; None: not known beforehand."""
    match node:
        case StreamingRelationExec(name=name):
            return batch.context.source_rows.get(name)
        case (
            ProjectExec()
            | EventTimeWatermarkExec()
            | ShuffleExchangeExec()
            | StreamingLocalLimitExec()
        ):
            return _rows(node.children[0], batch)
        case UnionExec():
            return _total([_rows(child, batch) for child in node.children])
    return None


def _total(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
