"""Subqueries inside expressions: plans that an expression asks for a value or for membership."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from ..frozen import dataclass
from ..ids import fresh_id
from ..lazy import cached_property
from ..plans.join_types import JoinType, join_output
from ..plans.query_plan import LogicalPlan, UnaryNode
from ..schemas.types import BOOLEAN, NULL, DataType
from .base import LikePart
from .core import AttributeReference, Expression, GetStructField


@dataclass(frozen=True, kw_only=True)
class OuterReference(LikePart):
    """A column of the query around a subquery, as the subquery mentions it."""

    like = "column"

    column: AttributeReference


@dataclass(frozen=True, kw_only=True)
class SubqueryExpression(Expression):
    """A plan within an expression.

    Attributes:
        plan: what is asked; unresolved as long as analysis has not been there.
        outer: the columns of the query around it that the plan mentions.
        conditions: what of the plan's filters was pulled out of it because it mentions those
            columns; it holds between a row of the outer query and a row of the plan.
    """

    child_fields = ("outer", "conditions")

    plan: LogicalPlan
    outer: tuple[Expression, ...] = ()
    conditions: tuple[Expression, ...] = ()
    expr_id: int = field(default_factory=fresh_id)

    @property
    def data_type(self) -> DataType:
        # Without a column the query is refused, but not before everything has a type.
        return self.plan.output[0].data_type if self.plan.output else NULL

    @cached_property
    def resolved(self) -> bool:
        return self.plan.resolved and all(child.resolved for child in self.children)

    @cached_property
    def references(self) -> frozenset[int]:
        return frozenset().union(*(column.references for column in self.outer))

    @property
    def correlated(self) -> bool:
        """Whether the plan's rows depend on the row of the query around it."""
        return bool(self.outer)


@dataclass(frozen=True, kw_only=True)
class ScalarSubquery(SubqueryExpression):
    """The one value of a plan with one column and at most one row; null where there is no row.

    `may_have_count_bug`: without a row the value may be other than null (a count's 0).
    `single_join`: nothing but the data makes sure that there is one row. Both are set when
    correlated conditions are pulled out.
    """

    may_have_count_bug: bool = True
    single_join: bool = False


@dataclass(frozen=True, kw_only=True)
class Exists(SubqueryExpression):
    """Whether the plan gives any row."""

    data_type = BOOLEAN
    nullable = False


@dataclass(frozen=True, kw_only=True)
class ListQuery(SubqueryExpression):
    """The rows that IN looks through."""

    @property
    def nullable(self) -> bool:
        return any(column.nullable for column in self.plan.output)


@dataclass(frozen=True, kw_only=True)
class LateralSubquery(SubqueryExpression):
    """The rows that a lateral join puts beside each row; no value."""

    data_type = NULL


@dataclass(frozen=True, kw_only=True)
class LateralJoin(UnaryNode):
    """Each row beside the rows that a subquery gives for it."""

    expression_fields = ("query", "condition")
    shown = ("query", "join_type", "condition")

    query: LateralSubquery
    join_type: JoinType = "Inner"
    condition: Expression | None = None

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return join_output(self.join_type, self.child.output, self.query.plan.output)

    @property
    def produced(self) -> frozenset[int]:
        return self.query.plan.output_ids


@dataclass(frozen=True, kw_only=True)
class DomainJoin(UnaryNode):
    """A subquery's plan beside every combination of values that its outer columns have.

    Stands until the subquery is a join: only then is known what plan the outer columns are of.

    Attributes:
        domains: the columns of these values.
        join_type: Inner, or LeftOuter where a combination without rows of the plan must not go.
        condition: of the outer join, between the values and the plan's rows.
    """

    expression_fields = ("domains", "condition")

    domains: tuple[AttributeReference, ...]
    join_type: JoinType = "Inner"
    condition: Expression | None = None

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return join_output(self.join_type, self.domains, self.child.output)


@dataclass(frozen=True, kw_only=True)
class InSubquery(Expression):
    """`(a, b) IN (SELECT ...)`."""

    child_fields = ("values", "query")
    data_type = BOOLEAN

    values: tuple[Expression, ...]
    query: Expression

    @cached_property
    def nullable(self) -> bool:
        return self.query.nullable or any(value.nullable for value in self.values)


def subqueries_in(expression: Expression) -> Iterator[SubqueryExpression]:
    """The subqueries of an expression, outermost first; not those within them."""
    yield from expression.collect(SubqueryExpression)


def outer_references(plan: LogicalPlan) -> tuple[AttributeReference, ...]:
    """The columns of the query around a plan that the plan mentions, each once."""
    found: dict[int, AttributeReference] = {}
    for operator in plan.walk():
        for expression in operator.expressions:
            for node in expression.walk():
                if isinstance(node, OuterReference):
                    found.setdefault(node.column.expr_id, node.column)
    return tuple(found.values())


def is_outer(expression: Expression) -> bool:
    """Whether an expression mentions a column of the query around."""
    return expression.holds(OuterReference)


def named_outer(expression: Expression) -> str | None:
    """The name of an outer column, or of the field of one, that stands by itself."""
    match expression:
        case OuterReference(column=column):
            return ".".join((*column.qualifier, column.name))
        case GetStructField(child=child, name=name):
            inner = named_outer(child)
            return None if inner is None else f"{inner}.{name}"
        case _:
            return None
