"""The base of all physical operators."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import ClassVar

from ..planner.model.expressions.core import AttributeReference, Call, Origin, SortOrder
from ..planner.model.frozen import dataclass
from ..planner.model.lazy import cached_property
from ..planner.model.output_modes import OutputMode
from ..planner.model.plans.query_plan import QueryPlan
from ..planner.model.schemas.types import StructField, StructType, as_nullable
from ..planner.model.text.operator_text import arguments, counted, shown_text
from .distribution import Distribution, Partitioning, UnknownPartitioning, UnspecifiedDistribution
from .state import StatefulOperatorStateInfo, StateStoreSchema


@dataclass(frozen=True, kw_only=True)
class SparkPlan(QueryPlan):
    """A physical operator.

    Attributes:
        codegen_stage: the whole-stage codegen id that plans show as `*(1)`; set by a preparation
            rule, None outside a stage.
        place: the code or SQL text that the operator comes from, if that is known.
    """

    in_brackets: ClassVar[bool] = False  # `Name(arguments)` in plans, not `Name arguments`

    codegen_stage: int | None = None
    place: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def node_name(self) -> str:
        return type(self).__name__.removesuffix("Exec")

    @property
    def title(self) -> str:
        """The operator's name in formatted plans."""
        return self.node_name

    @property
    def outlined(self) -> str:
        """The name in their tree, where some say more than in their block."""
        return self.title

    def arguments(self, max_fields: int) -> str:
        """What stands behind the name on the operator's line in plans: the values of `shown`.

        Lists longer than `max_fields` (`spark.sql.debug.maxToStringFields`) are cut.
        """
        return arguments(*(shown_text(getattr(self, name), max_fields) for name in self.shown))

    def verbose_arguments(self, max_fields: int) -> str:
        """The arguments where all phases are shown: some operators then say more."""
        return self.arguments(max_fields)

    def details(self, max_fields: int) -> tuple[tuple[str, str], ...]:
        """The lines of the operator's block in a formatted plan: label and value.

        Columns are shown in full; only the arguments are cut at `max_fields`.
        """
        columns: tuple[tuple[str, str], ...] = ()
        if not self.children:
            columns = (counted("Output", self.output),)
        elif len(self.children) == 1:
            columns = (counted("Input", self.children[0].output),)
        elif len(self.child_fields) == 2:
            left, right = self.children
            columns = counted("Left output", left.output), counted("Right output", right.output)
        text = self.arguments(max_fields)
        return (*columns, ("Arguments", text)) if text else columns

    @cached_property
    def output_partitioning(self) -> Partitioning:
        return UnknownPartitioning()

    @cached_property
    def output_ordering(self) -> tuple[SortOrder, ...]:
        return ()

    @cached_property
    def required_child_distribution(self) -> tuple[Distribution, ...]:
        """One per child."""
        return tuple(UnspecifiedDistribution() for _ in self.children)

    @cached_property
    def required_child_ordering(self) -> tuple[tuple[SortOrder, ...], ...]:
        """One per child."""
        return tuple(() for _ in self.children)

    @property
    def misses_input(self) -> bool:
        """Whether expressions mention columns that no child gives, which plans mark with `!`."""
        return False

    @property
    def supports_codegen(self) -> bool:
        """Whether the JVM generates code for the operator."""
        return False

    @cached_property
    def reads_several(self) -> bool:
        """Whether code generated for it, or for one below it, reads several inputs row by row."""
        return any(child.reads_several for child in self.children)

    @cached_property
    def begins_with_partition(self) -> bool:
        """Whether an expression of it, or of one below, begins anew with each partition: rand()."""
        drawn = (part for e in self.expressions if not e.deterministic for part in e.collect(Call))
        own = any(not part.spec.deterministic and not part.spec.of_file for part in drawn)
        return own or any(child.begins_with_partition for child in self.children)


