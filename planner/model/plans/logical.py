"""Logical operators, as Catalyst names them."""

from __future__ import annotations

import uuid
from dataclasses import field

from ..expressions.core import (
    AttributeReference,
    Expression,
    Metadata,
    Origin,
    SortOrder,
    to_attribute,
)
from ..expressions.intervals import in_micros, interval_text
from ..expressions.unresolved import UnresolvedAttribute
from ..frozen import dataclass
from ..lazy import cached_property
from ..schemas.types import BooleanType, as_nullable, same_shape
from ..tree import replace
from .join_types import JoinType, join_output
from .query_plan import GivesAttributes, LogicalPlan, UnaryNode, UnresolvedNode


@dataclass(frozen=True, kw_only=True)
class Project(UnaryNode):
    """SELECT: named expressions once analyzed.

    `hidden` are its input's columns that JOIN ... USING does not give, but a name with the table
    still finds; analysis alone asks for them.
    """

    expression_fields = ("project_list",)
    shown = ("project_list",)

    project_list: tuple[Expression, ...]
    hidden: tuple[AttributeReference, ...] = field(default=(), compare=False, repr=False)

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return tuple(to_attribute(e) for e in self.project_list)


@dataclass(frozen=True, kw_only=True)
class Filter(UnaryNode):
    """WHERE; HAVING too, once analyzed."""

    expression_fields = ("condition",)
    shown = ("condition",)

    condition: Expression


@dataclass(frozen=True, kw_only=True)
class UnresolvedHaving(UnresolvedNode, UnaryNode):
    """HAVING as written, over the aggregate it belongs to."""

    expression_fields = ("condition",)
    shown = ("condition",)

    condition: Expression


@dataclass(frozen=True, kw_only=True)
class UnresolvedQualify(UnresolvedNode, UnaryNode):
    """QUALIFY as written, over the select list it belongs to.

    `listed`: the select list itself calls functions with OVER.
    """

    expression_fields = ("condition",)
    shown = ("condition",)

    condition: Expression
    listed: bool = False


@dataclass(frozen=True, kw_only=True)
class Aggregate(UnaryNode):
    """GROUP BY with its select list.

    `grouping_analytics` holds what CUBE, ROLLUP and GROUPING SETS wrote, until analysis expands it:
    the kind and the sets as written. `keys_pulled_out`: a rule computes keys in a Project below.
    """

    expression_fields = ("grouping", "aggregates")

    grouping: tuple[Expression, ...]
    aggregates: tuple[Expression, ...]
    grouping_analytics: tuple[str, tuple[tuple[Expression, ...], ...]] | None = None
    keys_pulled_out: bool = False

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        columns = tuple(to_attribute(e) for e in self.aggregates)
        return _from_state(columns) if self.nullable_state else columns


def _from_state(columns: tuple[AttributeReference, ...]) -> tuple[AttributeReference, ...]:
    """What a stateful operator gives may be null in Spark's eyes, and all that is in it."""
    return tuple(replace(a, type_=as_nullable(a.type_), is_nullable=True) for a in columns)


@dataclass(frozen=True, kw_only=True)
class EventTimeWatermark(UnaryNode):
    """WATERMARK: marks the event-time column with its delay.

    Attributes:
        event_time: the column.
        delay: (months, days, microseconds) as written.
        delay_text: the delay as plans show it (`10 minutes`).
        node_id: names the operator (a UUID in Spark; here any stable text).
    """

    expression_fields = ("event_time",)

    event_time: Expression
    delay: tuple[int, int, int]
    delay_text: str
    node_id: str

    @classmethod
    def of(
        cls,
        child: LogicalPlan,
        event_time: Expression,
        delay: tuple[int, int, int],
        number: int,
        *,
        delay_text: str | None = None,
        origin: Origin | None = None,
    ) -> EventTimeWatermark:
        """A query's watermark of that number, which makes its id: a UUID as in Spark, but stable.

        The delay is shown as Spark shows intervals, unless there is another text for it.
        """
        return cls(
            child=child,
            event_time=event_time,
            delay=delay,
            delay_text=interval_text(*delay) if delay_text is None else delay_text,
            node_id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"stateplan: watermark {number}")),
            origin=origin,
        )

    @property
    def delay_ms(self) -> int:
        """The delay in milliseconds, a month counted as 31 days."""
        return in_micros(self.delay) // 1000

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        chosen = self.event_time
        if isinstance(chosen, UnresolvedAttribute) or not chosen.resolved:
            return self.child.output
        return tuple(self._marked(a) for a in self.child.output)

    def _marked(self, attribute: AttributeReference) -> AttributeReference:
        event = self.event_time
        assert isinstance(event, AttributeReference)
        delay: int | None = None
        if attribute.expr_id == event.expr_id:
            delay = self.delay_ms
        elif attribute.delay_ms is None:
            return attribute
        # A second watermark takes the mark from every other column, as in Spark.
        return replace(attribute, metadata=Metadata(delay, attribute.metadata.window))


@dataclass(frozen=True, kw_only=True)
class Deduplicate(UnaryNode):
    """dropDuplicates over the keys."""

    expression_fields = ("keys",)
    shown = ("keys",)

    keys: tuple[Expression, ...]
    within_watermark: bool = False

    @property
    def node_name(self) -> str:
        return "DeduplicateWithinWatermark" if self.within_watermark else "Deduplicate"

    @cached_property
    def references(self) -> frozenset[int]:
        """The keys, and within a watermark the event time, which decides how long a key is kept."""
        keys = super().references
        if not self.within_watermark:
            return keys
        return keys | {a.expr_id for a in self.child.output if a.delay_ms is not None}

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        columns = self.child.output
        return _from_state(columns) if self.nullable_state else columns


