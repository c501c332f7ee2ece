"""Stateful operators whose state a Python function keeps."""

from __future__ import annotations

from typing import ClassVar

from ..planner.model.expressions.core import AttributeReference, SortOrder, ascending
from ..planner.model.expressions.python_functions import PythonUDF
from ..planner.model.frozen import dataclass
from ..planner.model.lazy import cached_property
from ..planner.model.plans.python_operators import field_text
from ..planner.model.plans.query_plan import GivesAttributes
from ..planner.model.schemas.types import BINARY, INT, LONG, StructField, StructType
from ..planner.model.text.text import plan_text
from .distribution import Distribution, UnspecifiedDistribution, stateful_distribution
from .plan import SparkPlan, StateStoreWriter, UnaryExec, state_columns
from .python_operators import Attributes
from .state import NO_WATERMARK, OutputMode
from .text import arguments, cut, listed


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

    @property
    def misses_input(self) -> bool:
        return bool(self.attributes)

    @property
    def state_key_schema(self) -> StructType:
        return state_columns(self.keys)

    @property
    def _times(self) -> tuple[str, str, str]:
        late, eviction = (text or str(NO_WATERMARK) for text in self.watermark_texts)
        return str(self.batch_timestamp_ms), late, eviction


@dataclass(frozen=True, kw_only=True)
class FlatMapGroupsInPandasWithStateExec(PythonStatefulExec, UnaryExec):
    """`applyInPandasWithState`: a group's new rows and its one state, perhaps with a timeout."""

    operator_name = "applyInPandasWithState"
    expression_fields: ClassVar[tuple[str, ...]] = ("function", "keys")
    keeps_partitioning = True

    state_type: StructType
    state_format_version: int
    timeout: str

    def arguments(self, max_fields: int) -> str:
        return arguments(
            plan_text(self.function),
            listed(self.keys, max_fields),
            listed(self.attributes, max_fields),
            _fields(self.state_type, max_fields),
            self.state_text,
            str(self.state_format_version),
            self.function_mode.capitalize(),
            self.timeout,
            *self._times,
            "false",
        )

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

    child: SparkPlan
    initial_state: SparkPlan
    initial_keys: Attributes
    initial_type: StructType
    has_initial_state: bool
    time_mode: str
    rows: str

    def arguments(self, max_fields: int) -> str:
        return arguments(
            plan_text(self.function),
            listed(self.keys, max_fields),
            listed(self.attributes, max_fields),
            self.function_mode.capitalize(),
            self.time_mode,
            self.state_text,
            *self._times,
            self.rows,
            "true",
            str(self.has_initial_state).lower(),
            listed(self.initial_keys, max_fields),
            _fields(self.initial_type, max_fields),
        )

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


def _fields(schema: StructType, max_fields: int) -> str | None:
    if not schema.fields:
        return None
    return f"[{cut([field_text(f) for f in schema.fields], max_fields)}]"