@dataclass(frozen=True, kw_only=True)
class UnaryExec(SparkPlan):
    """One child; its columns pass through unless a node says otherwise.

    `keeps_partitioning` and `keeps_ordering` say whether the rows also stay where and as they are
    as far as planning knows: where Spark forgets them (a watermark, say), so do we.
    """

    child_fields = ("child",)
    keeps_partitioning: ClassVar[bool] = False
    keeps_ordering: ClassVar[bool] = False

    child: SparkPlan

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.child.output

    @cached_property
    def output_partitioning(self) -> Partitioning:
        return self.child.output_partitioning if self.keeps_partitioning else UnknownPartitioning()

    @cached_property
    def output_ordering(self) -> tuple[SortOrder, ...]:
        return self.child.output_ordering if self.keeps_ordering else ()


WATERMARKS = ("event_time_watermark_for_late_events", "event_time_watermark_for_eviction")
"""The fields of a stateful operator that hold its watermarks, as plans show them."""


@dataclass(frozen=True, kw_only=True)
class StatefulOperator(SparkPlan):
    """An operator with state: the state rule fills these fields in.

    The watermarks are in milliseconds. Rows whose event time is at or below
    `event_time_watermark_for_late_events` are late; state at or below
    `event_time_watermark_for_eviction` leaves. `strict_distribution` is the setting
    `spark.sql.streaming.statefulOperator.useStrictDistribution`.
    """

    state_info: StatefulOperatorStateInfo | None = None
    event_time_watermark_for_late_events: int | None = None
    event_time_watermark_for_eviction: int | None = None
    strict_distribution: bool = True

    @property
    def num_stores(self) -> int:
        """The number of logical stores; 0 before the state rule."""
        return 0 if self.state_info is None else self.state_info.num_partitions


@dataclass(frozen=True, kw_only=True)
class StateStoreWriter(StatefulOperator):
    """A stateful operator that writes a new version of its state: the ones progress reports.

    `origin` is where in the query's text the operator comes from, if that is known.
    """

    output_mode: OutputMode | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def mode_text(self) -> str | None:
        """The output mode as plans show it; None before the state rule."""
        return None if self.output_mode is None else self.output_mode.capitalize()

    @property
    def state_key_schema(self) -> StructType:
        """The columns of a state row's key, under Spark's names."""
        raise NotImplementedError(type(self).__name__)

    @property
    def state_value_schema(self) -> StructType:
        """The columns of a state row's value, under Spark's names."""
        raise NotImplementedError(type(self).__name__)

    @property
    def state_stores(self) -> tuple[StateStoreSchema, ...]:
        """The stores of each partition, with what their rows hold."""
        return (StateStoreSchema("default", self.state_key_schema, self.state_value_schema),)

    @property
    def store_names(self) -> tuple[str, ...]:
        """The stores that Spark opens for each partition."""
        return tuple(store.name for store in self.state_stores)

    @property
    def num_cols_prefix_key(self) -> int:
        """How many of the key's columns state is scanned by; 0 where it is looked up by all."""
        return 0

    @property
    def operator_name(self) -> str:
        """The name in checkpoints and progress (`stateStoreSave`)."""
        raise NotImplementedError(type(self).__name__)

    def should_run_another_batch(self, new_watermark_ms: int) -> bool:
        """Whether a batch without data should run now that the watermark moved there."""
        return False

    def produce_output_watermark(self, input_watermark_ms: int) -> int | None:
        """The watermark of what the operator emits, for the stateful operator above it."""
        return input_watermark_ms

    def _watermark_moved(self, new_watermark_ms: int) -> bool:
        last = self.event_time_watermark_for_eviction
        return last is not None and new_watermark_ms > last


def state_columns(columns: Iterable[AttributeReference]) -> StructType:
    """Columns as a state schema has them: all of them nullable, in every part."""
    fields = (StructField(c.name, as_nullable(c.data_type), True) for c in columns)
    return StructType(tuple(fields))
