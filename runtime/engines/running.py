"""A stateful operator in one batch: what its tasks reported, and what comes of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

from ...physical.plan import StateStoreWriter
from ..failures import state_failure
from ..kernels.limit import rows_without_columns
from ..kernels.reports import TaskReport
from ..kernels.scans.scan import SeenTimes
from ..kernels.task import TaskSpec, carry_out
from ..plan.facts import GROUPS, RECEIVED
from ..state import StateError, StateVersion, schema_text
from ..state.scan import counted_rows
from ..state.store import with_left_parts
from .context import EventTimeStats, OperatorResult, RanAgain
from .engine import Reading, Reports
from .metrics import custom_metrics


@dataclass(kw_only=True)
class RunningOperator(ABC):
    """A stateful operator in one batch.

    Attributes:
        node: the operator.
        spec: what its tasks got.
        reports: what each of them did, once `collect` has been called.
        watermarks: per scan of the tasks, the `node_id` of the EventTimeWatermark that observes it.
        counted: per scan the source whose rows it counts; None: it counts none.
    """

    node: StateStoreWriter
    spec: TaskSpec
    reports: tuple[TaskReport, ...] = ()
    watermarks: tuple[str | None, ...] = ()
    counted: tuple[str | None, ...] = ()

    @abstractmethod
    def collect(self, deadline: float, *, whole: bool) -> bool:
        """Take in what the tasks reported; False if one is missing.

        Args:
            deadline: until when to wait for it (`time.monotonic`).
            whole: whether it is known that the action read the batch to its end.
        """

    @property
    def seen(self) -> Iterator[tuple[str, EventTimeStats | None]]:
        """The event times of the rows that the tasks read themselves, by the `node_id`."""
        for scan, watermark in enumerate(self.watermarks):
            if watermark is not None:
                parts = (report.seen[scan] for report in self.reports)
                yield watermark, EventTimeStats.of(reduce(SeenTimes.with_seen, parts, SeenTimes()))

    @property
    def rows_read(self) -> dict[str, int]:
        """The rows that the tasks read themselves, by the source, where they count them."""
        found: Counter[str] = Counter()
        for scan, name in enumerate(self.counted):
            if name is not None:
                found[name] += sum(report.seen[scan].rows for report in self.reports)
        return found

    @cached_property
    def next_version(self) -> StateVersion:
        """The version that the tasks' writes make."""
        received = sum(report.figures.received for report in self.reports)
        groups = sum(report.figures.groups for report in self.reports)
        version = self.spec.base.next(
            [report.writes for report in self.reports],
            schema=with_left_parts(
                schema_text(self.spec.kernel.layouts),
                self.spec.base.schema,
                self.spec.kernel.evictions,
            ),
            added=sum(report.figures.added for report in self.reports) - self._deleted,
            evicted=self.spec.kernel.evictions,
        )
        # A batch without rows says nothing of the next.
        last = {RECEIVED: received, GROUPS: groups} if received else self.spec.base.extra
        return replace(version, extra=last)

    @property
    def _deleted(self) -> int:
        """The rows of variables that the batch deletes as a whole, as Spark counts them."""
        kernel, base = self.spec.kernel, self.spec.base
        parts = {run.part for run in base.runs}.difference(kernel.layouts)
        gone = [part for part in parts if kernel.evictions.get(part) is not None]
        return sum(counted_rows(self.spec.location, base, part) for part in gone)

    def result(self, times: int = 1) -> OperatorResult:
        """The operator's figures, of as many runs as Spark makes of it in a batch."""
        figures = [report.figures for report in self.reports]
        info = self.node.state_info
        assert info is not None
        stores = info.num_partitions
        constant = {k: n * stores for k, n in self.spec.kernel.per_store.items()}
        return OperatorResult(
            operator_id=info.operator_id,
            operator_name=self.node.operator_name,
            num_rows_total=self.next_version.total * times,
            num_rows_updated=sum(f.updated for f in figures) * times,
            num_rows_removed=sum(f.removed for f in figures) * times,
            num_rows_dropped_by_watermark=sum(f.dropped for f in figures) * times,
            memory_used_bytes=self.next_version.size,
            num_shuffle_partitions=info.num_partitions,
            num_state_store_instances=self.spec.base.stores * len(self.node.store_names),
            all_updates_time_ms=sum(r.update_ms - r.removal_ms for r in self.reports),
            all_removals_time_ms=sum(report.removal_ms for report in self.reports),
            commit_time_ms=sum(report.commit_ms for report in self.reports),
            custom_metrics=custom_metrics(
                self.spec.base, self.next_version, self.reports, constant
            ),
        )


@dataclass(kw_only=True)
class KernelOperator(RunningOperator):
    """An operator whose tasks run a kernel, and report what they did.

    Attributes:
        sent: their reports, on the way here.
    """

    sent: Reports

    def collect(self, deadline: float, *, whole: bool) -> bool:
        texts = self.sent.texts(deadline)
        if texts is None:
            return False
        self.reports = _one_per_task(*texts)
        return len(self.reports) == self.spec.tasks


@dataclass(kw_only=True)
class PassedLimit(RunningOperator):
    """A limit that lets all rows of the batch through, or none.

    Attributes:
        rows: how many rows there are; None: those that are counted.
        reading: counts those that the action sees: one that saw fewer has not read all.
        read: what counts the rows of sources, where `rows` is not known, and how many they are.
    """

    rows: int | None
    reading: Reading | None
    read: Sequence[tuple[Reading, int]]

    def collect(self, deadline: float, *, whole: bool) -> bool:
        rows = self.rows
        if self.reading is not None and not (whole and rows is not None):
            seen = self.reading.values(deadline)
            if seen is None or not self._saw_all(seen, deadline):
                return False
            rows = int(seen["rows"])
        assert rows is not None, "they are known, or counted"
        try:
            report = carry_out(self.spec, 0, rows_without_columns(rows))
        except StateError as error:
            raise state_failure(error) from error
        self.reports = (report,)
        return True

    def _saw_all(self, seen: Mapping[str, Any], deadline: float) -> bool:
        if self.rows is not None:
            return bool(seen["rows"] == self.rows)
        counts = ((reading.values(deadline), count) for reading, count in self.read)
        return all(values is not None and values["rows"] == count for values, count in counts)


def _one_per_task(texts: Sequence[str], count: int) -> tuple[TaskReport, ...]:
    found = [TaskReport.from_json(text) for text in texts]
    reports = {report.writes.task: report for report in found}
    if len(reports) < count:
        # Rows came in another order, so a sum of doubles, or which row of a key was the first, may
        # be another: what has read the first run's output and what has read the second's, and the
        # state of either, need not fit together.
        raise RanAgain()
    return tuple(reports[task] for task in sorted(reports))
