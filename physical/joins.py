"""Joins without state: of a stream with a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Literal

from ..planner.model.expressions.bound import bind
from ..planner.model.expressions.core import (
    AttributeReference,
    Cast,
    Expression,
    SortOrder,
    ascending,
)
from ..planner.model.expressions.literal import lit
from ..planner.model.frozen import dataclass
from ..planner.model.functions.build import call, long
from ..planner.model.plans.join_types import JoinType, join_output
from ..planner.model.schemas.types import (
    LONG,
    ByteType,
    DataType,
    IntegerType,
    IntegralType,
    LongType,
    ShortType,
)
from ..planner.model.text.operator_text import counted
from ..planner.model.text.text import plan_text
from .distribution import (
    BroadcastDistribution,
    BroadcastMode,
    ClusteredDistribution,
    Distribution,
    HashedRelationBroadcastMode,
    IdentityBroadcastMode,
    Partitioning,
    UnknownPartitioning,
    UnspecifiedDistribution,
    join_partitioning,
)
from .plan import SparkPlan

BuildSide = Literal["BuildLeft", "BuildRight"]

_BITS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}


@dataclass(frozen=True, kw_only=True)
class BaseJoinExec(SparkPlan):
    """Two inputs, what they are joined on, and how rows without a match are treated."""

    child_fields: ClassVar[tuple[str, ...]] = ("left", "right")
    expression_fields: ClassVar[tuple[str, ...]] = ("condition",)

    left: SparkPlan
    right: SparkPlan
    join_type: JoinType
    condition: Expression | None = None
    mark: AttributeReference | None = None

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return join_output(self.join_type, self.left.output, self.right.output, self.mark)

    @property
    def kind(self) -> str:
        """The type of join as plans show it, with the column of an existence join."""
        if self.mark is None:
            return self.join_type
        return f"{self.join_type}({plan_text(self.mark)})"

    @property
    def outlined(self) -> str:
        """The name with the kind and the side that is put in a table: `SortMergeJoin Inner`."""
        side = getattr(self, "build_side", None)
        return " ".join(part for part in (self.node_name, self.kind, side) if part)

    def details(self, max_fields: int) -> tuple[tuple[str, str], ...]:
        condition = "None" if self.condition is None else plan_text(self.condition)
        return ("Join type", self.kind), ("Join condition", condition)

    @property
    def supports_codegen(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class EquiJoinExec(BaseJoinExec):
    """A join by keys; `condition` is what a match fulfils besides."""

    expression_fields = ("left_keys", "right_keys", "condition")

    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]

    def details(self, max_fields: int) -> tuple[tuple[str, str], ...]:
        keys = counted("Left keys", self.left_keys), counted("Right keys", self.right_keys)
        return *keys, *super().details(max_fields)


@dataclass(frozen=True, kw_only=True)
class BroadcastJoinExec(BaseJoinExec):
    """Every task has all rows of one side, and reads its rows of the other one by one."""

    build_side: BuildSide

    @property
    def streamed(self) -> SparkPlan:
        """The side whose rows are read one by one."""
        return self.right if self.build_side == "BuildLeft" else self.left

    @property
    def mode(self) -> BroadcastMode:
        """The form in which every task has the other side's rows."""
        return IdentityBroadcastMode()

    @cached_property
    def required_child_distribution(self) -> tuple[Distribution, ...]:
        table, other = BroadcastDistribution(self.mode), UnspecifiedDistribution()
        return (table, other) if self.build_side == "BuildLeft" else (other, table)

    @cached_property
    def output_partitioning(self) -> Partitioning:
        return self.streamed.output_partitioning


