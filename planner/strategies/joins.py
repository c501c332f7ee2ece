"""Strategies for joins: of two streams, and of a stream with a table."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from typing import Literal as Choice

from ...physical.joins import (
    BroadcastHashJoinExec,
    BroadcastNestedLoopJoinExec,
    BuildSide,
    CartesianProductExec,
    ShuffledHashJoinExec,
    SortMergeJoinExec,
)
from ...physical.plan import SparkPlan
from ...physical.streaming_join import StreamingSymmetricHashJoinExec
from ...rules.common.trees import equated
from ..model.errors import PlanningError
from ..model.expressions.core import Call, Expression, Literal
from ..model.expressions.equality import canonical
from ..model.expressions.predicates import conjunction_or_none, split_conjuncts
from ..model.frozen import dataclass
from ..model.functions.build import call
from ..model.plans.join_types import INNER_JOINS, OUTER_JOINS, JoinType
from ..model.plans.logical import Join
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.statistics import size_in_bytes
from ..model.schemas.types import (
    AnsiIntervalType,
    BinaryType,
    BooleanType,
    DataType,
    DatetimeType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    StringType,
    StructType,
    as_nullable,
    is_orderable,
)
from ..model.text.logical_text import tree_text
from ..model.text.text import plan_text
from .base import PlanLater, Planned, planned_as, where_from
from .floats import normalize_float_values

_BROADCAST = "spark.sql.autoBroadcastJoinThreshold"
_NULL_AWARE = "spark.sql.optimizeNullAwareAntiJoin"
_STATE_FORMAT = "spark.sql.streaming.join.stateFormatVersion"
_LEFT_BUILT = ("Inner", "Cross", "RightOuter")
_RIGHT_BUILT = (
    *("Inner", "Cross", "LeftOuter", "LeftSingle", "LeftSemi", "LeftAnti", "ExistenceJoin"),
)
_STREAMING = ("Inner", "LeftOuter", "RightOuter", "FullOuter", "LeftSemi")

_Side = Choice["left", "right"]


@dataclass(frozen=True)
class EquiJoin:
    """A join's equal keys, in step, and what remains of its condition."""

    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    condition: Expression | None


def equi_join(join: Join) -> EquiJoin | None:
    """The parts of a condition that set the sides equal as keys; None if there are none.

    `l <=> r` gives two pairs: the values with a default for null, and whether they are null.
    Floats are compared in one form of NaN and of zero.
    """
    keys: list[tuple[Expression, Expression]] = []
    others: list[Expression] = []
    for part in split_conjuncts(join.condition):
        pair = equated(part, join)
        if pair is None:
            others.append(part)
        elif isinstance(part, Call) and part.name == "<=>":
            keys.extend(_null_safe(*pair))
        else:
            keys.append(pair)
    if not keys:
        return None
    left, right = (
        tuple(normalize_float_values(k) for k in side) for side in zip(*keys, strict=True)
    )
    return EquiJoin(left, right, conjunction_or_none(others))


def _null_safe(left: Expression, right: Expression) -> Iterator[tuple[Expression, Expression]]:
    default = Literal(value=_default(left.data_type), type_=left.data_type)
    yield call("coalesce", left, default), call("coalesce", right, default)
    yield call("isnull", left), call("isnull", right)


def _default(data_type: DataType) -> object:
    """The value that stands for null among a type's keys."""
    match data_type:
        case BooleanType():
            return False
        case StringType():
            return ""
        case FloatType() | DoubleType():
            return 0.0
        case IntegralType() | DatetimeType() | AnsiIntervalType():
            return 0
        case DecimalType():
            return Decimal(0)
        case BinaryType():
            return b""
        case StructType(fields=fields):
            return tuple(_default(field.data_type) for field in fields)
        case _:
            return ()


# ---------------------------------------------------------------------------------- strategies


