"""DISTINCT as an aggregate, and DISTINCT aggregates over several sets of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Expression,
    lit,
)
from ....planner.model.expressions.equality import Canonical, canonical
from ....planner.model.functions.build import call, is_null, null, value_over_no_rows
from ....planner.model.plans.logical import Aggregate, Deduplicate, Distinct, Expand
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import INT
from ....planner.model.settings.conf import Conf
from ....planner.model.text.spark_sql import spark_sql
from ....planner.model.tree import replace
from ...common.trees import bottom_up, over_children, replace_attributes


@bottom_up(Distinct)
def replace_distinct(node: Distinct, conf: Conf) -> LogicalPlan:
    """`Distinct, child` -> `Aggregate [all columns], [all columns]`. Idempotent."""
    columns = node.child.output
    return Aggregate(child=node.child, grouping=columns, aggregates=columns)


def replace_static_deduplication(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """dropDuplicates of a table that is no stream: group by the keys, first of everything else.

    `Deduplicate [a], child(a, b)` -> `Aggregate [a], [a, first(b) AS b]`. Streams keep the
    operator, which has state. Idempotent.
    """
    return _without_deduplication(plan)[0]


def _without_deduplication(plan: LogicalPlan) -> tuple[LogicalPlan, dict[int, Expression]]:
    """The plan, and the columns that took the place of others: first values have new ids."""
    if Deduplicate not in plan.classes:
        return plan, {}
    node, renamed = over_children(plan, _without_deduplication)
    if renamed:
        node = node.map_expressions(lambda e: replace_attributes(e, renamed))
    if not isinstance(node, Deduplicate) or node.is_streaming:
        return node, renamed
    keys = frozenset().union(*(key.references for key in node.keys))
    items: list[Expression] = []
    firsts: dict[int, Expression] = {}
    for column in node.child.output:
        if column.expr_id in keys:
            items.append(column)
            continue
        first = Call(name="first", arguments=(column,), options=(False,))
        item = Alias(child=AggregateExpression(function=first), name=column.name)
        firsts[column.expr_id] = item.to_attribute()
        items.append(item)
    aggregate = Aggregate(
        child=node.child, grouping=node.keys or (lit(1),), aggregates=tuple(items)
    )
    # What a deduplication below gave may be this one's first value in turn.
    return aggregate, {i: replace_attributes(e, firsts) for i, e in renamed.items()} | firsts


@bottom_up(Aggregate)
def eliminate_distinct_in_aggregates(node: Aggregate, conf: Conf) -> LogicalPlan:
    """DISTINCT goes where duplicates make no difference: `max(DISTINCT a)` -> `max(a)`."""

    def drop(expression: Expression) -> Expression:
        if (
            isinstance(expression, AggregateExpression)
            and expression.distinct
            and expression.function.spec.duplicate_agnostic
        ):
            return replace(expression, distinct=False)
        return expression

    return node.transform_expressions(drop)


_Columns = Mapping[Canonical, AttributeReference]


@bottom_up(Aggregate)
def rewrite_distinct_aggregates(node: Aggregate, conf: Conf) -> LogicalPlan:
    """`Aggregate [k], [count(distinct a), count(distinct b), sum(c)]` over t ->

    `Aggregate [k], [count(a) FILTER gid = 1, count(b) FILTER gid = 2, first(s) FILTER gid = 0]`,
    `Aggregate [k, a, b, gid], [.., sum(c) AS s]`, `Expand [k, null, null, 0, c], [k, a, null, 1,
    null], [k, null, b, 2, null]`, t. One set of columns without FILTER is left to the strategies.
    Idempotent: no DISTINCT is left.
    """
    distinct, regular = _functions(node)
    groups = _groups(distinct)
    constant = any(all(e.foldable for e in a.function.arguments) for a in distinct)
    if len(groups) < 2 and not constant and all(a.filter is None for a in distinct):
        return node
    return _Rewriting(node, groups, distinct, regular).plan()


@bottom_up(Aggregate)
def rewrite_all_distinct_aggregates(node: Aggregate, conf: Conf) -> LogicalPlan:
    """As `rewrite_distinct_aggregates`, one set of columns too: strategies see no DISTINCT."""
    distinct, regular = _functions(node)
    return _Rewriting(node, _groups(distinct), distinct, regular).plan() if distinct else node


def _functions(node: Aggregate) -> tuple[list[AggregateExpression], list[AggregateExpression]]:
    """The aggregate functions with DISTINCT, and those without."""
    found: dict[Canonical, AggregateExpression] = {}
    for item in node.aggregates:
        for aggregate in item.collect(AggregateExpression):
            found.setdefault(canonical(aggregate), aggregate)
    functions = found.values()
    return [a for a in functions if a.distinct], [a for a in functions if not a.distinct]


def _values(aggregate: AggregateExpression) -> tuple[Expression, ...]:
    """What must differ: the arguments that are no constants, of constants the first."""
    arguments = aggregate.function.arguments
    return tuple(a for a in arguments if not a.foldable) or arguments[:1]


def _groups(distinct: Sequence[AggregateExpression]) -> list[dict[Canonical, Expression]]:
    """The sets of columns, in the order in which the query mentions them."""
    found: dict[frozenset[Canonical], dict[Canonical, Expression]] = {}
    for aggregate in distinct:
        values = {canonical(v): v for v in _values(aggregate)}
        found.setdefault(frozenset(values), values)
    return list(found.values())


def _named(expression: Expression) -> AttributeReference:
    """A column for an expression, named by its SQL."""
    text = spark_sql(expression, lambda column: ".".join((*column.qualifier, column.name)))
    return AttributeReference(name=text, type_=expression.data_type)


@dataclass
class _Rewriting:
    """One aggregation with its distinct sets of columns and its other functions."""

    node: Aggregate
    groups: list[dict[Canonical, Expression]]
    distinct: list[AggregateExpression]
    regular: list[AggregateExpression]

    def __post_init__(self) -> None:
        self.gid = AttributeReference(name="gid", type_=INT, is_nullable=False)
        self.keys = tuple(
            key if isinstance(key, AttributeReference) else _named(key)
            for key in self.node.grouping
        )
        self.values = {form: e for group in self.groups for form, e in group.items()}
        self.value_columns = {form: _named(e) for form, e in self.values.items()}
        filters = [a.filter for a in self.distinct if a.filter is not None]
        self.filters = {canonical(f): f for f in filters}
        self.filter_columns = {form: _named(f) for form, f in self.filters.items()}
        inputs: dict[Canonical, Expression] = {}
        for aggregate in self.regular:
            for argument in aggregate.function.arguments:
                if not argument.foldable:
                    inputs.setdefault(canonical(argument), argument)
        for aggregate in self.regular:
            if aggregate.filter is not None:
                for column in aggregate.filter.collect(AttributeReference):
                    inputs.setdefault(canonical(column), column)
        self.inputs = inputs
        self.input_columns = {form: _named(e) for form, e in inputs.items()}

    def plan(self) -> LogicalPlan:
        """The two aggregations over the expanded rows."""
        tests = {
            form: Alias(child=_aggregate("max", column), name=column.name)
            for form, column in self.filter_columns.items()
        }
        computed = {canonical(a): self._computed(a) for a in self.regular}
        by = (*self.keys, *self.value_columns.values(), self.gid)
        first = Aggregate(
            grouping=by,
            aggregates=(*by, *tests.values(), *computed.values()),
            child=self._expand(),
        )
        results: dict[Canonical, Expression] = {
            canonical(a): self._counted(a, {f: t.to_attribute() for f, t in tests.items()})
            for a in self.distinct
        }
        for aggregate in self.regular:
            column = computed[canonical(aggregate)].to_attribute()
            results[canonical(aggregate)] = self._taken(aggregate, column)
        keys = dict(zip(map(canonical, self.node.grouping), self.keys, strict=True))

        def patched(expression: Expression) -> Expression:
            form = canonical(expression)
            if not isinstance(expression, Alias):
                if form in keys:
                    return keys[form]
                if isinstance(expression, AggregateExpression):
                    return results[form]
            return expression.map_children(patched)

        items = tuple(patched(item) for item in self.node.aggregates)
        return replace(self.node, grouping=self.keys, aggregates=items, child=first)

    def _expand(self) -> Expand:
        rows: list[tuple[Expression, ...]] = []
        if self.regular:
            nulls = [null(e.data_type) for e in self.values.values()]
            no_tests = [null(f.data_type) for f in self.filters.values()]
            row = (*self.node.grouping, *nulls, lit(0), *no_tests, *self.inputs.values())
            rows.append(row)
        absent = [null(e.data_type) for e in self.inputs.values()]
        for number, group in enumerate(self.groups, start=1):
            asked = {
                canonical(a.filter)
                for a in self.distinct
                if a.filter is not None and set(map(canonical, _values(a))) == set(group)
            }
            own = [e if f in group else null(e.data_type) for f, e in self.values.items()]
            tests = [e if f in asked else null(e.data_type) for f, e in self.filters.items()]
            rows.append((*self.node.grouping, *own, lit(number), *tests, *absent))
        columns = (
            *self.keys,
            *self.value_columns.values(),
            self.gid,
            *self.filter_columns.values(),
            *self.input_columns.values(),
        )
        return Expand(projections=tuple(rows), attributes=columns, child=self.node.child)

    def _computed(self, aggregate: AggregateExpression) -> Alias:
        """A function without DISTINCT over the expanded rows, under its SQL."""

        def column(node: Expression) -> Expression:
            return self.input_columns.get(canonical(node), node)

        chosen = aggregate.filter
        new = AggregateExpression(
            function=_of_columns(aggregate.function, self.input_columns),
            filter=None if chosen is None else chosen.transform_up(column),
        )
        return Alias(child=new, name=_named(aggregate).name)

    def _taken(self, aggregate: AggregateExpression, column: AttributeReference) -> Expression:
        """The value of a function without DISTINCT, from the rows that are its own."""
        result = _aggregate("first", column, options=(True,))
        result = replace(result, filter=self._in_group(0))
        default = value_over_no_rows(aggregate.function)
        return result if is_null(default) else call("coalesce", result, default)

    def _counted(
        self, aggregate: AggregateExpression, tests: Mapping[Canonical, Expression]
    ) -> AggregateExpression:
        own = set(map(canonical, _values(aggregate)))
        number = next(i for i, group in enumerate(self.groups, start=1) if set(group) == own)
        chosen = self._in_group(number)
        if aggregate.filter is not None:
            chosen = call("and", chosen, tests[canonical(aggregate.filter)])
        function = _of_columns(aggregate.function, self.value_columns)
        return replace(aggregate, function=function, distinct=False, filter=chosen)

    def _in_group(self, number: int) -> Call:
        return call("=", self.gid, lit(number))


def _of_columns(function: Call, columns: _Columns) -> Call:
    arguments = tuple(a if a.foldable else columns.get(canonical(a), a) for a in function.arguments)
    return replace(function, arguments=arguments)


def _aggregate(
    name: str, column: AttributeReference, options: tuple[object, ...] = ()
) -> AggregateExpression:
    return AggregateExpression(function=Call(name=name, arguments=(column,), options=options))
