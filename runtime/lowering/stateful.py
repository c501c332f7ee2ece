"""Lowering of deduplication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...physical.plan import SparkPlan
from ...physical.stateful import (
    BaseStreamingDeduplicateExec,
    StreamingDeduplicateWithinWatermarkExec,
)
from ...planner.model.errors import InternalError
from ..kernels.deduplicate import DeduplicateKernel
from .batch import Batch
from .columns import arrow_schema, column_name
from .exchanges import check_event_times, event_time_position, micros
from .operators import Frames, lower_operator
from .scans import reader, unexchanged
from .windows import key_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@lower_operator.register(BaseStreamingDeduplicateExec)
def _(node: BaseStreamingDeduplicateExec, inputs: Frames, batch: Batch) -> DataFrame:
    check_event_times(node.child, batch)
    rows = node.child.output
    columns = [key_column(attribute) for attribute in rows]
    places = {attribute.expr_id: i for i, attribute in enumerate(rows)}
    time = event_time_position(rows)
    within = None
    if isinstance(node, StreamingDeduplicateWithinWatermarkExec):
        delay = None if time is None else rows[time].delay_ms
        if delay is None:
            raise InternalError("deduplication within the watermark has no event-time column")
        within = delay * 1000
    kernel = DeduplicateKernel(
        rows=arrow_schema(columns),
        keys=tuple(places[key.expr_id] for key in node.keys),
        time=time,
        within=within,
        late=micros(node.event_time_watermark_for_late_events),
        evict=micros(node.event_time_watermark_for_eviction),
    )
    keys = [columns[places[key.expr_id]] for key in node.keys]
    files = reader(unexchanged(node.child), batch.context)
    scan = None if files is None else files.scan(keys, columns)
    if files is not None and scan is not None:
        return batch.run_scan(
            node, scan, kernel, columns=columns, output=columns, watermark=files.watermark
        )
    frame = batch.exchanged(inputs[0], *(column_name(key) for key in node.keys))
    return batch.run_kernel(node, frame, kernel, keys=keys, columns=columns, output=columns)


def has_lowering(kind: type[SparkPlan]) -> bool:
    """Whether operators of a class can be run."""
    return lower_operator.dispatch(kind) is not lower_operator.dispatch(object)
