"""Select lists that use their own aliases, and those of pipes."""

from __future__ import annotations

from collections.abc import Callable

from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Expression,
    Literal,
    lit,
    to_attribute,
)
from ....planner.model.expressions.equality import Canonical, canonical
from ....planner.model.expressions.unresolved import (
    PipeExpression,
    UnresolvedAlias,
    UnresolvedAttribute,
    UnresolvedPipeAggregateOrdinal,
    UnresolvedStar,
)
from ....planner.model.expressions.windows import WindowExpression
from ....planner.model.frozen import dataclass
from ....planner.model.plans.logical import Aggregate, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import STRING
from ....planner.model.text.quoting import to_sql_expr, to_sql_id
from ....planner.model.text.text import plan_text, pretty
from ....planner.model.tree import replace
from ..expressions.expressions import Resolver
from ..failures import failure
from ..names.extraction import extract

Expressions = tuple[Expression, ...]
Rewrite = Callable[[Expression], Expression]


def without_pipe(item: Expression, shown: Rewrite | None = None) -> Expression:
    """An entry of a select list with what its PipeExpression holds, once that is resolved.

    Args:
        item: the entry.
        shown: what takes the place of a part in messages.

    Raises:
        AnalysisError: it aggregates where only AGGREGATE may, it does not in AGGREGATE, or it is a
            star.
    """
    if not isinstance(item, Alias | UnresolvedAlias) or not isinstance(item.child, PipeExpression):
        return item
    pipe = item.child
    if isinstance(pipe.child, UnresolvedStar):
        raise failure(
            "INVALID_USAGE_OF_STAR_OR_REGEX", elem="'*'", prettyName="expression `pipeexpression`"
        )
    if not pipe.child.resolved:
        return item
    function = _first_aggregate(pipe.child)
    if pipe.aggregates and function is None:
        is_column = isinstance(pipe.child, AttributeReference)
        raise failure(
            "PIPE_OPERATOR_AGGREGATE_EXPRESSION_CONTAINS_NO_AGGREGATE_FUNCTION",
            origin=pipe.origin if is_column else pipe.child.origin,
            expr=plan_text(pipe.child if shown is None else pipe.child.transform_up(shown)),
        )
    if function is not None and pipe.clause not in ("AGGREGATE", "SELECT"):
        raise failure(
            "PIPE_OPERATOR_CONTAINS_AGGREGATE_FUNCTION",
            origin=function.origin,
            expr=plan_text(function.function),
            clause=pipe.clause,
        )
    return replace(item, child=pipe.child)


def _first_aggregate(expression: Expression) -> AggregateExpression | None:
    """The first aggregate function without OVER, from the top and the left."""
    if isinstance(expression, AggregateExpression):
        return expression
    if isinstance(expression, WindowExpression):
        return None
    found = map(_first_aggregate, expression.children)
    return next((function for function in found if function is not None), None)


def with_positions(items: Expressions, columns: tuple[AttributeReference, ...]) -> Expressions:
    """The entries with the input's columns in the place of their positions.

    Raises:
        AnalysisError: the input has no such position.
    """

    def column(item: Expression) -> Expression:
        if not isinstance(item, UnresolvedPipeAggregateOrdinal):
            return item
        if 1 <= item.ordinal <= len(columns):
            return columns[item.ordinal - 1]
        raise failure(
            "GROUP_BY_POS_OUT_OF_RANGE", origin=item.origin, index=item.ordinal, size=len(columns)
        )

    return tuple(map(column, items))


Items = tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True)
class LateralReference(AttributeReference):
    """A use of an alias further left; its name is how generated column names show it."""

    alias: str = ""

    def column(self) -> AttributeReference:
        """The column that the alias makes."""
        return AttributeReference(
            name=self.alias,
            type_=self.type_,
            is_nullable=self.is_nullable,
            expr_id=self.expr_id,
            metadata=self.metadata,
        )


def refer_to_aliases(items: Items, resolver: Resolver) -> Items:
    """The entries with unknown names read as aliases further left, where there is one.

    Raises:
        AnalysisError: several aliases have the name, or an aggregate function uses one.
    """
    implicit = resolver.context.conf.flag("spark.sql.lateralColumnAlias.enableImplicitResolution")
    if not implicit or all(item.resolved for item in items):
        return items
    known: dict[str, list[Alias]] = {}
    result: list[Expression] = []
    for item in items:
        if not item.resolved and known:
            swapped = _refer(item, known, resolver)
            if swapped is not item:
                item = _named_field(item, resolver.resolve(swapped))
                _refuse_in_aggregates(item)
                item = without_pipe(item, shown=_as_named)
        result.append(item)
        if isinstance(item, Alias) and item.resolved:
            known.setdefault(resolver.scope.fold(item.name), []).append(item)
    return tuple(result)


