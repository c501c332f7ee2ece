"""Rows that move: shuffles, sorts, partitions put together, samples, ranges."""

from __future__ import annotations

from typing import Literal

from ..planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Expression,
    SortOrder,
    to_attribute,
)
from ..planner.model.frozen import dataclass
from ..planner.model.lazy import cached_property
from ..planner.model.plans.query_plan import GivesAttributes
from ..planner.model.text.fields_shown import cut
from ..planner.model.text.operator_text import arguments, bracketed, counted, listed
from ..planner.model.text.text import plan_text
from ..planner.model.tree import replace
from .distribution import (
    BroadcastMode,
    BroadcastPartitioning,
    Distribution,
    HashPartitioning,
    OrderedDistribution,
    Partitioning,
    RangePartitioning,
    SinglePartition,
    UnknownPartitioning,
    UnspecifiedDistribution,
)
from .plan import SparkPlan, UnaryExec

ShuffleOrigin = Literal[
    "ENSURE_REQUIREMENTS",
    "REQUIRED_BY_STATEFUL_OPERATOR",
    "REPARTITION_BY_NUM",
    "REPARTITION_BY_COL",
    "REBALANCE_PARTITIONS_BY_COL",
    "REBALANCE_PARTITIONS_BY_NONE",
]

NOT_NUMBERED = -1
"""The `plan_id` of an exchange that strategies make; the preparation numbers all."""


def partitioning_text(partitioning: Partitioning, max_fields: int) -> str:
    """The form in plans: `hashpartitioning(user#0, 5)`, `SinglePartition`."""
    match partitioning:
        case HashPartitioning(num_partitions=number, keys=keys):
            parts = [*map(plan_text, keys), str(number)]
            return f"hashpartitioning({cut(parts, max_fields)})"
        case RangePartitioning(num_partitions=number, order=order):
            parts = [*map(plan_text, order), str(number)]
            return f"rangepartitioning({cut(parts, max_fields)})"
        case SinglePartition():
            return "SinglePartition"
        case _:
            return f"{type(partitioning).__name__}({partitioning.num_partitions})"


@dataclass(frozen=True, kw_only=True)
class ShuffleExchangeExec(UnaryExec):
    """Moves rows to the partitions that `partitioning` says (`Exchange` in plans).

    `plan_id` counts a plan's exchanges, deepest first.
    """

    node_name = "Exchange"

    partitioning: Partitioning
    origin: ShuffleOrigin = "ENSURE_REQUIREMENTS"
    plan_id: int = 0

    def arguments(self, max_fields: int) -> str:
        where = partitioning_text(self.partitioning, max_fields)
        return f"{where}, {self.origin}, [plan_id={self.plan_id}]"

    @cached_property
    def output_partitioning(self) -> Partitioning:
        return self.partitioning


@dataclass(frozen=True, kw_only=True)
class BroadcastExchangeExec(UnaryExec):
    """Gives all rows to every task (`plan_id` as an exchange's)."""

    reads_several = False  # all of it is read before

    mode: BroadcastMode
    plan_id: int = 0

    def arguments(self, max_fields: int) -> str:
        return f"{self.mode.text}, [plan_id={self.plan_id}]"

    @cached_property
    def output_partitioning(self) -> Partitioning:
        return BroadcastPartitioning(mode=self.mode)


@dataclass(frozen=True, kw_only=True)
class ReusedExchangeExec(GivesAttributes, SparkPlan):
    """The rows of an exchange that stands elsewhere in the plan, under other column ids.

    `exchange` is no child: it is planned, lowered and run once, where it stands.
    """

    exchange: ShuffleExchangeExec | BroadcastExchangeExec
    attributes: tuple[AttributeReference, ...]

    def arguments(self, max_fields: int) -> str:
        shared = f"{self.exchange.node_name} {self.exchange.arguments(max_fields)}"
        return arguments(listed(self.attributes, max_fields), shared)

    def details(self, max_fields: int) -> tuple[tuple[str, str], ...]:
        return (counted("Output", self.output),)

    @cached_property
    def output_partitioning(self) -> Partitioning:
        mine = {a.expr_id: b for a, b in zip(self.exchange.output, self.attributes, strict=True)}
        given = self.exchange.output_partitioning
        if not isinstance(given, HashPartitioning):
            return given

        def here(node: Expression) -> Expression:
            return mine[node.expr_id] if isinstance(node, AttributeReference) else node

        keys = tuple(key.transform_up(here) for key in given.keys)
        return HashPartitioning(given.num_partitions, keys)


