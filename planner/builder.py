"""Queries built in Python: a fluent helper over logical nodes.

    (stream("events", "user STRING, ts TIMESTAMP")
        .with_watermark("ts", "10 minutes")
        .group_by("user", "window(ts, '5 minutes')")
        .agg("count(*) AS n")
        .query(output_mode="update"))

Columns are SQL texts, read by the SQL front end, or expression nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from .description import SourceDescription
from .model.errors import DescriptionError
from .model.expressions.core import Expression, SortOrder, lit, without_alias
from .model.expressions.intervals import parse_interval
from .model.expressions.unresolved import UnresolvedAttribute, select_entry
from .model.frozen import dataclass
from .model.plans.join_types import JOIN_TYPES, join_type_of
from .model.plans.logical import (
    Aggregate,
    Deduplicate,
    Distinct,
    EventTimeWatermark,
    Filter,
    Join,
    Project,
    Sort,
    Union,
    UnresolvedHaving,
    limited,
)
from .model.plans.query_plan import LogicalPlan
from .model.plans.relations import SubqueryAlias, UnresolvedRelation
from .model.tree import replace
from .sql import parse_expression

if TYPE_CHECKING:
    from .query import Query

Column = str | Expression


def stream(name: str, schema: str | None = None, **source: Any) -> QueryBuilder:
    """A stream of that name; further keys are those of a description's source."""
    return _start(name, streaming=True, schema=schema, **source)


def table(name: str, schema: str, **source: Any) -> QueryBuilder:
    """A static table of that name."""
    return _start(name, streaming=False, schema=schema, static=True, **source)


def _start(name: str, *, streaming: bool, **source: Any) -> QueryBuilder:
    from .described_sources import described_sources

    plan = UnresolvedRelation(parts=(name,), streaming=streaming)
    return QueryBuilder(plan=plan, sources=described_sources({name: source}))


def column(value: Column) -> Expression:
    """A column from its SQL text, or an expression as it is."""
    return parse_expression(value) if isinstance(value, str) else value