def _named_field(written: Expression, found: Expression) -> Expression:
    """A field of an alias takes the last part of the name as written."""
    inner = written.child if isinstance(written, UnresolvedAlias) else written
    if isinstance(inner, UnresolvedAttribute) and len(inner.parts) > 1 and found.resolved:
        return Alias(child=found, name=inner.parts[-1], origin=inner.origin)
    return found


def _as_named(reference: Expression) -> Expression:
    """What prints as the name alone, without the id of the column."""
    if isinstance(reference, LateralReference):
        return Literal(value=reference.name, type_=STRING)
    return reference


def _refuse_in_aggregates(item: Expression) -> None:
    for function in item.collect(AggregateExpression):
        for used in function.collect(LateralReference):
            raise failure(
                "UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_AGGREGATE_FUNC",
                lca=to_sql_id(used.alias),
                aggFunc=to_sql_expr(function),
            )


def _refer(expression: Expression, known: dict[str, list[Alias]], resolver: Resolver) -> Expression:
    if not isinstance(expression, UnresolvedAttribute):
        return expression.map_children(lambda e: _refer(e, known, resolver))
    found = known.get(resolver.scope.fold(expression.parts[0]))
    if not found:
        return expression
    name = to_sql_id(expression.parts[:1])
    if len(found) > 1:
        raise failure("AMBIGUOUS_LATERAL_COLUMN_ALIAS", name=name, n=len(found))
    column = found[0].to_attribute()
    result: Expression = LateralReference(
        name=f"lateralAliasReference({'.'.join(expression.parts)})",
        alias=column.name,
        type_=column.type_,
        is_nullable=column.is_nullable,
        expr_id=column.expr_id,
        metadata=column.metadata,
    )
    checked: Expression = column
    for part in expression.parts[1:]:
        # A refusal calls the alias by its own name.
        checked = extract(checked, lit(part), resolver.context, expression.origin)
        result = extract(result, lit(part), resolver.context, expression.origin)
    return result


def used_aliases(items: Items) -> frozenset[int]:
    """The ids of aliases that entries further right use."""
    return frozenset(r.expr_id for item in items for r in item.collect(LateralReference))


def expand_lateral(plan: LogicalPlan) -> LogicalPlan:
    """The operator over the Projects that compute the aliases it uses itself."""
    match plan:
        case Project() if plan.resolved and used_aliases(plan.project_list):
            return _project(plan)
        case Aggregate() if plan.resolved and used_aliases(plan.aggregates):
            return _aggregate(plan)
    return plan


def _project(plan: Project) -> LogicalPlan:
    used = used_aliases(plan.project_list)
    below: list[Expression] = []
    above: list[Expression] = []
    for item in plan.project_list:
        if isinstance(item, Alias) and item.expr_id in used:
            below.append(item)
            above.append(to_attribute(item))
        else:
            above.append(item.transform_up(_plain))
    inner = replace(plan, project_list=(*plan.child.output, *below), origin=None)
    return replace(plan, project_list=tuple(above), child=expand_lateral(inner))


def _plain(expression: Expression) -> Expression:
    return expression.column() if isinstance(expression, LateralReference) else expression


def _aggregate(plan: Aggregate) -> LogicalPlan:
    grouping = {canonical(e) for e in plan.grouping}
    inputs: dict[Canonical, Expression] = {}

    def extract_inputs(expression: Expression) -> Expression:
        key = canonical(expression)
        grouped = key in grouping and not isinstance(expression, Alias)
        if grouped or isinstance(expression, AggregateExpression):
            if key not in inputs:
                named = isinstance(expression, AttributeReference)
                inputs[key] = (
                    expression if named else Alias(child=expression, name=pretty(expression))
                )
            return to_attribute(inputs[key])
        return expression.map_children(extract_inputs)

    items = tuple(extract_inputs(item) for item in plan.aggregates)
    inner = replace(plan, aggregates=tuple(inputs.values()))
    return expand_lateral(Project(project_list=items, child=inner, origin=plan.origin))