def _compare(left: Expression, right: Expression) -> bool:
    """Whether the types are equal but for nullability and the case of fields' names."""
    return left.data_type == right.data_type or (
        as_nullable(left.data_type).sql.lower() == as_nullable(right.data_type).sql.lower()
    )


def streaming_join(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """Join of two streams: StreamingSymmetricHashJoin.

    Raises:
        PlanningError: the sides have no equal keys, or not in this type, format or output mode.
    """
    if not (isinstance(logical, Join) and logical.left.is_streaming and logical.right.is_streaming):
        return None
    keys = equi_join(logical)
    if keys is None:
        raise PlanningError.of("_LEGACY_ERROR_TEMP_1181", tree=tree_text(logical))
    version = plan_later.conf.integer(_STATE_FORMAT)
    _check_streaming_join(logical, keys, version, plan_later.output_mode)
    return planned_as(
        StreamingSymmetricHashJoinExec,
        logical,
        plan_later,
        left_keys=keys.left_keys,
        right_keys=keys.right_keys,
        condition=keys.condition,
        state_format_version=version,
        origin=where_from(logical),
    )


def _check_streaming_join(join: Join, keys: EquiJoin, version: int, output_mode: str) -> None:
    """Refuse what Spark's operator asserts of itself: errors without a condition."""
    if version < 2 and join.join_type != "Inner":
        raise PlanningError(
            None,
            f"The query is using stream-stream {join.join_type} join with state format"
            f" version {version} - correctness issue is discovered. Please discard the"
            " checkpoint and rerun the query. See SPARK-26154 for more details.",
            hint=f"Leave {_STATE_FORMAT} at 2 or later.",
        )
    if join.join_type not in _STREAMING:
        kind: str = join.join_type
        if join.mark is not None:
            kind = f"{kind}({plan_text(join.mark)})"
        raise PlanningError(
            None,
            f"requirement failed: StreamingSymmetricHashJoinExec should not take {kind} as"
            " the JoinType",
            hint="Write JOIN instead of CROSS JOIN, and joins instead of subqueries.",
        )
    if output_mode == "update" and join.join_type in OUTER_JOINS:
        # The query's own outer joins were refused before: this is one made of a subquery.
        raise PlanningError(
            None,
            "requirement failed: Update output mode is not supported for stream-stream"
            f" {join.join_type} join",
            hint="Use the output mode append.",
        )
    if not all(map(_compare, keys.left_keys, keys.right_keys)):
        raise PlanningError(
            None,
            "requirement failed: Join keys from two sides should have same length and types",
            hint="Give the fields of the structs on both sides the same names.",
        )


def join_selection(logical: LogicalPlan, plan_later: PlanLater) -> SparkPlan | None:
    """Joins without state in Spark's order: what hints ask for, then by the sides' sizes."""
    if not isinstance(logical, Join):
        return None
    choice = _Selection(logical, plan_later)
    keys = equi_join(logical)
    if keys is not None:
        return choice.by_keys(keys)
    unknowing = _null_aware_keys(logical) if plan_later.conf.flag(_NULL_AWARE) else None
    return choice.nested_loops() if unknowing is None else choice.null_aware(unknowing)


def _null_aware_keys(join: Join) -> EquiJoin | None:
    """The one key of NOT IN: an anti join on `l = r OR isnull(l = r)`."""
    match join.join_type, join.condition:
        case (
            "LeftAnti",
            Call(name="or", arguments=(equal, Call(name="isnull", arguments=(other,)))),
        ) if canonical(equal) == canonical(other):
            pair = equated(equal, join)
            if pair is None:
                return None
            left, right = map(normalize_float_values, pair)
            return EquiJoin((left,), (right,), None)
        case _:
            return None


class _Selection:
    """One join and the ways there are to run it."""

    def __init__(self, join: Join, plan_later: PlanLater) -> None:
        self.join = join
        self.plan_later = plan_later
        self.kind: JoinType = join.join_type
        self.limit = plan_later.conf.size(_BROADCAST)

    def by_keys(self, keys: EquiJoin) -> SparkPlan:
        """A join with equal keys."""
        built = self._hinted("BROADCAST")
        if built is not None:
            return self._keyed(BroadcastHashJoinExec, keys, build_side=built)
        # A merge does not see whether there is a single match.
        single = self.kind == "LeftSingle"
        sortable = not single and all(is_orderable(k.data_type) for k in keys.left_keys)
        if "MERGE" in self.join.hint and sortable:
            return self._keyed(SortMergeJoinExec, keys)
        built = self._hinted("SHUFFLE_HASH")
        if built is not None:
            return self._keyed(ShuffledHashJoinExec, keys, build_side=built)
        if "SHUFFLE_REPLICATE_NL" in self.join.hint and self._inner:
            return self._product()
        built = self._small()
        if built is not None:
            return self._keyed(BroadcastHashJoinExec, keys, build_side=built)
        if sortable:
            return self._keyed(SortMergeJoinExec, keys)
        return self._product() if self._inner else self._loops(self._desired())

    def nested_loops(self) -> SparkPlan:
        """A join without equal keys."""
        hinted = self._either(*(h == "BROADCAST" for h in self.join.hint))
        if hinted is not None:
            return self._loops(hinted)
        if "SHUFFLE_REPLICATE_NL" in self.join.hint and self._inner:
            return self._product()
        small = self._either(*(self._is_small(side) for side in ("left", "right")))
        if small is not None:
            return self._loops(small)
        return self._product() if self._inner else self._loops(self._desired())

    # ------------------------------------------------------------------------------- which side

    @property
    def _inner(self) -> bool:
        return self.kind in INNER_JOINS

    def _size(self, side: _Side) -> int:
        return size_in_bytes(self.join.left if side == "left" else self.join.right)

    def _is_small(self, side: _Side) -> bool:
        return 0 <= self._size(side) <= self.limit

    def _smaller(self) -> BuildSide:
        return "BuildRight" if self._size("right") <= self._size("left") else "BuildLeft"

    def _build(self, left: bool, right: bool) -> BuildSide | None:
        """The side that may be built and is asked for; of two the smaller."""
        left, right = left and self.kind in _LEFT_BUILT, right and self.kind in _RIGHT_BUILT
        if left and right:
            return self._smaller()
        return "BuildLeft" if left else "BuildRight" if right else None

    def _hinted(self, name: str) -> BuildSide | None:
        left, right = self.join.hint
        return self._build(left == name, right == name)

    def _small(self) -> BuildSide | None:
        return self._build(self._is_small("left"), self._is_small("right"))

    def _desired(self) -> BuildSide:
        """Which side nested loops would rather have in every task."""
        if self._inner or self.kind == "FullOuter":
            return self._smaller()
        return "BuildRight" if self.kind in _RIGHT_BUILT else "BuildLeft"

    def _either(self, left: bool, right: bool) -> BuildSide | None:
        if left and right:
            return self._desired()
        return "BuildLeft" if left else "BuildRight" if right else None

    # -------------------------------------------------------------------------------- operators

    def _keyed(self, kind: type[Planned], keys: EquiJoin, **more: Any) -> Planned:
        """A join with equal keys."""
        left, right = keys.left_keys, keys.right_keys
        more |= {"left_keys": left, "right_keys": right, "condition": keys.condition}
        return planned_as(kind, self.join, self.plan_later, **more)

    def null_aware(self, keys: EquiJoin) -> SparkPlan:
        """NOT IN over one column: whatever the table's size, every task gets it."""
        built: BuildSide = "BuildRight"
        return self._keyed(BroadcastHashJoinExec, keys, build_side=built, null_aware=True)

    def _product(self) -> SparkPlan:
        return planned_as(CartesianProductExec, self.join, self.plan_later)

    def _loops(self, built: BuildSide) -> SparkPlan:
        kind = BroadcastNestedLoopJoinExec
        return planned_as(kind, self.join, self.plan_later, build_side=built)
