"""The join of two streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..planner.model.expressions.bound import BoundReference
from ..planner.model.expressions.core import (
    AttributeReference,
    Call,
    Expression,
    GetStructField,
    Literal,
)
from ..planner.model.expressions.predicates import conjunction_or_none, parted, split_conjuncts
from ..planner.model.frozen import dataclass
from ..planner.model.lazy import cached_property
from ..planner.model.plans.join_types import JoinType, join_output
from ..planner.model.schemas.types import BOOLEAN, LONG, StructField, StructType
from ..planner.model.text.text import plan_text
from .distribution import (
    Distribution,
    Partitioning,
    StatefulOpClusteredDistribution,
    join_partitioning,
)
from .join_state import event_time, event_time_key, value_watermark, wrapped
from .plan import WATERMARKS, SparkPlan, StateStoreWriter, state_columns
from .state import StateStoreSchema


@dataclass(frozen=True)
class ConditionParts:
    """What two streams are joined on besides equal keys, by the sides that it needs."""

    left_only: Expression | None
    right_only: Expression | None
    both: Expression | None
    full: Expression | None

    @property
    def text(self) -> str:
        """The form in plans."""
        parts = (self.left_only, self.right_only, self.both, self.full)
        left, right, both, full = ("null" if p is None else plan_text(p) for p in parts)
        return (
            f"condition = [ leftOnly = {left}, rightOnly = {right}, both = {both}, full = {full} ]"
        )


def split_condition(
    condition: Expression | None, left: frozenset[int], right: frozenset[int]
) -> ConditionParts:
    """A condition by sides; what is not deterministic needs both.

    Args:
        condition: the whole condition.
        left, right: the ids of the sides' columns.
    """
    if condition is None:
        return ConditionParts(None, None, None, None)
    parts = split_conjuncts(condition)
    steady, varying = parted(parts, lambda e: e.deterministic)
    rest = [p for p in steady if not (p.references <= left or p.references <= right)]
    return ConditionParts(
        conjunction_or_none([p for p in steady if p.references <= left]),
        conjunction_or_none([p for p in steady if p.references <= right]),
        conjunction_or_none([*rest, *varying]),
        condition,
    )


@dataclass(frozen=True, kw_only=True)
class StreamingSymmetricHashJoinExec(StateStoreWriter):
    """Joins each side's new rows with all rows of the other side that are still kept.

    Attributes:
        left_keys, right_keys: the expressions that are equal in a match, in step.
        condition: what else a match fulfils.
        state_format_version: 2, or 3 with one store for both sides.
    """

    child_fields = ("left", "right")
    expression_fields = ("left_keys", "right_keys", "condition")
    operator_name = "symmetricHashJoin"
    shown = (
        "left_keys",
        "right_keys",
        "join_type",
        "parts",
        "state_info",
        *WATERMARKS,
        "cleanup_text",
        "state_format_version",
        "mode_text",
    )

    left: SparkPlan
    right: SparkPlan
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    join_type: JoinType
    condition: Expression | None
    state_format_version: int

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return join_output(self.join_type, self.left.output, self.right.output)

    @cached_property
    def parts(self) -> ConditionParts:
        """The condition by sides."""
        return split_condition(self.condition, self.left.output_ids, self.right.output_ids)

    @cached_property
    def required_child_distribution(self) -> tuple[Distribution, ...]:
        return (
            StatefulOpClusteredDistribution(self.left_keys, self.num_stores),
            StatefulOpClusteredDistribution(self.right_keys, self.num_stores),
        )

    @cached_property
    def output_partitioning(self) -> Partitioning:
        left, right = self.left.output_partitioning, self.right.output_partitioning
        return join_partitioning(self.join_type, left, right)

    @property
    def padded_sides(self) -> tuple[str, ...]:
        """The sides whose rows come out, with nulls for the other side's, if they match none."""
        return _PADDED_SIDES.get(self.join_type, ())

    # ----------------------------------------------------------------------------------- state

    def state_watermarks(self, watermark_ms: int) -> tuple[int | None, int | None]:
        """Up to which event time each side's rows can go, milliseconds; None: they stay.

        Args:
            watermark_ms: the operator's watermark.
        """
        if self.event_time_key is not None:
            return watermark_ms, watermark_ms
        left, right = self.left.output, self.right.output
        return (
            self._value_watermark(left, right, watermark_ms),
            self._value_watermark(right, left, watermark_ms),
        )

    def _value_watermark(
        self,
        kept: tuple[AttributeReference, ...],
        other: tuple[AttributeReference, ...],
        watermark_ms: int,
    ) -> int | None:
        if event_time(kept) is None:
            return None
        return value_watermark(kept, other, self.condition, watermark_ms)

    @property
    def cleanup_text(self) -> str:
        """The predicates by which each side's rows go, in the form of plans."""
        watermark = self.event_time_watermark_for_eviction
        limits = (None, None) if watermark is None else self.state_watermarks(watermark)
        place = self.event_time_key
        left = _predicate_text(self.left_keys, place, self.left.output, limits[0])
        right = _predicate_text(self.right_keys, place, self.right.output, limits[1])
        return f"state cleanup [ left {left}, right {right} ]"

    @property
    def event_time_key(self) -> int | None:
        """The place of the key that is an event time, if one is."""
        return event_time_key(self.left_keys, self.right_keys)

    @property
    def state_stores(self) -> tuple[StateStoreSchema, ...]:
        """Two a side: how many rows a key has, and the rows by key and number.

        In state format 3 they are column families of one store.
        """
        sides = (("left", self.left_keys, self.left), ("right", self.right_keys, self.right))
        found: list[StateStoreSchema] = []
        for name, keys, side in sides:
            key = StructType(
                tuple(StructField(f"field{i}", k.data_type) for i, k in enumerate(keys))
            )
            number = StructType((*key.fields, StructField("index", LONG)))
            rows = (*state_columns(side.output).fields, StructField("matched", BOOLEAN))
            count = StructType((StructField("value", LONG),))
            found.append(StateStoreSchema(f"{name}-keyToNumValues", key, count))
            found.append(StateStoreSchema(f"{name}-keyWithIndexToValue", number, StructType(rows)))
        return tuple(found)

    @property
    def store_names(self) -> tuple[str, ...]:
        return ("default",) if self.state_format_version > 2 else super().store_names

    @property
    def state_key_schema(self) -> StructType:
        """That of the left side's rows: the keys as `field0` and on, and the row's number."""
        return self.state_stores[1].key

    @property
    def state_value_schema(self) -> StructType:
        """That of the left side's rows: its columns, and whether a row has had a match."""
        return self.state_stores[1].value

    def should_run_another_batch(self, new_watermark_ms: int) -> bool:
        last = self.event_time_watermark_for_eviction
        evicts = any(w is not None for w in self.state_watermarks(last or 0))
        return evicts and self._watermark_moved(new_watermark_ms)

    def produce_output_watermark(self, input_watermark_ms: int) -> int | None:
        """The lesser of the sides' state watermarks; none if no side's rows ever go."""
        limits = [w for w in self.state_watermarks(input_watermark_ms) if w is not None]
        return min(limits, default=None)


