"""What the micro-batch loop hands to an engine for a batch, and what it gets back.

context = BatchContext(engine=..., sources=..., state_location=..., batch_id=7, ...)
batch = prepare(execution.executed_plan, context, plans)  # `plans`: one for all batches
sink.write(batch.dataframe)            # any action; several do no harm
results = batch.results()              # metrics, event-time figures
sink.publish()                         # the rows are part of the output
...                                    # the loop's decision that the batch stands
batch.commit_state()                   # version 8 of every operator is written
...                                    # the commit, which names the attempt: it is visible
batch.clean_up()                       # what is too old goes
(or batch.abort() after a failure)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ...planner.model.errors import RuntimeFailure
from ...planner.model.settings.conf import Conf
from ..kernels.scans.scan import SeenTimes
from ..plan.facts import Reader
from ..sources.parquet import FileBatch
from ..state import Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .engine import Engine


@dataclass(frozen=True, kw_only=True)
class BatchContext:
    """One attempt at one micro-batch.

    Attributes:
        engine: what runs it, on a session of the query's own.
        sources: per source name this batch's rows, made when they are asked for; columns in the
            source's schema order (names do not matter, positions do). A source without rows has an
            empty DataFrame.
        state_location: the checkpoint's `state` directory: a path, a URI or a location.
        batch_id: the batch that runs; it reads version `batch_id` of the state and makes the next.
        conf: the query's settings.
        tasks: how many tasks run each stateful operator: any number.
        attempt: names this attempt in file names; must not repeat, restarts included (a UUID).
        source_rows: how many rows a source has, exactly, for those of which it is known.
        files: the Parquet files of a source's rows, where tasks may read them without Spark.
        deals_out: whether an operator's tasks may compute what another one takes.
        readers: how the engine reads the files of sources and tables, by name.
        state_attempt: the attempt whose state the batch reads, as the last commit says; None: that
            of the only one that made the version.
        one_action: whether the sink runs no more than one action over the batch's DataFrame.
        in_arrow: whether it takes rows of this process as they are (`Sink.in_arrow`).
    """

    engine: Engine
    sources: Mapping[str, DataFrame]
    state_location: Place
    batch_id: int
    conf: Conf = field(default_factory=Conf)
    tasks: int = 1
    attempt: str
    source_rows: Mapping[str, int] = field(default_factory=dict)
    files: Mapping[str, FileBatch] = field(default_factory=dict)
    deals_out: bool = True
    readers: Mapping[str, Reader] = field(default_factory=dict)
    state_attempt: str | None = None
    one_action: bool = False
    in_arrow: bool = False


@dataclass(frozen=True, kw_only=True)
class OperatorResult:
    """What one stateful operator did in a batch; names as in StreamingQueryProgress."""

    operator_id: int
    operator_name: str
    num_rows_total: int
    num_rows_updated: int
    num_rows_removed: int
    num_rows_dropped_by_watermark: int
    memory_used_bytes: int
    num_shuffle_partitions: int
    num_state_store_instances: int
    all_updates_time_ms: int = 0
    all_removals_time_ms: int = 0
    commit_time_ms: int = 0
    custom_metrics: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class EventTimeStats:
    """The event times that one EventTimeWatermark saw in a batch, in milliseconds since 1970."""

    max_ms: int
    min_ms: int
    avg_ms: float
    count: int

    @classmethod
    def of(cls, seen: SeenTimes) -> EventTimeStats | None:
        """The figures of some event times; None if there are none."""
        if not seen.count:
            return None
        average = seen.sum_ms / seen.count
        return cls(max_ms=seen.max_ms, min_ms=seen.min_ms, avg_ms=average, count=seen.count)


def furthest(*seen: tuple[str, EventTimeStats | None]) -> dict[str, EventTimeStats | None]:
    """What each EventTimeWatermark saw, by `node_id`.

    One stands twice where a rule copies what it is in, over fewer rows perhaps: the later time
    counts, as in Spark.
    """
    found: dict[str, EventTimeStats | None] = {}
    for node_id, one in seen:
        known = found.setdefault(node_id, one)
        if one is not None and (known is None or known.max_ms < one.max_ms):
            found[node_id] = one
    return found


@dataclass(frozen=True, kw_only=True)
class BatchResults:
    """What a batch's run says.

    Attributes:
        operators: the one nearest the sink (operator id 0) first, as in Spark's progress.
        event_times: per EventTimeWatermark's `node_id`; None where the batch had no rows there.
        observed: the metrics of each `observe`, by its name; none of one that did not run.
        counted: the rows of the sources that nothing else counts.
    """

    operators: tuple[OperatorResult, ...] = ()
    event_times: Mapping[str, EventTimeStats | None] = field(default_factory=dict)
    observed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    counted: Mapping[str, int] = field(default_factory=dict)


class RanAgain(RuntimeFailure):
    """A task of a stateful operator ran again after others had read its rows.

    The batch has to run again, as another attempt: nothing of this one may count.
    """

    def __init__(self) -> None:
        super().__init__(
            "STATEPLAN_TASKS_RAN_AGAIN",
            "Tasks of a stateful operator ran again after other tasks had read what they made, "
            "because an executor or its shuffle files were lost.",
            hint="Nothing of the batch is committed: start the query again once the executors "
            "stay up.",
        )


class PreparedBatch(Protocol):
    """A batch ready to run."""

    @property
    def dataframe(self) -> DataFrame:
        """The batch's output, columns named as the query's output (names may repeat).

        Made when it is first asked for; an engine may run a part of the batch then.

        Raises:
            RuntimeFailure: an operator cannot be run on this engine, or state cannot be read.
        """

    def results(self) -> BatchResults:
        """The figures of the run, after the sink's action.

        Evaluates the DataFrame itself (into nothing) if the sink's action did not, or only in part.

        Raises:
            RanAgain: rows and state may not fit together.
            RuntimeFailure: the evaluation failed.
        """

    def commit_state(self) -> None:
        """Write what the tasks made as version `batch_id + 1`: one manifest an operator.

        Repeating it does no harm. The version counts once the checkpoint's commit names the
        attempt; until then one of another attempt may stand beside it.

        Raises:
            RuntimeFailure: the batch was not evaluated, or a manifest cannot be written.
        """

    @property
    def state_attempt(self) -> str | None:
        """What the commit says of the state: the attempt; None if the query keeps none."""

    def clean_up(self) -> None:
        """After the commit: delete what no kept version needs any more; never raises."""

    def abort(self) -> None:
        """Remove what this attempt's tasks wrote, as far as known; never raises."""
