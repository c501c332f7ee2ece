"""An operator's `customMetrics` in the progress, named in the way of Spark's state stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ..kernels.reports import TaskReport
from ..state import StateVersion


def custom_metrics(
    base: StateVersion,
    version: StateVersion,
    reports: Sequence[TaskReport],
    constant: Mapping[str, int],
) -> Mapping[str, int]:
    """How an operator's state files served and changed in a batch.

    - `runFilesCount`: the files of the new version, and how many it kept, `runFilesKeptCount`;
    - `runFilesWrittenCount`, `runRowsWrittenCount`, `runBytesWritten`: what the batch wrote, the
      rows that compaction wrote again included;
    - `compactedFilesCount`, `compactedRowsCount`, `compactedBytes`: the files that compaction took
      in, their rows that still stood, their size;
    - `runFilesOpenedCount`: opened by the tasks, a file that several tasks read each time;
    - `runFilesSkippedByEventTimeCount`: which eviction passed over by their event-time bounds;
    - `runFilesDroppedCount`: no longer in use, as compacted or as the watermark passed them whole;
    - `blockCacheMissCount`, `blockCacheHitCount`: the blocks of 256 KiB of run files that a worker
      read and compared with their checksums for the first time, and those it had before;
    - of user-defined state those that Spark has: `numRegisteredTimers`, `numValueStateVars`, ...

    Args:
        base: the version that the batch started from.
        version: the one that it made.
        reports: one per task.
        constant: figures that are the same in every batch.
    """
    before = {run.file: run for run in base.runs}
    after = {run.file for run in version.runs}
    written = [run for report in reports for run in report.writes.written]
    absorbed = {file for report in reports for file in report.writes.absorbed}

    more = sum((Counter(report.figures.custom) for report in reports), Counter[str]())

    def total(name: str) -> int:
        return sum(report.metrics.get(name, 0) for report in reports)

    return {
        "runFilesCount": len(version.runs),
        "runFilesKeptCount": len(before.keys() & after),
        "runFilesDroppedCount": len(before.keys() - after),
        "runFilesWrittenCount": len(written),
        "runRowsWrittenCount": sum(run.rows for run in written),
        "runBytesWritten": sum(run.size for run in written),
        "compactedFilesCount": len(absorbed),
        "compactedRowsCount": total("compacted"),
        "compactedBytes": sum(before[file].size for file in absorbed),
        "runFilesOpenedCount": total("opened"),
        "runFilesSkippedByEventTimeCount": total("skipped"),
        "blockCacheHitCount": total("hits"),
        "blockCacheMissCount": total("misses"),
        **more,
        **constant,
    }


def idle_metrics(last: Mapping[str, int]) -> Mapping[str, int]:
    """The figures of a trigger that ran no batch: the files of the last version stand as they are.

    Args:
        last: the figures of the last batch.
    """
    return {name: value if name == "runFilesCount" else 0 for name, value in last.items()}