_PADDED_SIDES: Mapping[JoinType, tuple[str, ...]] = {
    "LeftOuter": ("left",),
    "RightOuter": ("right",),
    "FullOuter": ("left", "right"),
}


def _predicate_text(
    keys: Sequence[Expression],
    place: int | None,
    columns: tuple[AttributeReference, ...],
    watermark_ms: int | None,
) -> str:
    if watermark_ms is None:
        return "= null"
    if place is None:
        column = event_time(columns)
        assert column is not None
        return f"value predicate: {_passed_text(column, watermark_ms)}"
    key = keys[place]
    # Analysis gives a window no other nullability than that of any column: it may be null.
    nullable = key.nullable or isinstance(key.data_type, StructType)
    bound = BoundReference(ordinal=place, type_=key.data_type, is_nullable=nullable)
    return f"key predicate: {_passed_text(bound, watermark_ms)}"


def _passed_text(time: Expression, watermark_ms: int) -> str:
    """`time <= watermark` in microseconds, of a window by its end."""
    if isinstance(time.data_type, StructType):
        time = GetStructField(child=time, ordinal=1, name=time.data_type.fields[1].name)
    limit = Literal(value=wrapped(watermark_ms * 1000), type_=LONG)
    return plan_text(Call(name="<=", arguments=(time, limit)))
