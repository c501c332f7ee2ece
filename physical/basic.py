"""Stateless operators."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..planner.model.expressions import AttributeReference, Expression, Literal, to_attribute
from .plan import SparkPlan, UnaryExec


@dataclass(frozen=True, kw_only=True)
class StreamingRelationExec(SparkPlan):
    """A stream's rows of one batch. `name` is the source's name in the description."""

    name: str
    format: str
    attributes: tuple[AttributeReference, ...]

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.attributes


@dataclass(frozen=True, kw_only=True)
class LocalTableScanExec(SparkPlan):
    """Rows that are part of the plan."""

    attributes: tuple[AttributeReference, ...]
    rows: tuple[tuple[Literal, ...], ...] = ()

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.attributes


@dataclass(frozen=True, kw_only=True)
class RDDScanExec(SparkPlan):
    """The single empty row that a SELECT without FROM reads (`Scan OneRowRelation`)."""

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return ()


@dataclass(frozen=True, kw_only=True)
class ProjectExec(UnaryExec):
    """Computes columns."""

    expression_fields = ("project_list",)

    project_list: tuple[Expression, ...]

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return tuple(to_attribute(e) for e in self.project_list)


@dataclass(frozen=True, kw_only=True)
class FilterExec(UnaryExec):
    """Keeps the rows for which the condition is true."""

    expression_fields = ("condition",)

    condition: Expression


@dataclass(frozen=True, kw_only=True)
class ExpandExec(UnaryExec):
    """Each row several times, once per projection."""

    expression_fields = ("projections", "attributes")

    projections: tuple[tuple[Expression, ...], ...]
    attributes: tuple[AttributeReference, ...]

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.attributes


@dataclass(frozen=True, kw_only=True)
class GenerateExec(UnaryExec):
    """explode and the like beside the required columns of the child."""

    expression_fields = ("generator", "required", "generated")

    generator: Expression
    required: tuple[AttributeReference, ...]
    outer: bool
    generated: tuple[AttributeReference, ...]

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.required + self.generated


@dataclass(frozen=True, kw_only=True)
class UnionExec(SparkPlan):
    """The rows of all inputs."""

    child_fields = ("inputs",)

    inputs: tuple[SparkPlan, ...]
    attributes: tuple[AttributeReference, ...]

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.attributes


@dataclass(frozen=True, kw_only=True)
class EventTimeWatermarkExec(UnaryExec):
    """Observes the latest event time; marks the column in its output.

    `delay` is (months, days, microseconds); `delay_text` as plans show it.
    """

    expression_fields = ("event_time",)

    event_time: AttributeReference
    delay: tuple[int, int, int]
    delay_text: str
    delay_ms: int
    node_id: str
    attributes: tuple[AttributeReference, ...]

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.attributes


@dataclass(frozen=True, kw_only=True)
class LocalLimitExec(UnaryExec):
    """At most so many rows of each partition."""

    limit: int


@dataclass(frozen=True, kw_only=True)
class GlobalLimitExec(UnaryExec):
    """At most so many rows of the one partition."""

    limit: int


@dataclass(frozen=True, kw_only=True)
class CollectLimitExec(UnaryExec):
    """The first rows as the answer, in one partition."""

    limit: int
