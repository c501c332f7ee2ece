"""Operators over one input: WATERMARK, deduplication, observed metrics, hints."""

from __future__ import annotations

from ...planner.model.errors import AnalysisError
from ...planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Cast,
    Expression,
    Literal,
    Origin,
    SortOrder,
    without_alias,
)
from ...planner.model.expressions.unresolved import UnresolvedAttribute, UnresolvedStar
from ...planner.model.plans.hints import JOIN_STRATEGIES, STATE_NAME, ResolvedHint, UnresolvedHint
from ...planner.model.plans.logical import (
    CollectMetrics,
    Deduplicate,
    EventTimeWatermark,
    GlobalLimit,
    Project,
)
from ...planner.model.plans.partitions import (
    RebalancePartitions,
    Repartition,
    RepartitionByExpression,
    positive,
)
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.plans.relations import CTERelationRef, SubqueryAlias, View
from ...planner.model.text.quoting import to_sql_expr
from ...planner.model.text.text import pretty
from ...planner.model.tree import replace
from ..common.trees import keeps_state, rewrite_up
from .context import Context, Scope
from .expressions.expressions import Resolver
from .failures import failure
from .names.names import named, qualified
from .selects.missing import resolve_over, restored
from .selects.selects import resolve_items

_HINT = "Ask for at least one partition."


def resolve_watermark(
    plan: EventTimeWatermark, child: LogicalPlan, context: Context
) -> LogicalPlan:
    """The watermark on a column of the child, or on a Project that computes it.

    Raises:
        AnalysisError: a star, or an expression without a name.
    """
    if isinstance(plan.event_time, UnresolvedStar):
        raise failure(
            "INVALID_USAGE_OF_STAR_OR_REGEX",
            origin=plan.event_time.origin,
            hint="Name one column of type TIMESTAMP.",
            elem="'*'",
            prettyName="UnresolvedEventTimeWatermark",
        )
    event_time = Resolver(child.output, context).resolve(plan.event_time)
    if isinstance(event_time, AttributeReference):
        known = {a.expr_id: a for a in child.output}
        # The name is as written here, whatever the case of the column's own letters.
        named = replace(known[event_time.expr_id], name=event_time.name)
        return replace(plan, event_time=named, child=child)
    if not event_time.resolved:
        return replace(plan, event_time=event_time, child=child)
    event_time = _with_given_name(event_time, plan.event_time)
    if not isinstance(event_time, Alias):
        text = pretty(qualified(event_time))
        raise failure(
            "REQUIRES_EXPLICIT_NAME_IN_WATERMARK_CLAUSE",
            sqlExpr=f"{text} AS `{pretty(event_time)}`",
        )
    projected = Project(project_list=(event_time, *child.output), child=child)
    return replace(plan, event_time=event_time.to_attribute(), child=projected)


def _with_given_name(event_time: Expression, written: Expression) -> Expression:
    """With the name that Spark counts as given: a field's, a cast column's, a constant's text."""
    if isinstance(event_time, Alias):
        return event_time
    if isinstance(written, UnresolvedAttribute):
        return Alias(child=event_time, name=written.parts[-1])
    if isinstance(event_time, Cast) and isinstance(event_time.child, AttributeReference):
        return Alias(child=event_time, name=event_time.child.name)
    if isinstance(event_time, Literal):
        return Alias(child=event_time, name=pretty(event_time))
    return event_time


def without_watermarks_of_tables(plan: LogicalPlan) -> LogicalPlan:
    """The resolved plan without the watermarks of what is no stream: they mean nothing there.

    Columns above keep the delay that they had taken from it, as in Spark.
    """

    def drop(node: LogicalPlan) -> LogicalPlan:
        if isinstance(node, EventTimeWatermark) and not node.child.is_streaming:
            return node.child
        return node

    return rewrite_up(plan, drop, frozenset((EventTimeWatermark,)))


def resolve_deduplicate(plan: Deduplicate, child: LogicalPlan, context: Context) -> LogicalPlan:
    """The deduplication by columns: all of them, or every one that has a key's name.

    Raises:
        AnalysisError: no column has a key's name.
    """
    if any(isinstance(key, UnresolvedStar) for key in plan.keys):
        return replace(plan, keys=child.output, child=child)
    scope = context.scope(child.output)
    keys: list[Expression] = []
    for key in dict.fromkeys(plan.keys):
        found = _key_columns(key, scope)
        if not found:
            raise _unknown_key(key, child)
        keys.extend(found)
    return replace(plan, keys=tuple(keys), child=child)


def _key_columns(key: Expression, scope: Scope) -> list[AttributeReference]:
    """All columns of a key's name: deduplication takes every one of them."""
    if isinstance(key, AttributeReference):
        return [key]
    if not isinstance(key, UnresolvedAttribute):
        return []
    if len(key.parts) == 1:
        return scope.named(key.parts[0])
    found = scope.find(key.parts)
    return [] if found is None or found[1] else [found[0]]


