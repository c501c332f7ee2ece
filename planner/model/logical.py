"""Logical operators, as Catalyst names them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Literal, Self

from .expressions import (
    AttributeReference,
    Expression,
    Metadata,
    Origin,
    SortOrder,
    UnresolvedAttribute,
    to_attribute,
)
from .expressions import (
    Literal as LiteralExpression,
)
from .tree import TreeNode
from .types import BooleanType, same_type

JoinType = Literal["Inner", "LeftOuter", "RightOuter", "FullOuter", "LeftSemi", "LeftAnti", "Cross"]


def map_nested(value: object, function: Callable[[Expression], Expression]) -> object:
    """Apply a function to the expressions in a field: one, a tuple, tuples of tuples, or None."""
    if isinstance(value, Expression):
        return function(value)
    if isinstance(value, tuple):
        new = tuple(map_nested(item, function) for item in value)
        return value if all(a is b for a, b in zip(new, value, strict=True)) else new
    return value


def flatten(value: object) -> Iterator[Expression]:
    """The expressions in a field, in order."""
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from flatten(item)


@dataclass(frozen=True, kw_only=True)
class QueryPlan(TreeNode):
    """A plan node, logical or physical: children, expressions, output columns."""

    expression_fields: ClassVar[tuple[str, ...]] = ()

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        """The columns that the node gives, in order."""
        raise NotImplementedError(type(self).__name__)

    @cached_property
    def output_ids(self) -> frozenset[int]:
        return frozenset(a.expr_id for a in self.output)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All expressions of this node itself, in field order."""
        return tuple(e for name in self.expression_fields for e in flatten(getattr(self, name)))

    @cached_property
    def references(self) -> frozenset[int]:
        """The ids of the columns that this node's own expressions use."""
        return frozenset().union(*(e.references for e in self.expressions))

    def map_expressions(self, function: Callable[[Expression], Expression]) -> Self:
        """This node with the function applied to each expression; itself if none changed."""
        changed = {}
        for name in self.expression_fields:
            value = getattr(self, name)
            new = map_nested(value, function)
            if new is not value:
                changed[name] = new
        return replace(self, **changed) if changed else self

    def transform_expressions(self, function: Callable[[Expression], Expression]) -> Self:
        """`map_expressions` with the function applied bottom-up inside each expression."""
        return self.map_expressions(lambda e: e.transform_up(function))


@dataclass(frozen=True, kw_only=True)
class LogicalPlan(QueryPlan):
    """Base of logical operators. `origin` takes no part in equality."""

    origin: Origin | None = field(default=None, compare=False, repr=False)

    @cached_property
    def resolved(self) -> bool:
        return all(e.resolved for e in self.expressions) and all(c.resolved for c in self.children)

    @cached_property
    def is_streaming(self) -> bool:
        return any(child.is_streaming for child in self.children)


@dataclass(frozen=True, kw_only=True)
class UnaryNode(LogicalPlan):
    """One child whose columns pass through, unless a node says otherwise."""

    child_fields = ("child",)

    child: LogicalPlan

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.child.output


def highest_id(plan: LogicalPlan) -> int:
    """The highest expression id that a plan holds, definitions of WITH included; -1 for none."""
    found = -1
    for node in plan.walk():
        for expression in node.expressions:
            for part in expression.walk():
                found = max(found, getattr(part, "expr_id", -1))
        if isinstance(node, UnresolvedWith):
            found = max(found, *(highest_id(body) for _, body in node.definitions))
    return found


# ------------------------------------------------------------------------------------- leaves


@dataclass(frozen=True, kw_only=True)
class UnresolvedRelation(LogicalPlan):
    """A table as written. `streaming`: read with STREAM."""

    parts: tuple[str, ...]
    streaming: bool = False

    @cached_property
    def resolved(self) -> bool:
        return False

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return ()


