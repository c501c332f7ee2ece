"""Another number of logical stores for a stopped query.

A row's store is `pmod(place, stores)`, its place Spark's `hash` of the key, and every run of state
keeps the places of its rows. Which task reads a row depends on the place and the number of tasks
alone. So no row moves and no file of the state changes: the number is a setting, pinned in the
offset log. It is changed in the entry of the last committed batch, by one replacement of one file:
before it the old number holds, after it the new one. Spark's offline repartitioning, which has to
move rows, adds a batch instead; here that would leave a gap in the sink's log of batches.

The operators' metadata tell the number to Spark's tools. They follow the log: if a crash comes in
between, the next run of the query or of this command brings them up to date.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass

from ...planner.model.errors import DescriptionError, RuntimeFailure
from ...planner.model.settings.pinned import PINNED
from ..checkpoint import VERSION, Checkpoint, compact_json
from ..claim import Holder
from ..files import corrupt, replace
from ..state_files import stored_operators, update_store_count
from .stored import STORES, check_provider, existing

_INVALID = "STATE_REPARTITION_INVALID_CHECKPOINT"


@dataclass(frozen=True, kw_only=True)
class Rescaled:
    """What a rescale did: the numbers of stores before and after, the operators by id."""

    before: int
    after: int
    operators: dict[int, str]
    next_batch: int


def rescale(checkpoint: str, stores: int) -> Rescaled:
    """Change the number of logical stores of a stopped query, whatever the size of its state.

    Args:
        checkpoint: the checkpoint's directory.
        stores: the new number.

    Raises:
        DescriptionError: the number is not above zero.
        RuntimeFailure: there is no checkpoint, the query runs, its last batch is not committed, or
            the state is not ours.
    """
    if stores < 1:
        raise DescriptionError.of(
            "STATE_REPARTITION_INVALID_PARAMETER.IS_NOT_GREATER_THAN_ZERO",
            parameter="numPartitions",
            hint="Give the number of stores with --stores, such as 200.",
        )
    existing(checkpoint)
    opened = Checkpoint.open(checkpoint, Holder(run_id=str(uuid.uuid4()), name="state rescale"))
    try:
        batch = _last_batch(opened)
        before = _change(opened, batch, stores)
        update_store_count(opened.state_directory, stores)
    finally:
        opened.release()
    operators = stored_operators(opened.state_directory)
    return Rescaled(
        before=before,
        after=stores,
        operators={i: m.operatorInfo.operatorName for i, m in operators.items()},
        next_batch=batch + 1,
    )


def _last_batch(checkpoint: Checkpoint) -> int:
    """The last batch, which is committed.

    Raises:
        RuntimeFailure: there is none, or it is not.
    """
    latest, committed = checkpoint.offset_log.latest(), checkpoint.commit_log.latest()
    if latest is None:
        raise _refusal(
            checkpoint,
            "NO_BATCH_FOUND",
            "No microbatch has been recorded in the checkpoint location. Make sure the streaming "
            "query has successfully completed at least one microbatch before repartitioning.",
            "A query that has no batch yet takes spark.sql.shuffle.partitions from its settings.",
        )
    if committed is None:
        raise _refusal(
            checkpoint,
            "NO_COMMITTED_BATCH",
            "There is no committed microbatch. Make sure the streaming query has successfully "
            "completed at least one microbatch before repartitioning.",
            "Run the query until it has committed a batch.",
        )
    if committed < latest:
        raise _refusal(
            checkpoint,
            "LAST_BATCH_FAILED",
            f"The last batch ID {latest} didn't finish successfully. Please make sure the "
            "streaming query finishes successfully, before repartitioning.",
            "Run the query once more, with the trigger available_now; then rescale.",
        )
    if committed > latest:
        raise corrupt(checkpoint.offset_log.path(committed), "it is missing, its commit is not")
    return latest


def _change(checkpoint: Checkpoint, batch: int, stores: int) -> int:
    """Put the number into the log's entry of a batch; the number that was there."""
    log = checkpoint.offset_log
    seq = checkpoint.offsets(batch)  # checks the entry
    lines = log.read(batch)
    if seq is None or lines is None:
        raise corrupt(log.path(batch), "it is missing")
    check_provider(checkpoint, seq.metadata.conf)
    before = int(seq.metadata.conf.get(STORES, PINNED[STORES]))
    if before != stores:
        metadata = json.loads(lines[0])
        metadata["conf"] = {**seq.metadata.conf, STORES: str(stores)}
        checkpoint.check_claim()
        text = "\n".join([VERSION, compact_json(metadata), *lines[1:]])
        replace(log.path(batch), text.encode())
    return before


def _refusal(checkpoint: Checkpoint, reason: str, message: str, hint: str) -> RuntimeFailure:
    condition = f"{_INVALID}.{reason}"
    return RuntimeFailure(
        condition,
        f"[{condition}] The provided checkpoint location '{checkpoint.root}' is in an invalid "
        f"state. {message} SQLSTATE: 55019",
        hint=hint,
    )
