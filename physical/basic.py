"""Stateless operators."""

from __future__ import annotations

from typing import ClassVar

from ..planner.model.expressions.core import (
    AttributeReference,
    Call,
    Cast,
    Expression,
    GetStructField,
    Literal,
    SortOrder,
    to_attribute,
)
from ..planner.model.expressions.equality import canonical
from ..planner.model.expressions.predicates import split_conjuncts
from ..planner.model.frozen import dataclass
from ..planner.model.lazy import cached_property
from ..planner.model.plans.query_plan import GivesAttributes
from ..planner.model.text.fields_shown import cut
from ..planner.model.text.operator_text import arguments, bracketed, counted, listed
from ..planner.model.text.text import plan_text
from .distribution import (
    AllTuples,
    HashPartitioning,
    Partitioning,
    SinglePartition,
    UnknownPartitioning,
    project_ordering,
    project_partitioning,
)
from .plan import SparkPlan, UnaryExec


@dataclass(frozen=True, kw_only=True)
class StreamingRelationExec(GivesAttributes, SparkPlan):
    """A stream's rows of one batch.

    `name` is the source's name in the description, `format` what plans show (`FileSource[events]`),
    `identifier` the full name of a table of the catalog. `shows_metadata`: whether the last column
    is the hidden one of files.
    """

    expression_fields = ("attributes",)
    shown = ("format", "attributes", "identifier")

    name: str
    format: str
    attributes: tuple[AttributeReference, ...]
    identifier: str = ""
    shows_metadata: bool = False


@dataclass(frozen=True, kw_only=True)
class LocalTableScanExec(GivesAttributes, SparkPlan):
    """Rows that are part of the plan."""

    expression_fields = ("attributes",)
    supports_codegen = True

    attributes: tuple[AttributeReference, ...]
    rows: tuple[tuple[Literal, ...], ...] = ()

    def arguments(self, max_fields: int) -> str:
        empty = None if self.rows else "<empty>"
        return arguments(empty, listed(self.attributes, max_fields))


@dataclass(frozen=True, kw_only=True)
class RDDScanExec(SparkPlan):
    """The single empty row that a SELECT without FROM reads (`Scan OneRowRelation`)."""

    supports_codegen = True
    node_name = "Scan OneRowRelation[]"
    output = ()


@dataclass(frozen=True, kw_only=True)
class ProjectExec(UnaryExec):
    """Computes columns."""

    expression_fields = ("project_list",)
    supports_codegen = True
    shown = ("project_list",)

    project_list: tuple[Expression, ...]

    def details(self, max_fields: int) -> tuple[tuple[str, str], ...]:
        return counted("Output", self.project_list), counted("Input", self.child.output)

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return tuple(to_attribute(e) for e in self.project_list)

    @cached_property
    def output_partitioning(self) -> Partitioning:
        return project_partitioning(self.child.output_partitioning, self.project_list)

    @cached_property
    def output_ordering(self) -> tuple[SortOrder, ...]:
        return project_ordering(self.child.output_ordering, self.project_list)


def never_null(condition: Expression, columns: frozenset[int]) -> frozenset[int]:
    """The columns that an IS NOT NULL among a condition's parts asks for, directly or within."""
    known: set[int] = set()
    for part in split_conjuncts(condition):
        match part:
            case Call(name="isnotnull", arguments=(child,)) if (
                child.references <= columns and _null_intolerant(child)
            ):
                known |= child.references
    return frozenset(known)


def _null_intolerant(expression: Expression) -> bool:
    """Whether a null anywhere in the expression makes it null."""
    match expression:
        case Call() if not expression.spec.null_intolerant:
            return False
        case Call() | Cast() | GetStructField():
            return all(map(_null_intolerant, expression.children))
        case AttributeReference() | Literal():
            return True
        case _:
            return False


@dataclass(frozen=True, kw_only=True)
class FilterExec(UnaryExec):
    """Keeps the rows for which the condition is true."""

    expression_fields = ("condition",)
    keeps_partitioning = True
    keeps_ordering = True
    supports_codegen = True
    shown = ("condition",)

    condition: Expression

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        """What IS NOT NULL asks for is not null in the rows that are kept."""
        known = never_null(self.condition, self.child.output_ids)
        return tuple(
            a.with_nullability(False) if a.expr_id in known and a.nullable else a
            for a in self.child.output
        )

    def details(self, max_fields: int) -> tuple[tuple[str, str], ...]:
        condition = ("Condition ", plan_text(self.condition))
        return counted("Input", self.child.output), condition


@dataclass(frozen=True, kw_only=True)
class ExpandExec(GivesAttributes, UnaryExec):
    """Each row several times, once per projection."""

    expression_fields = ("projections", "attributes")
    supports_codegen = True

    projections: tuple[tuple[Expression, ...], ...]
    attributes: tuple[AttributeReference, ...]

    def arguments(self, max_fields: int) -> str:
        lists = [bracketed(p, max_fields) for p in self.projections]
        return arguments(f"[{cut(lists, max_fields)}]", listed(self.attributes, max_fields))


