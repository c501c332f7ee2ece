"""What a stateful operator knows of its state."""

from __future__ import annotations

from typing import Literal

from ..planner.model.frozen import dataclass
from ..planner.model.schemas.types import StructType

OutputMode = Literal["append", "update", "complete"]

UNKNOWN_CHECKPOINT = "<unknown>"
NO_WATERMARK = -(2**63)  # Long.MinValue: before a query starts


@dataclass(frozen=True)
class StateStoreSchema:
    """One store of a stateful operator, and the columns of its rows' keys and values."""

    name: str
    key: StructType
    value: StructType


@dataclass(frozen=True, kw_only=True)
class StatefulOperatorStateInfo:
    """Where one stateful operator keeps its state, and which version of it a batch reads.

    Attributes:
        checkpoint_location: the checkpoint's `state` directory, or `<unknown>` before a start.
        run_id: the run's UUID.
        operator_id: counts from the sink, 0 first.
        version: the batch id whose state this batch starts from (batch N reads version N).
        num_partitions: the number of logical stores.
    """

    checkpoint_location: str
    run_id: str
    operator_id: int
    version: int
    num_partitions: int

    @property
    def text(self) -> str:
        """The form in plans."""
        return (
            f"state info [ checkpoint = {self.checkpoint_location}, runId = {self.run_id}, "
            f"opId = {self.operator_id}, ver = {self.version}, "
            f"numPartitions = {self.num_partitions}] stateStoreCkptIds = None"
        )
