"""Stateful operators whose state a Python function keeps."""

from __future__ import annotations

from typing import ClassVar

from ..planner.model.expressions.core import AttributeReference, SortOrder, ascending
from ..planner.model.expressions.python_functions import PythonUDF
from ..planner.model.frozen import dataclass
from ..planner.model.lazy import cached_property
from ..planner.model.output_modes import OutputMode
from ..planner.model.plans.query_plan import GivesAttributes
from ..planner.model.schemas.types import BINARY, INT, LONG, StructField, StructType
from .distribution import Distribution, UnspecifiedDistribution, stateful_distribution
from .plan import WATERMARKS, SparkPlan, StateStoreWriter, UnaryExec, state_columns
from .python_operators import Attributes
from .state import NO_WATERMARK


@dataclass(frozen=True, kw_only=True)
class PythonStatefulExec(GivesAttributes, StateStoreWriter):
    """Base: keys, the function, and when it is called without rows.

    Attributes:
        function_mode: the function's own output mode, which plans show.
        batch_timestamp_ms: the time of the batch, by which processing-time timeouts go.
    """

    keys: Attributes
    function: PythonUDF
    attributes: Attributes
    function_mode: OutputMode
    batch_timestamp_ms: int = 0
    event_time_watermark_for_late_events: int | None = NO_WATERMARK
    event_time_watermark_for_eviction: int | None = NO_WATERMARK

    @property
    def misses_input(self) -> bool:
        return bool(self.attributes)

    @property
    def function_mode_text(self) -> str:
        """The function's output mode as plans show it."""
        return self.function_mode.capitalize()

    @property
    def state_key_schema(self) -> StructType:
        return state_columns(self.keys)


@dataclass(frozen=True, kw_only=True)
class FlatMapGroupsInPandasWithStateExec(PythonStatefulExec, UnaryExec):
    """`applyInPandasWithState`: a group's new rows and its one state, perhaps with a timeout."""

    operator_name = "applyInPandasWithState"
    expression_fields: ClassVar[tuple[str, ...]] = ("function", "keys")
    keeps_partitioning = True
    shown = (
        "function",
        "keys",
        "attributes",
        "state_type",
        "state_info",
        "state_format_version",
        "function_mode_text",
        "timeout",
        "batch_timestamp_ms",
        *WATERMARKS,
        "has_initial_state",
    )
    has_initial_state = False

    state_type: StructType
    state_format_version: int
    timeout: str

    @cached_property
    def required_child_distribution(self) -> tuple[Distribution, ...]:
        return (stateful_distribution(self.keys, self.num_stores, self.strict_distribution),)

    @cached_property
    def required_child_ordering(self) -> tuple[tuple[SortOrder, ...], ...]:
        return (ascending(self.keys),)

    @property
    def state_value_schema(self) -> StructType:
        """The state, in version 2 as one struct, and when it times out if it ever does."""
        columns = (
            AttributeReference(name=f.name, type_=f.data_type) for f in self.state_type.fields
        )
        state = state_columns(columns).fields
        if self.state_format_version > 1:
            state = (StructField("groupState", StructType(state)),)
        if self.timeout == "NoTimeout":
            return StructType(state)
        kind = LONG if self.state_format_version > 1 else INT
        return StructType((*state, StructField("timeoutTimestamp", kind)))

    def should_run_another_batch(self, new_watermark_ms: int) -> bool:
        match self.timeout:
            case "ProcessingTimeTimeout":
                return True
            case "EventTimeTimeout":
                return self._watermark_moved(new_watermark_ms)
            case _:
                return False


@dataclass(frozen=True, kw_only=True)
class TransformWithStateInPySparkExec(PythonStatefulExec):
    """`transformWithState(InPandas)`: a processor with state variables and timers of its own."""

    child_fields = ("child", "initial_state")
    expression_fields: ClassVar[tuple[str, ...]] = ("function", "keys", "initial_keys")
    shown = (
        "function",
        "keys",
        "attributes",
        "function_mode_text",
        "time_mode",
        "state_info",
        "batch_timestamp_ms",
        *WATERMARKS,
        "rows",
        "is_streaming",
        "has_initial_state",
        "initial_keys",
        "initial_type",
    )
    is_streaming = True

    child: SparkPlan
    initial_state: SparkPlan
    initial_keys: Attributes
    initial_type: StructType
    has_initial_state: bool
    time_mode: str
    rows: str

    @cached_property
    def required_child_distribution(self) -> tuple[Distribution, ...]:
        stores, strict = self.num_stores, self.strict_distribution
        rows = stateful_distribution(self.keys, stores, strict)
        if not self.has_initial_state:
            return rows, UnspecifiedDistribution()
        return rows, stateful_distribution(self.initial_keys, stores, strict)

    @cached_property
    def required_child_ordering(self) -> tuple[tuple[SortOrder, ...], ...]:
        initial = self.initial_keys if self.has_initial_state else ()
        return ascending(self.keys), ascending(initial)

    @property
    def state_value_schema(self) -> StructType:
        """Bytes: the processor declares its variables only when it runs."""
        return StructType((StructField("value", BINARY),))

    @property
    def operator_name(self) -> str:
        return f"transformWithStateIn{'Pandas' if self.rows == 'pandas' else 'PySpark'}Exec"

    def should_run_another_batch(self, new_watermark_ms: int) -> bool:
        # Spark does not look whether anything goes by the watermark.
        return self.time_mode == "ProcessingTime" or self._watermark_moved(new_watermark_ms)