@dataclass(frozen=True, kw_only=True)
class StreamingRelation(LogicalPlan):
    """A stream: `format` is the source's name in plans (`FileSource[events]`, `rate`).

    `name` is the source's name in the description, by which the runtime finds it.
    """

    name: str
    format: str
    attributes: tuple[AttributeReference, ...]

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.attributes

    @cached_property
    def is_streaming(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class Relation(LogicalPlan):
    """A static table of a file format (Spark's LogicalRelation)."""

    name: str
    format: str
    attributes: tuple[AttributeReference, ...]

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.attributes


@dataclass(frozen=True, kw_only=True)
class LocalRelation(LogicalPlan):
    """Rows that are part of the plan: VALUES, or what an always-empty branch collapses to."""

    attributes: tuple[AttributeReference, ...]
    rows: tuple[tuple[LiteralExpression, ...], ...] = ()
    streaming: bool = False

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.attributes

    @cached_property
    def is_streaming(self) -> bool:
        return self.streaming


@dataclass(frozen=True, kw_only=True)
class UnresolvedInlineTable(LogicalPlan):
    """`VALUES (1, 'a'), (2, 'b') AS t(x, y)` as written: rows of constant expressions."""

    expression_fields = ("rows",)

    names: tuple[str, ...]
    rows: tuple[tuple[Expression, ...], ...]

    @cached_property
    def resolved(self) -> bool:
        return False

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return ()


@dataclass(frozen=True, kw_only=True)
class OneRowRelation(LogicalPlan):
    """What a SELECT without FROM reads."""

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return ()


# ----------------------------------------------------------------------------- names and scopes


@dataclass(frozen=True, kw_only=True)
class SubqueryAlias(UnaryNode):
    """A table name over a plan: it qualifies the columns. `columns` are those of `AS t(a, b)`."""

    alias: str
    columns: tuple[str, ...] = ()

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return tuple(a.with_qualifier((self.alias,)) for a in self.child.output)


@dataclass(frozen=True, kw_only=True)
class View(UnaryNode):
    """A temporary view, as analysis finds it behind a source's name."""

    name: str


@dataclass(frozen=True, kw_only=True)
class UnresolvedWith(UnaryNode):
    """`WITH name AS (plan), ...` over a query; analysis puts the plans in."""

    definitions: tuple[tuple[str, LogicalPlan], ...]

    @cached_property
    def resolved(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class CTERelationDef(UnaryNode):
    """What stands behind a name of WITH, once analyzed; `cte_id` counts within the query."""

    cte_id: int


@dataclass(frozen=True, kw_only=True)
class CTERelationRef(LogicalPlan):
    """One use of a name of WITH: the definition's columns, with ids of its own."""

    cte_id: int
    attributes: tuple[AttributeReference, ...]
    streaming: bool = False

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.attributes

    @cached_property
    def is_streaming(self) -> bool:
        return self.streaming


@dataclass(frozen=True, kw_only=True)
class WithCTE(LogicalPlan):
    """An analyzed query with its definitions, until the optimizer puts them in."""

    child_fields = ("definitions", "child")

    definitions: tuple[CTERelationDef, ...]
    child: LogicalPlan

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.child.output

    @cached_property
    def is_streaming(self) -> bool:
        return self.child.is_streaming


# ------------------------------------------------------------------------------------ operators


@dataclass(frozen=True, kw_only=True)
class Project(UnaryNode):
    """SELECT: named expressions once analyzed."""

    expression_fields = ("project_list",)

    project_list: tuple[Expression, ...]

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return tuple(to_attribute(e) for e in self.project_list)


@dataclass(frozen=True, kw_only=True)
class Filter(UnaryNode):
    """WHERE; HAVING too, once analyzed."""

    expression_fields = ("condition",)

    condition: Expression


@dataclass(frozen=True, kw_only=True)
class UnresolvedHaving(UnaryNode):
    """HAVING as written, over the aggregate it belongs to."""

    expression_fields = ("condition",)

    condition: Expression

    @cached_property
    def resolved(self) -> bool:
        return False


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
        made = tuple(to_attribute(e) for e in self.aggregates)
        return _from_state(made) if self.is_streaming else made


def _from_state(columns: tuple[AttributeReference, ...]) -> tuple[AttributeReference, ...]:
    """What a stateful operator gives may be null in Spark's eyes: state schemas are nullable."""
    return tuple(a.with_nullability(True) for a in columns)


def watermark_node_id(number: int) -> str:
    """The id of a query's watermark operator of that number: a UUID as in Spark, but stable."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"stateplan: watermark {number}"))


@dataclass(frozen=True, kw_only=True)
class Window(UnaryNode):
    """Functions with OVER of one partitioning and order beside the child's columns."""

    expression_fields = ("windows", "partition_by", "order_by")

    windows: tuple[Expression, ...]
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[SortOrder, ...] = ()

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.child.output + tuple(to_attribute(e) for e in self.windows)


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

    @property
    def delay_ms(self) -> int:
        """The delay in milliseconds, a month counted as 31 days."""
        months, days, micros = self.delay
        return (months * 31 + days) * 86_400_000 + micros // 1000

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

    keys: tuple[Expression, ...]
    within_watermark: bool = False

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        columns = self.child.output
        return _from_state(columns) if self.is_streaming else columns


@dataclass(frozen=True, kw_only=True)
class Distinct(UnaryNode):
    """SELECT DISTINCT; the optimizer makes it an aggregate."""


@dataclass(frozen=True, kw_only=True)
class GlobalLimit(UnaryNode):
    """At most so many rows over all partitions."""

    expression_fields = ("limit",)

    limit: Expression


@dataclass(frozen=True, kw_only=True)
class LocalLimit(UnaryNode):
    """At most so many rows of each partition."""

    expression_fields = ("limit",)

    limit: Expression


@dataclass(frozen=True, kw_only=True)
class Offset(UnaryNode):
    """OFFSET: skips rows; streams refuse it."""

    expression_fields = ("offset",)

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
class Expand(UnaryNode):
    """Each row several times, once per projection."""

    expression_fields = ("projections", "attributes")

    projections: tuple[tuple[Expression, ...], ...]
    attributes: tuple[AttributeReference, ...]

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.attributes


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


@dataclass(frozen=True, kw_only=True)
class Union(LogicalPlan):
    """UNION ALL; with `by_name`, columns are matched by name."""

    child_fields = ("inputs",)

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
            and all(same_type(a.type_, b.type_) for a, b in zip(plan.output, first, strict=True))
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
    """A join; `using` are the columns of JOIN ... USING until analyzed, `natural` of NATURAL."""

    child_fields = ("left", "right")
    expression_fields = ("condition",)

    left: LogicalPlan
    right: LogicalPlan
    join_type: JoinType
    condition: Expression | None = None
    using: tuple[str, ...] = ()
    natural: bool = False
    hint: tuple[str | None, str | None] = (None, None)

    @cached_property
    def resolved(self) -> bool:
        if not (self.left.resolved and self.right.resolved):
            return False
        on = self.condition
        return on is None or (on.resolved and isinstance(on.data_type, BooleanType))

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        left, right = self.left.output, self.right.output
        if self.join_type in ("LeftSemi", "LeftAnti"):
            return left
        if self.join_type in ("RightOuter", "FullOuter"):
            left = tuple(a.with_nullability(True) for a in left)
        if self.join_type in ("LeftOuter", "FullOuter"):
            right = tuple(a.with_nullability(True) for a in right)
        return left + right