@dataclass(frozen=True, kw_only=True)
class BroadcastHashJoinExec(BroadcastJoinExec, EquiJoinExec):
    """Looks the rows of one side up in a hash table of the other that every task has.

    `null_aware` is NOT IN: a null among the table's keys means that nothing is known.
    """

    shown = (
        "left_keys",
        "right_keys",
        "kind",
        "build_side",
        "condition",
        "null_aware",
        "is_skew_join",
    )
    is_skew_join = False

    null_aware: bool = False

    @property
    def mode(self) -> BroadcastMode:
        left = self.build_side == "BuildLeft"
        keys, built = (self.left_keys, self.left) if left else (self.right_keys, self.right)
        bound = tuple(bind(key, built.output) for key in packed_keys(keys))
        return HashedRelationBroadcastMode(bound, self.null_aware)

    @cached_property
    def output_ordering(self) -> tuple[SortOrder, ...]:
        return self.streamed.output_ordering


def packed_keys(keys: Sequence[Expression]) -> tuple[Expression, ...]:
    """Whole-number keys of at most 8 bytes together as one bigint; others as they are."""
    sizes = [_BITS.get(type(key.data_type), 0) for key in keys]
    if not all(isinstance(key.data_type, IntegralType) for key in keys) or sum(sizes) > 64:
        return tuple(keys)
    packed = keys[0] if isinstance(keys[0].data_type, LongType) else Cast(child=keys[0], type_=LONG)
    for key, bits in zip(keys[1:], sizes[1:], strict=True):
        own = call("&", Cast(child=key, type_=LONG), long((1 << bits) - 1))
        packed = call("|", call("shiftleft", packed, lit(bits)), own)
    return (packed,)


@dataclass(frozen=True, kw_only=True)
class ShuffledJoinExec(EquiJoinExec):
    """Both sides' rows with equal keys in one task."""

    @cached_property
    def reads_several(self) -> bool:
        return self.supports_codegen or super().reads_several

    @cached_property
    def required_child_distribution(self) -> tuple[Distribution, ...]:
        return ClusteredDistribution(self.left_keys), ClusteredDistribution(self.right_keys)

    @cached_property
    def output_partitioning(self) -> Partitioning:
        left, right = self.left.output_partitioning, self.right.output_partitioning
        return join_partitioning(self.join_type, left, right)


@dataclass(frozen=True, kw_only=True)
class SortMergeJoinExec(ShuffledJoinExec):
    """Both sides sorted by the keys, read in step. Each side is a codegen stage of its own."""

    shown = ("left_keys", "right_keys", "kind", "condition")

    @cached_property
    def required_child_ordering(self) -> tuple[tuple[SortOrder, ...], ...]:
        return ascending(self.left_keys), ascending(self.right_keys)

    @cached_property
    def output_ordering(self) -> tuple[SortOrder, ...]:
        match self.join_type:
            case "RightOuter":
                return ascending(self.right_keys)
            case "FullOuter":
                return ()
            case "Inner" | "Cross":
                pairs = zip(self.left_keys, self.right_keys, strict=True)
                return tuple(SortOrder(child=left, same=(right,)) for left, right in pairs)
            case _:
                return ascending(self.left_keys)


@dataclass(frozen=True, kw_only=True)
class ShuffledHashJoinExec(ShuffledJoinExec):
    """A hash table of one side in each task. Each side is a codegen stage of its own."""

    shown = ("left_keys", "right_keys", "kind", "build_side", "condition")

    build_side: BuildSide


@dataclass(frozen=True, kw_only=True)
class BroadcastNestedLoopJoinExec(BroadcastJoinExec):
    """Each row of one side beside every row of the other, which every task has."""

    shown = ("build_side", "kind", "condition")

    @cached_property
    def output_partitioning(self) -> Partitioning:
        if self.join_type == "FullOuter":
            return UnknownPartitioning()
        return super().output_partitioning

    @property
    def supports_codegen(self) -> bool:
        """Only where the preserved side is the one that is read row by row."""
        match self.join_type, self.build_side:
            case ("Inner" | "Cross", _) | ("RightOuter", "BuildLeft"):
                return True
            case ("LeftOuter" | "LeftSingle" | "LeftSemi" | "LeftAnti", "BuildRight"):
                return True
            case _:
                return False


@dataclass(frozen=True, kw_only=True)
class CartesianProductExec(BaseJoinExec):
    """Each row of one side beside every row of the other, partition by partition."""

    kind = "Inner"  # whatever the query calls it
    supports_codegen = False
    shown = ("condition",)
