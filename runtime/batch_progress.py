"""The figures of one batch, out of what the loop, the operators and the sources know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..physical.basic import EventTimeWatermarkExec
from ..physical.plan import SparkPlan
from .engines.context import BatchResults
from .engines.metrics import idle_metrics
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


@dataclass(frozen=True, kw_only=True)
class RanBatch:
    """A batch that ran, or what is shown of a trigger that ran none.

    Attributes:
        position: its offsets and watermark.
        plan: its executed plan; None: no batch of this run has one yet.
        results: what the plan's operators reported.
        input_rows: the rows of each source, by name.
        output_rows: the rows that the sink took; None: it does not count.
    """

    position: Position
    plan: SparkPlan | None = None
    results: BatchResults = field(default_factory=BatchResults)
    input_rows: Mapping[str, int] = field(default_factory=dict)
    output_rows: int | None = None

    def idle(self, position: Position) -> RanBatch:
        """What a trigger at this position shows that ran no batch after this one.

        As in Spark the operators keep what they held, and have done nothing.
        """
        operators = tuple(
            replace(
                operator,
                num_rows_updated=0,
                num_rows_removed=0,
                num_rows_dropped_by_watermark=0,
                all_updates_time_ms=0,
                all_removals_time_ms=0,
                commit_time_ms=0,
                custom_metrics=idle_metrics(operator.custom_metrics),
            )
            for operator in self.results.operators
        )
        return RanBatch(
            position=position,
            plan=self.plan,
            results=BatchResults(operators=operators),
            output_rows=None if self.output_rows is None else 0,
        )


@dataclass(frozen=True, kw_only=True)
class TriggerTimes:
    """When a trigger ran, in milliseconds.

    Attributes:
        started_ms, took_ms: its begin, since 1970, and its length.
        since_ms: since the begin of the trigger before; None: this is the first.
        durations: of the trigger's parts.
    """

    started_ms: int
    took_ms: int
    since_ms: int | None
    durations: Durations


def batch_progress(
    identity: RunIdentity,
    batch: RanBatch,
    times: TriggerTimes,
    *,
    watermarked: bool,
    sources: Mapping[str, Source],
    sink: str,
) -> StreamingQueryProgress:
    """A batch's progress, under Spark's names and in Spark's order.

    Args:
        identity: who ran it.
        batch: what ran.
        times: of its trigger.
        watermarked: whether the query has a watermark.
        sources: by name, in the order of the position's offsets.
        sink: the sink's description.
    """
    results = batch.results
    figures: dict[str, Any] = {
        "id": identity.id,
        "runId": identity.run_id,
        "name": identity.name,
        "timestamp": timestamp_text(times.started_ms),
        "batchId": batch.position.batch_id,
        "batchDuration": times.took_ms,
        **_row_figures(sum(batch.input_rows.values()), times),
        "durationMs": times.durations.as_dict(),
    }
    if watermarked and batch.plan is not None:
        operators = batch.plan.collect(EventTimeWatermarkExec)
        seen = [results.event_times.get(operator.node_id) for operator in operators]
        figures["eventTime"] = event_time_figures(batch.position.watermark_ms, seen)
    figures["stateOperators"] = [operator_figures(r) for r in results.operators]
    figures["sources"] = _source_figures(sources, batch, times)
    figures["sink"] = {
        "description": sink,
        "numOutputRows": -1 if batch.output_rows is None else batch.output_rows,
    }
    figures["observedMetrics"] = {
        name: {metric: json_value(value) for metric, value in metrics.items()}
        for name, metrics in sorted(results.observed.items())
    }
    return StreamingQueryProgress(figures)


def _source_figures(
    sources: Mapping[str, Source], batch: RanBatch, times: TriggerTimes
) -> list[dict[str, Any]]:
    return [
        {
            "description": source.description,
            "startOffset": start,
            "endOffset": end,
            "latestOffset": source.newest_offset(),
            **_row_figures(batch.input_rows.get(name, 0), times),
            **({"metrics": dict(own)} if (own := source.metrics(end)) else {}),
        }
        for (name, source), start, end in zip(
            sources.items(), batch.position.start, batch.position.end, strict=True
        )
    ]


def _row_figures(rows: int, times: TriggerTimes) -> dict[str, Any]:
    """A number of rows, and how many a second: since the trigger before, and of this one."""
    return {
        "numInputRows": rows,
        "inputRowsPerSecond": rate(rows, (times.since_ms or 0) / 1000),
        "processedRowsPerSecond": rate(rows, times.took_ms / 1000),
    }
