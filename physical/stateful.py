"""Stateful operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..planner.model.expressions import AttributeReference
from .plan import StatefulOperator, StateStoreWriter, UnaryExec

OutputMode = Literal["append", "update", "complete"]


@dataclass(frozen=True, kw_only=True)
class StateStoreRestoreExec(UnaryExec, StatefulOperator):
    """Adds each key's stored buffers to the batch's."""

    expression_fields = ("keys",)

    keys: tuple[AttributeReference, ...]
    state_format_version: int


@dataclass(frozen=True, kw_only=True)
class StateStoreSaveExec(UnaryExec, StateStoreWriter):
    """Stores merged buffers; emits them by output mode; evicts what the watermark has passed."""

    expression_fields = ("keys",)

    keys: tuple[AttributeReference, ...]
    output_mode: OutputMode | None = None
    state_format_version: int

    @property
    def operator_name(self) -> str:
        return "stateStoreSave"


@dataclass(frozen=True, kw_only=True)
class SessionWindowStateStoreRestoreExec(UnaryExec, StatefulOperator):
    """Adds each key's stored sessions to the batch's rows, in order; drops late rows."""

    expression_fields = ("keys", "session")

    keys: tuple[AttributeReference, ...]  # without the session
    session: AttributeReference
    state_format_version: int


@dataclass(frozen=True, kw_only=True)
class SessionWindowStateStoreSaveExec(UnaryExec, StateStoreWriter):
    """Stores each key's sessions anew; emits by output mode; evicts ended sessions."""

    expression_fields = ("keys", "session")

    keys: tuple[AttributeReference, ...]
    session: AttributeReference
    output_mode: OutputMode | None = None
    state_format_version: int

    @property
    def operator_name(self) -> str:
        return "sessionWindowStateStoreSaveExec"


@dataclass(frozen=True, kw_only=True)
class StreamingDeduplicateExec(UnaryExec, StateStoreWriter):
    """Lets the first row of each key through."""

    expression_fields = ("keys",)

    keys: tuple[AttributeReference, ...]

    @property
    def operator_name(self) -> str:
        return "dedupe"


@dataclass(frozen=True, kw_only=True)
class StreamingDeduplicateWithinWatermarkExec(UnaryExec, StateStoreWriter):
    """Lets the first row of each key through; the key is forgotten a delay after its event time."""

    expression_fields = ("keys",)

    keys: tuple[AttributeReference, ...]

    @property
    def operator_name(self) -> str:
        return "dedupeWithinWatermark"


@dataclass(frozen=True, kw_only=True)
class StreamingLocalLimitExec(UnaryExec):
    """At most so many rows of each partition, reading its input to the end: it may hold state."""

    limit: int


@dataclass(frozen=True, kw_only=True)
class StreamingGlobalLimitExec(UnaryExec, StateStoreWriter):
    """At most so many rows over the life of the query."""

    limit: int
    output_mode: OutputMode | None = None

    @property
    def operator_name(self) -> str:
        return "globalLimit"
