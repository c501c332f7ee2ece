"""PIVOT: aggregates once per value of a column, side by side; UNPIVOT: rows expanded."""

from __future__ import annotations

from dataclasses import dataclass

from ....planner.model.errors import AnalysisError, PlanningError
from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Cast,
    Expression,
    Literal,
    lit,
    to_attribute,
    without_alias,
)
from ....planner.model.expressions.evaluation import evaluate
from ....planner.model.functions.aggregates_collections import keeps_values_of
from ....planner.model.functions.coercion import common_type
from ....planner.model.ids import fresh_id
from ....planner.model.plans.logical import Aggregate, Expand, Filter, Project
from ....planner.model.plans.pivot import UnresolvedPivot, UnresolvedUnpivot
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import (
    NULL,
    STRING,
    DataType,
    StructType,
    is_orderable,
    quote_if_needed,
    same_type,
)
from ....planner.model.text.quoting import to_sql_expr, to_sql_id
from ....planner.model.text.text import pretty
from ....planner.model.tree import replace
from ...optimization.expressions.failing_constants import refuse_failing
from ..context import Context
from ..expressions.expressions import Resolver
from ..failures import failure
from ..names.names import named, qualified
from ..selects.selects import resolve_items
from ..windows.time_windows import expand_windows


def resolve_pivot(plan: UnresolvedPivot, child: LogicalPlan, context: Context) -> LogicalPlan:
    """`Pivot c IN (1, 2): sum(x)` -> `Project [g, p[0] AS 1, p[1] AS 2], Aggregate [g]
    [pivotfirst(c, sum(x), 1, 2) AS p], Aggregate [g, c] [sum(x)]`.

    Where the results are no numbers: `Aggregate [g] [max(if (c <=> 1) x else null) AS 1, ...]`.

    Raises:
        AnalysisError: something that is no aggregate, values that are no constants or that cannot
            be compared with the column.
    """
    resolver = Resolver(child.output, context)
    column = resolver.resolve(plan.column)
    values = tuple(resolver.resolve(e) for e in plan.values)
    aggregates = tuple(resolver.resolve(e) for e in plan.aggregates)
    grouping = plan.grouping and tuple(named(resolver.resolve(e)) for e in plan.grouping)
    if not all(e.resolved for e in (column, *values, *aggregates, *(grouping or ()))):
        draft = replace(
            plan,
            column=column,
            values=values,
            aggregates=aggregates,
            grouping=grouping,
            child=child,
        )
        expanded, below = expand_windows(draft, child, context)
        if below is child:
            return draft
        assert isinstance(expanded, UnresolvedPivot)
        return resolve_pivot(expanded, below, context)
    for aggregate in aggregates:
        _check_aggregate(aggregate)
    constants = tuple(_constant(value, column, plan, context) for value in values)
    if context.ansi:
        for constant in constants:
            _compute(constant)
    if grouping is None:
        mentioned = column.references.union(*(e.references for e in aggregates))
        grouping = tuple(a for a in child.output if a.expr_id not in mentioned)
    pivot = _Pivot(column, values, constants, aggregates, grouping, child, context)
    if all(keeps_values_of(e.data_type) for e in aggregates):
        return pivot.in_two_steps()
    return pivot.in_one_step()