def _unknown_key(key: Expression, child: LogicalPlan) -> AnalysisError:
    names = ", ".join(column.name for column in child.output)
    name = ".".join(key.parts) if isinstance(key, UnresolvedAttribute) else pretty(key)
    return failure(
        "UNRESOLVED_COLUMN_AMONG_FIELD_NAMES",
        origin=key.origin,
        hint="Deduplicate by columns of the input.",
        subject=key.parts if isinstance(key, UnresolvedAttribute) else (),
        colName=name,
        fieldNames=names,
    )


def resolve_metrics(plan: CollectMetrics, resolver: Resolver) -> CollectMetrics:
    """The metrics resolved over the columns that pass, and named.

    Raises:
        AnalysisError: a column stands outside of an aggregate.
    """
    metrics = tuple(named(item) for item in resolve_items(plan.metrics, resolver))
    for metric in metrics:
        _check(without_alias(metric), plan)
    return replace(plan, metrics=metrics)


def _check(expression: Expression, plan: CollectMetrics) -> None:
    if isinstance(expression, AggregateExpression):
        return
    if isinstance(expression, AttributeReference):
        raise failure(
            "INVALID_OBSERVED_METRICS.NON_AGGREGATE_FUNC_ARG_IS_ATTRIBUTE",
            origin=plan.origin,
            expr=to_sql_expr(expression),
        )
    for child in expression.children:
        _check(child, plan)


def resolve_hint(hint: UnresolvedHint, child: LogicalPlan) -> LogicalPlan:
    """The hint over the tables that it names, or over the query if it names none.

    A table is named by its alias. What is no hint for joins, or names no table, is left out.

    Raises:
        AnalysisError: STATE_NAME without a name, or where there is no operator with state.
    """
    if hint.name.upper() == STATE_NAME:
        return _with_state_name(hint, child) if child.resolved else replace(hint, child=child)
    strategy = JOIN_STRATEGIES.get(hint.name.upper())
    if strategy is None:
        return child
    if not hint.tables:
        return ResolvedHint(strategy=strategy, child=child)
    names = {table[-1].lower() for table in hint.tables}
    return _over_tables(child, names, strategy)


def _with_state_name(hint: UnresolvedHint, plan: LogicalPlan) -> LogicalPlan:
    """The plan whose nearest operator with state has the name; it travels with its origin."""
    name = ".".join(hint.tables[0]).strip("'\"") if len(hint.tables) == 1 else ""
    found = next((node for node in plan.walk() if _takes_name(node)), None)
    if not name or found is None:
        raise AnalysisError.of(
            "STATEPLAN_OPERATOR_HINT_MISPLACED" if name else "STATEPLAN_OPERATOR_HINT_EMPTY"
        )
    origin = found.origin or hint.origin or Origin(line=1, position=0)
    named = replace(found, origin=replace(origin, state_name=name))
    return plan.transform_up(lambda node: named if node is found else node)


def _takes_name(plan: LogicalPlan) -> bool:
    return keeps_state(plan) or (isinstance(plan, GlobalLimit) and plan.is_streaming)


def _over_tables(plan: LogicalPlan, names: set[str], strategy: str) -> LogicalPlan:
    match plan:
        case SubqueryAlias(alias=alias) if alias.lower() in names:
            return ResolvedHint(strategy=strategy, child=plan)
        case SubqueryAlias() | View() | CTERelationRef() | ResolvedHint():
            return plan  # another query's tables
        case _:
            return plan.map_children(lambda child: _over_tables(child, names, strategy))


def resolve_partition_hint(
    hint: UnresolvedHint, child: LogicalPlan, context: Context
) -> LogicalPlan:
    """The operator that the hint stands for; names that are no columns stay unresolved.

    Raises:
        AnalysisError: parameters that the hint does not take.
    """
    name = hint.name.upper()
    number: int | None = None
    match hint.parameters:
        case (Literal(value=int(number)), *rest):
            parameters = tuple(rest)
        case parameters:
            pass
    if name == "COALESCE":
        if number is None or parameters:
            raise AnalysisError.of("_LEGACY_ERROR_TEMP_1048", hintName=name)
        return Repartition(num_partitions=positive(number, _HINT), shuffle=False, child=child)
    wrong = next((p for p in parameters if not isinstance(p, UnresolvedAttribute)), None)
    if wrong is not None:
        raise AnalysisError.of(
            "_LEGACY_ERROR_TEMP_1047", hintName=name, invalidParams=to_sql_expr(wrong)
        )
    if number is not None:
        positive(number, _HINT)
    if name == "REBALANCE":
        resolver = Resolver(child.output, context)
        by = tuple(resolver.resolve(p) for p in parameters)
        return RebalancePartitions(by=by, num_partitions=number, child=child)
    if name == "REPARTITION" and not parameters and number is not None:
        return Repartition(num_partitions=number, shuffle=True, child=child)
    # Columns that the select list leaves out are there as well.
    by, below = resolve_over(parameters, child, context)
    if name == "REPARTITION_BY_RANGE":
        by = tuple(SortOrder(child=e) for e in by)
    return restored(RepartitionByExpression(by=by, num_partitions=number, child=below), child)