@dataclass(frozen=True, kw_only=True)
class GenerateExec(UnaryExec):
    """explode and the like beside the required columns of the child."""

    expression_fields = ("generator", "required", "generated")
    keeps_partitioning = True
    shown = ("generator", "required", "outer", "generated")

    generator: Expression
    required: tuple[AttributeReference, ...]
    outer: bool
    generated: tuple[AttributeReference, ...]

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.required + self.generated

    @property
    def supports_codegen(self) -> bool:
        generator = self.generator
        return not isinstance(generator, Call) or generator.spec.codegen


@dataclass(frozen=True, kw_only=True)
class UnionExec(SparkPlan):
    """The rows of all inputs; `may_generate` is whether a setting lets it generate code."""

    child_fields = ("inputs",)

    inputs: tuple[SparkPlan, ...]
    attributes: tuple[AttributeReference, ...]
    may_generate: bool = True

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        """A column is never null where it is in no input; filters may have seen to that."""
        outputs = [plan.output for plan in self.inputs]
        return tuple(
            a.with_nullability(any(output[i].nullable for output in outputs))
            for i, a in enumerate(self.attributes)
        )

    @cached_property
    def output_partitioning(self) -> Partitioning:
        """The inputs' own, where all of them lie alike by the same columns in position."""
        if all(isinstance(plan.output_partitioning, SinglePartition) for plan in self.inputs):
            return SinglePartition()
        first, *rest = (self._by_position(plan) for plan in self.inputs)
        if first is None or any(other != first for other in rest):
            return UnknownPartitioning()
        number, positions = first
        return HashPartitioning(number, tuple(self.attributes[i] for i in positions))

    @staticmethod
    def _by_position(plan: SparkPlan) -> tuple[int, tuple[int, ...]] | None:
        given = plan.output_partitioning
        if not isinstance(given, HashPartitioning):
            return None
        places = [
            i for k in given.keys for i, a in enumerate(plan.output) if canonical(k) == canonical(a)
        ]
        return (given.num_partitions, tuple(places)) if len(places) == len(given.keys) else None

    @property
    def supports_codegen(self) -> bool:
        """Not where the inputs are united partition by partition, nor where a type differs.

        Types differ in names of fields, or in whether a part can be null. Nor where code anywhere
        below reads several inputs itself: a shuffled join's or another union's; nor where anything
        below, whatever is between, begins anew with each partition.
        """
        if not self.may_generate or any(
            plan.reads_several or plan.begins_with_partition for plan in self.inputs
        ):
            return False
        first, *rest = ([a.type_ for a in plan.output] for plan in self.inputs)
        alike = all(types == first for types in rest)
        return alike and isinstance(self.output_partitioning, UnknownPartitioning)

    @cached_property
    def reads_several(self) -> bool:
        return self.supports_codegen or super().reads_several


@dataclass(frozen=True, kw_only=True)
class EventTimeWatermarkExec(GivesAttributes, UnaryExec):
    """Observes the latest event time; marks the column in its output.

    `delay` is (months, days, microseconds); `delay_text` as plans show it.
    """

    expression_fields = ("event_time", "attributes")
    shown = ("node_id", "event_time", "delay_text")

    event_time: AttributeReference
    delay: tuple[int, int, int]
    delay_text: str
    delay_ms: int
    node_id: str
    attributes: tuple[AttributeReference, ...]


@dataclass(frozen=True, kw_only=True)
class LimitExec(UnaryExec):
    """At most so many rows."""

    keeps_partitioning = True
    keeps_ordering = True
    shown: ClassVar[tuple[str, ...]] = ("limit",)

    limit: int


@dataclass(frozen=True, kw_only=True)
class LocalLimitExec(LimitExec):
    """At most so many rows of each partition."""

    supports_codegen = True


@dataclass(frozen=True, kw_only=True)
class GlobalLimitExec(LimitExec):
    """At most so many rows of the one partition."""

    supports_codegen = True
    required_child_distribution = (AllTuples(),)
    shown = ("limit", "offset")
    offset = 0  # streams refuse any other


@dataclass(frozen=True, kw_only=True)
class CollectLimitExec(UnaryExec):
    """The first rows as the answer, in one partition."""

    output_partitioning = SinglePartition()
    shown = ("limit",)

    limit: int


@dataclass(frozen=True, kw_only=True)
class AdaptiveSparkPlanExec(UnaryExec):
    """Marks a stateless plan with shuffles, which Spark re-plans while it runs."""

    def arguments(self, max_fields: int) -> str:
        return "isFinalPlan=false"

    def details(self, max_fields: int) -> tuple[tuple[str, str], ...]:
        return counted("Output", self.output), ("Arguments", self.arguments(max_fields))


@dataclass(frozen=True, kw_only=True)
class CollectMetricsExec(UnaryExec):
    """`observe`: rows pass, the batch's progress has aggregates over them."""

    expression_fields = ("metrics",)
    keeps_partitioning = True
    keeps_ordering = True
    shown = ("name", "metrics")

    name: str
    metrics: tuple[Expression, ...]