@dataclass(frozen=True, kw_only=True)
class QueryBuilder:
    """A logical plan and the sources it reads; each step gives a new builder."""

    plan: LogicalPlan
    sources: Mapping[str, SourceDescription] = field(default_factory=dict)

    def _over(self, plan: LogicalPlan) -> QueryBuilder:
        return replace(self, plan=plan)

    def alias(self, name: str) -> QueryBuilder:
        """A name by which columns may be qualified."""
        return self._over(SubqueryAlias(child=self.plan, alias=name))

    def with_watermark(self, event_time: str, delay: str) -> QueryBuilder:
        """Mark the event-time column; raises AnalysisError for a delay that is no interval."""
        amount = parse_interval(delay)
        if min(amount) < 0:
            raise DescriptionError.of("STATEPLAN_NEGATIVE_DELAY", delay=delay)
        marks = sum(1 for _ in self.plan.collect(EventTimeWatermark))
        return self._over(EventTimeWatermark.of(self.plan, column(event_time), amount, marks))

    def select(self, *columns: Column) -> QueryBuilder:
        """The columns, computed row by row; an aggregate among them makes a global aggregation."""
        entries = tuple(select_entry(column(value)) for value in columns)
        return self._over(Project(child=self.plan, project_list=entries))

    def where(self, condition: Column) -> QueryBuilder:
        """The rows for which the condition holds."""
        return self._over(Filter(child=self.plan, condition=column(condition)))

    def group_by(self, *keys: Column) -> GroupedBuilder:
        """Group by the keys; `agg` follows."""
        return GroupedBuilder(builder=self, keys=tuple(column(key) for key in keys))

    def agg(self, *aggregates: Column) -> QueryBuilder:
        """One row over all: `group_by()` without keys."""
        return self.group_by().agg(*aggregates)

    def distinct(self) -> QueryBuilder:
        """SELECT DISTINCT over all columns."""
        return self._over(Distinct(child=self.plan))

    def drop_duplicates(self, *keys: str) -> QueryBuilder:
        """The first row of each key, for as long as the watermark lets the key be remembered.

        Without keys a row is one with all its columns.
        """
        return self._over(Deduplicate(child=self.plan, keys=self._keys(keys)))

    def drop_duplicates_within_watermark(self, *keys: str) -> QueryBuilder:
        """The first row of each key within the watermark's delay."""
        keys_ = self._keys(keys)
        return self._over(Deduplicate(child=self.plan, keys=keys_, within_watermark=True))

    def _keys(self, keys: tuple[str, ...]) -> tuple[Expression, ...]:
        if not keys:
            keys = tuple(attribute.name for attribute in self.query().execution.analyzed.output)
        return tuple(UnresolvedAttribute(parts=(key,)) for key in keys)

    def order_by(self, *columns: Column) -> QueryBuilder:
        """Sort: ascending unless a column is a SortOrder."""
        order = tuple(_sort_order(column(value)) for value in columns)
        return self._over(Sort(child=self.plan, order=order))

    def limit(self, rows: int) -> QueryBuilder:
        """At most so many rows."""
        return self._over(limited(self.plan, lit(rows)))

    def union(self, other: QueryBuilder) -> QueryBuilder:
        """UNION ALL with another query."""
        both = Union(inputs=(self.plan, other.plan))
        return QueryBuilder(plan=both, sources={**self.sources, **other.sources})

    def join(
        self,
        other: QueryBuilder,
        on: Column | None = None,
        how: str = "inner",
        using: tuple[str, ...] = (),
    ) -> QueryBuilder:
        """Join with another query, by a condition or by columns of the same names.

        Raises:
            DescriptionError: there is no join of that kind.
        """
        join_type = join_type_of(how)
        if join_type is None:
            raise DescriptionError.of(
                "STATEPLAN_UNKNOWN_JOIN", hint=f"Use one of {', '.join(JOIN_TYPES)}.", type=how
            )
        joined = Join(
            left=self.plan,
            right=other.plan,
            join_type=join_type,
            condition=None if on is None else column(on),
            using=using,
        )
        return QueryBuilder(plan=joined, sources={**self.sources, **other.sources})

    def query(
        self, *, output_mode: str = "append", conf: Mapping[str, object] | None = None
    ) -> Query:
        """The query, to be explained or run."""
        from .model.settings.conf import Conf
        from .query import Query

        return Query(
            self.plan,
            sources=self.sources,
            output_mode=output_mode,
            conf=Conf.of(conf),
        )


@dataclass(frozen=True, kw_only=True)
class GroupedBuilder:
    """A query grouped by keys, waiting for its aggregates."""

    builder: QueryBuilder
    keys: tuple[Expression, ...]
    condition: Expression | None = None

    def having(self, condition: Column) -> GroupedBuilder:
        """The groups for which the condition holds."""
        return replace(self, condition=column(condition))

    def agg(self, *aggregates: Column) -> QueryBuilder:
        """The keys and the aggregates, as PySpark's `groupBy(...).agg(...)` gives them."""
        keys = tuple(select_entry(column(key)) for key in self.keys)
        plan: LogicalPlan = Aggregate(
            child=self.builder.plan,
            grouping=tuple(without_alias(key) for key in self.keys),
            aggregates=(*keys, *(select_entry(column(value)) for value in aggregates)),
        )
        if self.condition is not None:
            plan = UnresolvedHaving(child=plan, condition=self.condition)
        return replace(self.builder, plan=plan)

    def count(self) -> QueryBuilder:
        """The keys and the number of rows as `count`."""
        return self.agg("count(*) AS count")


def _sort_order(expression: Expression) -> SortOrder:
    return expression if isinstance(expression, SortOrder) else SortOrder(child=expression)
