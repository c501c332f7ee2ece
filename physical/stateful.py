"""Stateful operators."""

from __future__ import annotations

from typing import ClassVar

from ..planner.model.expressions.core import AttributeReference, SortOrder, ascending
from ..planner.model.frozen import dataclass
from ..planner.model.lazy import cached_property
from ..planner.model.schemas.types import LONG, NULL, TIMESTAMP, StructField, StructType
from .basic import LimitExec
from .distribution import AllTuples, Distribution, stateful_distribution
from .plan import WATERMARKS, StatefulOperator, StateStoreWriter, UnaryExec, state_columns


@dataclass(frozen=True, kw_only=True)
class KeyedStatefulExec(UnaryExec, StatefulOperator):
    """State kept by key: the rows of a key must lie where its store is."""

    expression_fields: ClassVar[tuple[str, ...]] = ("keys",)
    keeps_partitioning = True

    keys: tuple[AttributeReference, ...]

    @cached_property
    def required_child_distribution(self) -> tuple[Distribution, ...]:
        return (stateful_distribution(self.keys, self.num_stores, self.strict_distribution),)


@dataclass(frozen=True, kw_only=True)
class KeyedStateWriter(KeyedStatefulExec, StateStoreWriter):
    """Writes state by key."""

    @property
    def state_key_schema(self) -> StructType:
        return state_columns(self.keys)


@dataclass(frozen=True, kw_only=True)
class AggregateSaveExec(KeyedStateWriter):
    """Stores groups, and lets those go that the watermark has passed, but in complete mode."""

    def should_run_another_batch(self, new_watermark_ms: int) -> bool:
        evicts = self.output_mode in ("append", "update")
        return evicts and self._watermark_moved(new_watermark_ms)


@dataclass(frozen=True, kw_only=True)
class StateStoreRestoreExec(KeyedStatefulExec):
    """Adds each key's stored buffers to the batch's."""

    shown = ("keys", "state_info", "state_format_version")

    state_format_version: int


@dataclass(frozen=True, kw_only=True)
class StateStoreSaveExec(AggregateSaveExec):
    """Stores merged buffers; emits them by output mode; evicts what the watermark has passed."""

    operator_name = "stateStoreSave"
    shown = ("keys", "state_info", "mode_text", *WATERMARKS, "state_format_version")

    state_format_version: int

    @property
    def state_value_schema(self) -> StructType:
        """The buffers; in state format 1 the whole row, keys included."""
        if self.state_format_version == 1:
            return state_columns(self.child.output)
        keys = {key.expr_id for key in self.keys}
        return state_columns(a for a in self.child.output if a.expr_id not in keys)


@dataclass(frozen=True, kw_only=True)
class SessionWindowStateStoreRestoreExec(KeyedStatefulExec):
    """Adds each key's stored sessions to the batch's rows, in order; drops late rows.

    `keys` are without the session.
    """

    expression_fields = ("keys", "session")
    shown = ("keys", "session", "state_info", *WATERMARKS, "state_format_version")

    session: AttributeReference
    state_format_version: int

    @property
    def _order(self) -> tuple[SortOrder, ...]:
        return ascending((*self.keys, self.session))

    @cached_property
    def output_ordering(self) -> tuple[SortOrder, ...]:
        return self._order

    @cached_property
    def required_child_ordering(self) -> tuple[tuple[SortOrder, ...], ...]:
        return (self._order,)


@dataclass(frozen=True, kw_only=True)
class SessionWindowStateStoreSaveExec(AggregateSaveExec):
    """Stores each key's sessions anew; emits by output mode; evicts ended sessions."""

    expression_fields = ("keys", "session")
    operator_name = "sessionWindowStateStoreSaveExec"
    shown = ("keys", "session", "state_info", "mode_text", *WATERMARKS, "state_format_version")

    session: AttributeReference
    state_format_version: int

    @property
    def state_key_schema(self) -> StructType:
        start = StructField("sessionStartTime", TIMESTAMP)
        return StructType((*state_columns(self.keys).fields, start))

    @property
    def state_value_schema(self) -> StructType:
        return state_columns(self.child.output)

    @property
    def num_cols_prefix_key(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, kw_only=True)
class BaseStreamingDeduplicateExec(KeyedStateWriter):
    """Lets the first row of each key through."""

    shown = ("keys", "state_info", *WATERMARKS)

    def should_run_another_batch(self, new_watermark_ms: int) -> bool:
        return self._watermark_moved(new_watermark_ms)


@dataclass(frozen=True, kw_only=True)
class StreamingDeduplicateExec(BaseStreamingDeduplicateExec):
    """Remembers each key until the watermark passes the event time among its columns."""

    state_value_schema = StructType((StructField("__dummy__", NULL),))
    operator_name = "dedupe"


@dataclass(frozen=True, kw_only=True)
class StreamingDeduplicateWithinWatermarkExec(BaseStreamingDeduplicateExec):
    """Forgets a key a delay after the event time of its first row."""

    state_value_schema = StructType((StructField("expiresAtMicros", LONG),))
    operator_name = "dedupeWithinWatermark"


@dataclass(frozen=True, kw_only=True)
class StreamingLocalLimitExec(LimitExec):
    """At most so many rows of each partition, reading its input to the end: it may hold state."""


@dataclass(frozen=True, kw_only=True)
class StreamingGlobalLimitExec(LimitExec, StateStoreWriter):
    """At most so many rows over the life of the query."""

    state_key_schema = StructType((StructField("key", NULL),))
    state_value_schema = StructType((StructField("value", LONG),))
    operator_name = "globalLimit"
    required_child_distribution = (AllTuples(),)
    shown = ("limit", "state_info", "mode_text")