@dataclass(frozen=True, kw_only=True)
class Distinct(UnaryNode):
    """SELECT DISTINCT; the optimizer makes it an aggregate."""


@dataclass(frozen=True, kw_only=True)
class GlobalLimit(UnaryNode):
    """At most so many rows over all partitions."""

    expression_fields = ("limit",)
    shown = ("limit",)

    limit: Expression


@dataclass(frozen=True, kw_only=True)
class LocalLimit(UnaryNode):
    """At most so many rows of each partition."""

    expression_fields = ("limit",)
    shown = ("limit",)

    limit: Expression


def limited(plan: LogicalPlan, limit: Expression, origin: Origin | None = None) -> GlobalLimit:
    """LIMIT: each partition's first rows, then so many of these."""
    local = LocalLimit(child=plan, limit=limit, origin=origin)
    return GlobalLimit(child=local, limit=limit, origin=origin)


@dataclass(frozen=True, kw_only=True)
class Offset(UnaryNode):
    """OFFSET: skips rows; streams refuse it."""

    expression_fields = ("offset",)
    shown = ("offset",)

    offset: Expression


@dataclass(frozen=True, kw_only=True)
class ReturnAnswer(UnaryNode):
    """The root of a query whose rows go to a caller; wraps what the strategies plan."""


@dataclass(frozen=True, kw_only=True)
class Sort(UnaryNode):
    """ORDER BY (`is_global`) or SORT BY."""

    expression_fields = ("order",)

    order: tuple[SortOrder, ...]
    is_global: bool = True


@dataclass(frozen=True, kw_only=True)
class Expand(GivesAttributes, UnaryNode):
    """Each row several times, once per projection."""

    expression_fields = ("projections", "attributes")

    projections: tuple[tuple[Expression, ...], ...]
    attributes: tuple[AttributeReference, ...]

    @property
    def produced(self) -> frozenset[int]:
        return self.output_ids


@dataclass(frozen=True, kw_only=True)
class Generate(UnaryNode):
    """explode and the like beside the child's columns.

    Attributes:
        generator: a Call of a generator.
        outer: keep rows for which the generator gives nothing (LATERAL VIEW OUTER, explode_outer).
        required: the child's columns that are still needed (all, until the optimizer prunes).
        generated: the columns it makes; names only (unresolved attributes) until analyzed.
        alias: the lateral view's table name.
    """

    expression_fields = ("generator", "generated")

    generator: Expression
    outer: bool = False
    required: tuple[AttributeReference, ...] | None = None
    generated: tuple[Expression, ...] = ()
    alias: str | None = None

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        kept = self.child.output if self.required is None else self.required
        made = tuple(to_attribute(e) for e in self.generated)
        if self.alias is not None:
            made = tuple(a.with_qualifier((self.alias,)) for a in made)
        if self.outer:
            made = tuple(a.with_nullability(True) for a in made)
        return kept + made

    @property
    def produced(self) -> frozenset[int]:
        return frozenset().union(*(e.references for e in self.generated))


@dataclass(frozen=True, kw_only=True)
class Union(LogicalPlan):
    """UNION ALL; with `by_name`, columns are matched by name."""

    child_fields = ("inputs",)
    shown = ("by_name", "allow_missing")

    inputs: tuple[LogicalPlan, ...]
    by_name: bool = False
    allow_missing: bool = False

    @cached_property
    def resolved(self) -> bool:
        if not all(plan.resolved for plan in self.inputs):
            return False
        first = self.inputs[0].output
        return all(
            len(plan.output) == len(first)
            and all(same_shape(a.type_, b.type_) for a, b in zip(plan.output, first, strict=True))
            for plan in self.inputs[1:]
        )

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        first = self.inputs[0].output
        rest = [plan.output for plan in self.inputs[1:]]
        return tuple(
            attribute.with_nullability(
                attribute.nullable or any(len(o) > i and o[i].nullable for o in rest)
            )
            for i, attribute in enumerate(first)
        )


@dataclass(frozen=True, kw_only=True)
class Join(LogicalPlan):
    """A join; `using` are the columns of JOIN ... USING until analyzed, `natural` of NATURAL.

    `mark` is the column that an existence join adds.
    """

    child_fields = ("left", "right")
    expression_fields = ("condition",)

    left: LogicalPlan
    right: LogicalPlan
    join_type: JoinType
    condition: Expression | None = None
    using: tuple[str, ...] = ()
    natural: bool = False
    hint: tuple[str | None, str | None] = (None, None)
    mark: AttributeReference | None = None

    @cached_property
    def resolved(self) -> bool:
        if not (self.left.resolved and self.right.resolved):
            return False
        on = self.condition
        return on is None or (on.resolved and isinstance(on.data_type, BooleanType))

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return join_output(self.join_type, self.left.output, self.right.output, self.mark)


@dataclass(frozen=True, kw_only=True)
class CollectMetrics(UnaryNode):
    """`observe`: aggregates over the rows that pass, under a name."""

    expression_fields = ("metrics",)
    shown = ("name", "metrics")

    name: str
    metrics: tuple[Expression, ...]
