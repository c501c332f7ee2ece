"""What a query reads: leaves of the logical plan, and the names and scopes over them."""

from __future__ import annotations

from ..expressions.core import AttributeReference, Expression
from ..expressions.core import Literal as LiteralExpression
from ..frozen import dataclass
from ..lazy import cached_property
from ..schemas.types import DataType
from .query_plan import GivesAttributes, LogicalPlan, UnaryNode, UnresolvedLeaf, UnresolvedNode

METADATA = "_metadata"
"""The hidden column of a stream of files."""


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


@dataclass(frozen=True, kw_only=True)
class UnresolvedRelation(UnresolvedLeaf):
    """A table as written. `streaming`: read with STREAM."""

    parts: tuple[str, ...]
    streaming: bool = False


@dataclass(frozen=True, kw_only=True)
class StreamingRelation(GivesAttributes, LogicalPlan):
    """A stream: `format` is the source's name in plans (`FileSource[events]`, `rate`).

    `name` is the source's name in the description, by which the runtime finds it.
    `always_nullable`: as `spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled`.
    `metadata_type`: of the column `_metadata` that a stream of files has beside its own.
    `shows_metadata`: whether it is the last of the `attributes`, as where the query names it.
    """

    name: str
    format: str
    attributes: tuple[AttributeReference, ...]
    identifier: str = ""
    always_nullable: bool = True
    metadata_type: DataType | None = None
    shows_metadata: bool = False

    @cached_property
    def metadata(self) -> AttributeReference | None:
        """The column `_metadata`; it takes its id when it is asked for, as in Spark."""
        if self.metadata_type is None:
            return None
        if self.shows_metadata:
            return self.attributes[-1]
        return AttributeReference(name=METADATA, type_=self.metadata_type, is_nullable=False)

    @cached_property
    def is_streaming(self) -> bool:
        return True

    @cached_property
    def nullable_state(self) -> bool:
        return self.always_nullable


@dataclass(frozen=True, kw_only=True)
class Relation(GivesAttributes, LogicalPlan):
    """A static table of a file format (Spark's LogicalRelation); `size_in_bytes` of its files.

    `identifier` is its full name where it is a table of the catalog.
    """

    name: str
    format: str
    attributes: tuple[AttributeReference, ...]
    size_in_bytes: int = 0
    identifier: str = ""


@dataclass(frozen=True, kw_only=True)
class LocalRelation(GivesAttributes, LogicalPlan):
    """Rows that are part of the plan: VALUES, or what an always-empty branch collapses to."""

    attributes: tuple[AttributeReference, ...]
    rows: tuple[tuple[LiteralExpression, ...], ...] = ()
    streaming: bool = False

    @cached_property
    def is_streaming(self) -> bool:
        return self.streaming

    @cached_property
    def nullable_state(self) -> bool:
        return self.streaming


@dataclass(frozen=True, kw_only=True)
class UnresolvedInlineTable(UnresolvedLeaf):
    """`VALUES (1, 'a'), (2, 'b') AS t(x, y)` as written: rows of constant expressions."""

    expression_fields = ("rows",)

    names: tuple[str, ...]
    rows: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True, kw_only=True)
class UnresolvedTableFunction(UnresolvedLeaf):
    """`range(10)` or `explode(array(1))` in FROM, as written."""

    expression_fields = ("arguments",)

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True)
class Range(GivesAttributes, LogicalPlan):
    """The whole numbers from `start` to before `end`; `slices` partitions, None for the default."""

    start: int
    end: int
    step: int
    slices: int | None
    attributes: tuple[AttributeReference, ...]

    @property
    def row_count(self) -> int:
        """How many numbers there are."""
        return len(range(self.start, self.end, self.step))


@dataclass(frozen=True, kw_only=True)
class OneRowRelation(LogicalPlan):
    """What a SELECT without FROM reads."""

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return ()


UNNAMED = "__auto_generated_subquery_name"
"""The alias of a subquery that has none; messages leave it out."""


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
class PipeOperator(UnaryNode):
    """The end of what a pipe operator sees: names do not reach through it to hidden columns."""


@dataclass(frozen=True, kw_only=True)
class AnalyzedPlan(UnresolvedNode, UnaryNode):
    """A plan that is analyzed already, below one that is not; analysis leaves the wrapping out.

    PySpark analyzes a DataFrame when it is made: what is built on it starts from here.
    """


@dataclass(frozen=True, kw_only=True)
class UnresolvedWith(UnresolvedNode, UnaryNode):
    """`WITH name AS (plan), ...` over a query; analysis puts the plans in."""

    definitions: tuple[tuple[str, LogicalPlan], ...]


@dataclass(frozen=True, kw_only=True)
class CTERelationDef(UnaryNode):
    """What stands behind a name of WITH, once analyzed; `cte_id` counts within the query."""

    cte_id: int


@dataclass(frozen=True, kw_only=True)
class CTERelationRef(GivesAttributes, LogicalPlan):
    """One use of a name of WITH: the definition's columns, with ids of its own."""

    cte_id: int
    attributes: tuple[AttributeReference, ...]
    streaming: bool = False
    always_nullable: bool = False

    @cached_property
    def is_streaming(self) -> bool:
        return self.streaming

    @cached_property
    def nullable_state(self) -> bool:
        return self.always_nullable


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