@dataclass(frozen=True)
class _Pivot:
    """A pivot whose expressions are resolved; `constants` are the values as the column's type."""

    column: Expression
    values: tuple[Expression, ...]
    constants: tuple[Expression, ...]
    aggregates: tuple[Expression, ...]
    grouping: tuple[Expression, ...]
    child: LogicalPlan
    context: Context

    def in_two_steps(self) -> LogicalPlan:
        """The aggregates per group and value, then one array of them per group."""
        results = tuple(Alias(child=without_alias(e), name=_sql(e)) for e in self.aggregates)
        column = self.column
        key = (
            column
            if isinstance(column, AttributeReference)
            else Alias(child=column, name="__pivot_col")
        )
        first = Aggregate(
            grouping=(*map(without_alias, self.grouping), without_alias(key)),
            aggregates=(*self.grouping, key, *results),
            child=self.child,
        )
        groups = tuple(to_attribute(e) for e in self.grouping)
        literals = tuple(_literal(e) for e in self.constants)
        arrays = tuple(
            Alias(
                child=AggregateExpression(
                    function=Call(
                        name="pivotfirst",
                        arguments=(to_attribute(key), result.to_attribute()),
                        options=literals,
                    )
                ),
                name=f"__pivot_{_sql(aggregate)} AS {quote_if_needed(result.name)}",
            )
            for result, aggregate in zip(results, self.aggregates, strict=True)
        )
        second = Aggregate(grouping=groups, aggregates=(*groups, *arrays), child=first)
        columns = tuple(
            Alias(
                child=self.context.call("get_array_item", array.to_attribute(), lit(index)),
                name=self._name(value, aggregate),
            )
            for index, value in enumerate(self.values)
            for array, aggregate in zip(arrays, self.aggregates, strict=True)
        )
        return Project(project_list=(*groups, *columns), child=second)

    def in_one_step(self) -> LogicalPlan:
        """Each aggregate over arguments that are null on the rows of other values."""
        columns = tuple(
            Alias(
                child=without_alias(self._only(aggregate, constant)),
                name=self._name(value, aggregate),
            )
            for value, constant in zip(self.values, self.constants, strict=True)
            for aggregate in self.aggregates
        )
        return Aggregate(
            grouping=tuple(map(without_alias, self.grouping)),
            aggregates=(*self.grouping, *columns),
            child=self.child,
        )

    def _only(self, aggregate: Expression, constant: Expression) -> Expression:
        same = self.context.call("<=>", self.column, constant)

        def masked(argument: Expression) -> Expression:
            return self.context.call("if", same, argument, Literal(value=None, type_=NULL))

        def over_value(node: Expression) -> Expression:
            if not isinstance(node, AggregateExpression):
                return node
            call = node.function
            masks = 1 if call.spec.one_name == "percentile_approx" else len(call.arguments)
            arguments = (*map(masked, call.arguments[:masks]), *call.arguments[masks:])
            function = replace(call, arguments=arguments)
            return replace(node, function=function, result_id=fresh_id())

        return aggregate.transform_up(over_value)

    def _name(self, value: Expression, aggregate: Expression) -> str:
        if isinstance(value, Alias | AttributeReference):
            text = value.name
        else:
            text = self._shown(value)
        if len(self.aggregates) == 1:
            return text
        suffix = aggregate.name if isinstance(aggregate, Alias) else pretty(aggregate)
        return f"{text}_{suffix}"

    def _shown(self, value: Expression) -> str:
        """The value as a string."""
        if isinstance(value, Call) and isinstance(value.data_type, StructType):
            return "{" + ", ".join(map(self._shown, value.arguments[1::2])) + "}"
        text = evaluate(self.context.cast(value, STRING))
        if text is None:
            return pretty(value)
        return "null" if text.value is None else str(text.value)


def _sql(expression: Expression) -> str:
    if isinstance(expression, Alias):
        return f"{_sql(expression.child)} AS {quote_if_needed(expression.name)}"
    return pretty(qualified(expression))


def _compute(constant: Expression) -> None:
    """Analysis computes the values, so it is analysis that refuses those that fail."""
    try:
        refuse_failing(constant)
    except PlanningError as error:
        raise AnalysisError(error.condition, error.message, hint=error.hint) from None


def _literal(constant: Expression) -> Expression:
    """The value of a constant, where it is known."""
    value = evaluate(constant)
    if value is not None:
        return value
    kind = constant.data_type
    row = evaluate(constant.child) if isinstance(constant, Cast) else None
    if row is None or not isinstance(kind, StructType) or not isinstance(row.value, tuple):
        return constant
    given = row.data_type
    assert isinstance(given, StructType)
    if all(
        same_type(a.data_type, b.data_type) for a, b in zip(given.fields, kind.fields, strict=True)
    ):
        return Literal(value=row.value, type_=kind)
    return constant


def _check_aggregate(expression: Expression) -> None:
    if isinstance(expression, AggregateExpression):
        return
    if isinstance(expression, AttributeReference):
        text = ".".join((*expression.qualifier, expression.name))
        raise failure("_LEGACY_ERROR_TEMP_1006", sql=text)
    for child in expression.children:
        _check_aggregate(child)


def _constant(
    value: Expression, column: Expression, plan: UnresolvedPivot, context: Context
) -> Expression:
    bare = without_alias(value)
    if not is_orderable(column.data_type):
        raise failure("INCOMPARABLE_PIVOT_COLUMN", columnName=pretty(column))
    if not bare.foldable:
        raise failure("NON_LITERAL_PIVOT_VALUES", expression=to_sql_expr(value))
    if same_type(bare.data_type, column.data_type):
        return bare
    return Cast(
        child=bare,
        type_=column.data_type,
        mode=context.mode,
        time_zone=context.time_zone,
        origin=plan.origin,
    )


