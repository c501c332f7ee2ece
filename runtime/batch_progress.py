"""The figures of one batch, out of what the loop, the operators and the sources know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..physical.basic import EventTimeWatermarkExec
from ..physical.plan import SparkPlan
from .engines.context import BatchResults
from .offsets import Position
from .progress import (
    Durations,
    StreamingQueryProgress,
    event_time_figures,
    json_value,
    operator_figures,
    rate,
    timestamp_text,
)
from .sources import Source


@dataclass(frozen=True, kw_only=True)
class RunIdentity:
    """Who runs: the query's id and name, and this run's id."""

    id: str
    run_id: str
    name: str | None


def batch_progress(
    identity: RunIdentity,
    position: Position,
    plan: SparkPlan,
    results: BatchResults,
    *,
    watermarked: bool,
    sources: Mapping[str, Source],
    input_rows: Mapping[str, int],
    sink: str,
    output_rows: int | None,
    started_ms: int,
    took_ms: int,
    since_ms: int | None,
    durations: Durations,
) -> StreamingQueryProgress:
    """A batch's progress, under Spark's names and in Spark's order.

    Args:
        identity: who ran it.
        position: the batch: its offsets and watermark.
        plan: its executed plan.
        results: what the plan's operators reported.
        watermarked: whether the query has a watermark.
        sources: by name, in the order of the position's offsets.
        input_rows: the rows of each source.
        sink: the sink's description.
        output_rows: the rows that it took; None: it does not count.
        started_ms, took_ms: the trigger's begin, and its length.
        since_ms: since the begin of the trigger before; None: this is the first.
        durations: of the trigger's parts.
    """
    total = sum(input_rows.values())
    since = (since_ms or 0) / 1000
    figures: dict[str, Any] = {
        "id": identity.id,
        "runId": identity.run_id,
        "name": identity.name,
        "timestamp": timestamp_text(started_ms),
        "batchId": position.batch_id,
        "batchDuration": took_ms,
        "numInputRows": total,
        "inputRowsPerSecond": rate(total, since),
        "processedRowsPerSecond": rate(total, took_ms / 1000),
        "durationMs": durations.as_dict(),
    }
    if watermarked:
        operators = plan.collect(EventTimeWatermarkExec)
        seen = [results.event_times.get(operator.node_id) for operator in operators]
        figures["eventTime"] = event_time_figures(position.watermark_ms, seen)
    figures["stateOperators"] = [operator_figures(r) for r in results.operators]
    figures["sources"] = [
        {
            "description": source.description,
            "startOffset": start,
            "endOffset": end,
            "latestOffset": source.newest_offset(),
            "numInputRows": input_rows.get(name, 0),
            "inputRowsPerSecond": rate(input_rows.get(name, 0), since),
            "processedRowsPerSecond": rate(input_rows.get(name, 0), took_ms / 1000),
            **({"metrics": dict(own)} if (own := source.metrics(end)) else {}),
        }
        for (name, source), start, end in zip(
            sources.items(), position.start, position.end, strict=True
        )
    ]
    figures["sink"] = {
        "description": sink,
        "numOutputRows": -1 if output_rows is None else output_rows,
    }
    figures["observedMetrics"] = {
        name: {metric: json_value(value) for metric, value in metrics.items()}
        for name, metrics in results.observed.items()
    }
    return StreamingQueryProgress(figures)
