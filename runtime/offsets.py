"""Where a query stands: what a checkpoint says of the next batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..planner.model.settings.conf import Conf
from .checkpoint import (
    Checkpoint,
    CommitMetadata,
    Offset,
    OffsetMetadata,
    other_query,
    restored_conf,
)
from .files import corrupt

Offsets = tuple[Offset | None, ...]  # one per source, in the order of the plan's streams


@dataclass(frozen=True, kw_only=True)
class Position:
    """The next batch of a query.

    Attributes:
        batch_id: its id.
        constructed: whether its offsets are in the offset log: it ran, or was to run, before.
        start: where each source's rows of the batch begin; None: at the beginning.
        end: where they end; as `start` while the batch is not constructed.
        watermark_ms: the query's watermark that the batch runs under, if it is constructed; the
            global watermark so far, if not.
        late_ms: the watermark of the batch before, by which rows are late.
        timestamp_ms: the batch's time, if it is constructed.
        state_attempt: whose state the batch reads, as the commit before it says.
    """

    batch_id: int = 0
    constructed: bool = False
    start: Offsets
    end: Offsets
    watermark_ms: int = 0
    late_ms: int = 0
    timestamp_ms: int = 0
    state_attempt: str | None = None

    @property
    def has_new_data(self) -> bool:
        return self.start != self.end

    def next(self, commit: CommitMetadata) -> Position:
        """The position once this batch is committed."""
        return Position(
            batch_id=self.batch_id + 1,
            start=self.end,
            end=self.end,
            watermark_ms=commit.nextBatchWatermarkMs,
            late_ms=self.watermark_ms,
            state_attempt=commit.stateAttempt,
        )

    def constructed_with(self, end: Offsets, timestamp_ms: int) -> Position:
        """The batch with its end and time."""
        return replace(self, constructed=True, end=end, timestamp_ms=timestamp_ms)


def recover(checkpoint: Checkpoint, sources: Sequence[str], conf: Conf) -> tuple[Position, Conf]:
    """Where the query goes on, and its settings with the pinned ones.

    A batch that has offsets but no commit runs again, with the same offsets, watermark and time.

    Args:
        checkpoint: the checkpoint, new or old.
        sources: the names of the plan's streams in order, one per place; as in Spark the offset
            log has a line for each place, also where two read the same source.
        conf: the query's settings.

    Raises:
        RuntimeFailure: a file is missing or corrupt, or the checkpoint is another query's.
    """
    # In this order: another driver, not yet aware of being superseded, may still finish an entry.
    committed = checkpoint.commit_log.latest()
    latest = checkpoint.offset_log.latest()
    if committed is not None and (latest is None or committed > latest):
        raise corrupt(checkpoint.offset_log.path(committed), "it is missing, but its commit is not")
    nothing: Offsets = (None,) * len(set(sources))
    if latest is None:
        return Position(start=nothing, end=nothing), conf
    seq = checkpoint.offsets(latest)
    if seq is None:
        raise corrupt(checkpoint.offset_log.path(latest), "it is missing")
    _check_sources(seq.offsets, sources)
    if latest > 0 and (committed is None or committed < latest - 1):
        raise corrupt(checkpoint.commit_log.path(latest - 1), "it is missing")
    before = None
    if latest > 0:
        before = checkpoint.offsets(latest - 1)
        if before is None:
            raise corrupt(checkpoint.offset_log.path(latest - 1), "it is missing")
    position = Position(
        batch_id=latest,
        constructed=True,
        start=by_source(before.offsets, sources) if before is not None else nothing,
        end=by_source(seq.offsets, sources),
        watermark_ms=seq.metadata.batchWatermarkMs,
        late_ms=before.metadata.batchWatermarkMs if before is not None else 0,
        timestamp_ms=seq.metadata.batchTimestampMs,
    )
    commit = None if committed is None else checkpoint.commit(committed)
    if commit is not None and committed == latest:
        watermark = max(commit.nextBatchWatermarkMs, position.watermark_ms)
        position = position.next(commit.model_copy(update={"nextBatchWatermarkMs": watermark}))
    elif commit is not None:
        position = replace(position, state_attempt=commit.stateAttempt)
    return position, restored_conf(conf, seq.metadata)


def by_source(offsets: Offsets, places: Sequence[str]) -> Offsets:
    """One offset a source out of one a place."""
    return tuple(
        dict(zip(reversed(places), reversed(offsets), strict=True))[n] for n in _names(places)
    )


def by_place(offsets: Offsets, places: Sequence[str]) -> Offsets:
    """One offset a place out of one a source."""
    known = dict(zip(_names(places), offsets, strict=True))
    return tuple(known[name] for name in places)


def _names(places: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(places))


def batch_metadata(position: Position, pinned: dict[str, str]) -> OffsetMetadata:
    """The first line of the batch's offset file."""
    return OffsetMetadata(
        batchWatermarkMs=position.watermark_ms,
        batchTimestampMs=position.timestamp_ms,
        conf=pinned,
    )


def _check_sources(offsets: Offsets, sources: Sequence[str]) -> None:
    if len(offsets) != len(sources):
        raise other_query(
            f"There are [{len(offsets)}] sources in the checkpoint offsets and now there are "
            f"[{len(sources)}] sources requested by the query. Cannot continue."
        )