def resolve_unpivot(plan: UnresolvedUnpivot, child: LogicalPlan, context: Context) -> LogicalPlan:
    """`Unpivot (v FOR k IN (a, b)), t(id, a, b)` -> `Filter v, Expand [id, a, a], [id, b, b], t`.

    Raises:
        AnalysisError: there is no column to take, or those of a value have no common type.
    """
    resolver = Resolver(child.output, context)
    ids = None if plan.ids is None else tuple(map(named, resolve_items(plan.ids, resolver)))
    if plan.columns is None:
        columns = _all_but(ids or (), child)
    else:
        columns = tuple(taken for entry in plan.columns for taken in _entry(entry, plan, resolver))
    if not all(e.resolved for entry in ((ids or ()), *columns) for e in entry):
        return replace(plan, ids=ids, columns=columns, child=child)
    if not columns:
        raise failure("UNPIVOT_REQUIRES_VALUE_COLUMNS")
    if any(len(entry) != len(plan.value_names) for entry in columns):
        raise failure("UNPIVOT_VALUE_SIZE_MISMATCH", names=len(plan.value_names))
    if ids is None:
        chosen = frozenset().union(*(e.references for entry in columns for e in entry))
        ids = tuple(a for a in child.output if a.expr_id not in chosen)
    kinds = [_common([entry[i] for entry in columns], context) for i in range(len(columns[0]))]
    values = tuple(
        AttributeReference(name=name, type_=kind)
        for name, kind in zip(plan.value_names, kinds, strict=True)
    )
    name = AttributeReference(name=plan.name_column, type_=STRING, is_nullable=False)
    kept = tuple(map(without_alias, ids))
    rows = tuple(
        (
            *kept,
            lit(own if own is not None else "_".join(_name(e) for e in entry)),
            *(_as(without_alias(e), kind, context) for e, kind in zip(entry, kinds, strict=True)),
        )
        for own, entry in zip(plan.names or (None,) * len(columns), columns, strict=True)
    )
    attributes = (*map(to_attribute, ids), name, *values)
    expanded = Expand(projections=rows, attributes=attributes, child=child, origin=plan.origin)
    if plan.include_nulls:
        return expanded
    present = context.call("isnotnull", context.call("coalesce", values[0]))
    for value in values[1:]:
        present = context.call("or", present, context.call("isnotnull", value))
    return Filter(condition=present, child=expanded)


def _entry(
    entry: tuple[Expression, ...], plan: UnresolvedUnpivot, resolver: Resolver
) -> list[tuple[Expression, ...]]:
    """An entry's columns; a select list's star is as many entries."""
    if plan.ids is None:
        return [tuple(map(resolver.resolve, entry))]
    return [(named(e),) for e in resolve_items(entry, resolver)]


def _all_but(ids: tuple[Expression, ...], child: LogicalPlan) -> tuple[tuple[Expression, ...], ...]:
    computed = [f'"{pretty(e)}"' for e in ids if not isinstance(e, AttributeReference)]
    if computed and all(e.resolved for e in ids):
        raise failure(
            "UNPIVOT_REQUIRES_ATTRIBUTES",
            given="id",
            empty="value",
            expressions=", ".join(computed),
        )
    kept = {e.expr_id for e in ids if isinstance(e, AttributeReference)}
    return tuple((a,) for a in child.output if a.expr_id not in kept)


def _name(column: Expression) -> str:
    return column.name if isinstance(column, AttributeReference | Alias) else ""


def _as(value: Expression, kind: DataType, context: Context) -> Expression:
    return value if same_type(value.data_type, kind) else context.cast(value, kind)


def _common(columns: list[Expression], context: Context) -> DataType:
    # Spark has one rule for this with and without ANSI.
    conf = context.conf.updated({"spark.sql.ansi.enabled": "false"})
    kind = common_type([column.data_type for column in columns], conf, strings=False)
    if kind is None:
        raise _no_common_type(columns)
    return kind


def _no_common_type(columns: list[Expression]) -> AnalysisError:
    by_type: dict[str, list[str]] = {}
    for column in columns:
        by_type.setdefault(column.data_type.sql, []).append(to_sql_id((_name(column),)))
    listed = ", ".join(f'"{kind}" ({_first(names)})' for kind, names in sorted(by_type.items()))
    return failure("UNPIVOT_VALUE_DATA_TYPE_MISMATCH", types=listed)


def _first(names: list[str]) -> str:
    """Three names at most, in order."""
    return ", ".join(sorted(names)[:3] + ["..."] * (len(names) > 3))