def expand_reused_exchanges(plan: SparkPlan) -> SparkPlan:
    """The plan with every reused exchange in full, under the column ids of its place.

    For a runtime that shares no shuffles between operators. The plan itself if there are none.
    """

    def expanded(node: SparkPlan) -> SparkPlan:
        if not isinstance(node, ReusedExchangeExec):
            return node
        pairs = zip(node.exchange.output, node.attributes, strict=True)
        ids = {old.expr_id: new.expr_id for old, new in pairs if old.expr_id != new.expr_id}
        return _with_ids(node.exchange, ids) if ids else node.exchange

    return plan.transform_up(expanded)


def _with_ids(plan: SparkPlan, ids: dict[int, int]) -> SparkPlan:
    def changed(expression: Expression) -> Expression:
        if isinstance(expression, AttributeReference | Alias) and expression.expr_id in ids:
            return replace(expression, expr_id=ids[expression.expr_id])
        return expression

    def over(node: SparkPlan) -> SparkPlan:
        node = node.transform_expressions(changed)
        if isinstance(node, ShuffleExchangeExec) and isinstance(
            node.partitioning, HashPartitioning
        ):
            given = node.partitioning
            keys = tuple(key.transform_up(changed) for key in given.keys)
            node = replace(node, partitioning=replace(given, keys=keys))
        return node

    return plan.transform_up(over)


@dataclass(frozen=True, kw_only=True)
class SortExec(UnaryExec):
    """Sorts each partition; `is_global` where the order holds over all of them."""

    expression_fields = ("order",)
    keeps_partitioning = True
    supports_codegen = True
    shown = ("order", "is_global", "test_spill_frequency")
    test_spill_frequency = 0

    order: tuple[SortOrder, ...]
    is_global: bool

    @cached_property
    def output_ordering(self) -> tuple[SortOrder, ...]:
        return self.order

    @cached_property
    def required_child_distribution(self) -> tuple[Distribution, ...]:
        wanted = OrderedDistribution(self.order) if self.is_global else UnspecifiedDistribution()
        return (wanted,)


@dataclass(frozen=True, kw_only=True)
class TakeOrderedAndProjectExec(UnaryExec):
    """The first rows in an order as the answer."""

    expression_fields = ("order", "project_list")

    in_brackets = True
    output_partitioning = SinglePartition()

    limit: int
    order: tuple[SortOrder, ...]
    project_list: tuple[Expression, ...]

    def arguments(self, max_fields: int) -> str:
        order = bracketed(self.order, max_fields, ",")
        output = bracketed(self.output, max_fields, ",")
        return f"limit={self.limit}, orderBy={order}, output={output}"

    def details(self, max_fields: int) -> tuple[tuple[str, str], ...]:
        order = bracketed(self.order, max_fields)
        output = bracketed(self.project_list, max_fields)
        text = arguments(str(self.limit), order, output)
        return counted("Input", self.child.output), ("Arguments", text)

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return tuple(to_attribute(e) for e in self.project_list)

    @cached_property
    def output_ordering(self) -> tuple[SortOrder, ...]:
        return self.order


_DEFAULT_SLICES = 1  # one core, as where nothing says otherwise


@dataclass(frozen=True, kw_only=True)
class RangeExec(GivesAttributes, SparkPlan):
    """Whole numbers from `start` to before `end`; `slices` None: as many as there are cores."""

    expression_fields = ("attributes",)
    supports_codegen = True

    start: int
    end: int
    step: int
    slices: int | None
    attributes: tuple[AttributeReference, ...]

    def arguments(self, max_fields: int) -> str:
        splits = _DEFAULT_SLICES if self.slices is None else self.slices
        return f"({self.start}, {self.end}, step={self.step}, splits={splits})"

    def details(self, max_fields: int) -> tuple[tuple[str, str], ...]:
        splits = "None" if self.slices is None else f"Some({self.slices})"
        text = f"Range ({self.start}, {self.end}, step={self.step}, splits={splits})"
        return counted("Output", self.output), ("Arguments", text)


@dataclass(frozen=True, kw_only=True)
class CoalesceExec(UnaryExec):
    """Partitions put together until there are so many at most."""

    shown = ("num_partitions",)

    num_partitions: int

    @cached_property
    def output_partitioning(self) -> Partitioning:
        one = self.num_partitions == 1
        return SinglePartition() if one else UnknownPartitioning(self.num_partitions)


@dataclass(frozen=True, kw_only=True)
class SampleExec(UnaryExec):
    """A random part of the rows."""

    keeps_partitioning = True
    shown = ("lower", "upper", "with_replacement", "seed")

    lower: float
    upper: float
    with_replacement: bool
    seed: int | None

    @property
    def supports_codegen(self) -> bool:
        return not self.with_replacement
