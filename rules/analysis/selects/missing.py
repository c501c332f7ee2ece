"""HAVING, ORDER BY and QUALIFY: names and aggregates that the select list does not have."""

from __future__ import annotations

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Expression,
    GetStructField,
    to_attribute,
)
from ....planner.model.expressions.equality import Canonical, canonical
from ....planner.model.expressions.unresolved import UnresolvedAttribute
from ....planner.model.expressions.windows import WindowExpression
from ....planner.model.plans.logical import Aggregate, Distinct, Filter, Project, UnresolvedQualify
from ....planner.model.plans.query_plan import LogicalPlan, UnaryNode
from ....planner.model.plans.relations import PipeOperator, SubqueryAlias
from ....planner.model.text.quoting import to_sql_expr
from ....planner.model.text.text import pretty
from ....planner.model.tree import replace
from ..context import Context, Scope
from ..expressions.expressions import Resolver
from ..failures import failure, missing_group_by
from ..grouping.grouping_sets import has_aggregate, is_grouping_call
from ..grouping.over_grouping_sets import (
    having_over_sets,
    is_aggregate_function,
    is_expanded,
    ordered_over_sets,
    without_sets,
)
from ..names.hidden_columns import with_hidden_columns
from ..names.names import qualified
from ..windows.over import extract_windows

Expressions = tuple[Expression, ...]


def resolve_over(
    expressions: Expressions,
    child: LogicalPlan,
    context: Context,
    *,
    input_first: bool = False,
    fields: bool = True,
) -> tuple[Expressions, LogicalPlan]:
    """The expressions over the child's columns or what lies below them, and the child for it.

    Over an aggregation ORDER BY means the select list's columns first; HAVING (`input_first`) the
    grouping columns, and in aggregate functions the input's. The columns of a query around this one
    come last. `fields`: whether a field that one of the child's columns lacks is an error, as
    everywhere but in ORDER BY.
    """
    if context.outer is not None:
        inside = replace(context, outer=None)
        found, below = resolve_over(
            expressions, child, inside, input_first=input_first, fields=fields
        )
        if all(e.resolved and _is_covered(e, below) for e in found):
            return found, below
    aggregate = _aggregate_below(child)
    if aggregate is not None:
        reaching, context = with_hidden_columns(expressions, aggregate.child, context)
        if reaching is not aggregate.child:
            child, aggregate = _over_input(child, reaching)
    above = Resolver(child.output, context, ambiguous=False, fields=fields)
    if any(e.exists(is_grouping_call) for e in expressions):
        refuse_without_sets(expressions, child, aggregate, context)
    behind = aggregate is not None and isinstance(child, Project)
    if behind and any(map(_has_aggregate_function, expressions)):
        # A HAVING that needs more than the select list gives has a Project above: ORDER BY then
        # finds grouping columns, but no aggregates, as in Spark.
        return tuple(map(above.resolve, expressions)), child
    if aggregate is None:
        resolved = tuple(map(above.resolve, expressions))
    elif is_expanded(aggregate):
        over = having_over_sets if input_first else ordered_over_sets
        resolved = over(expressions, child.output, aggregate, context)
    else:
        resolved = _over_aggregate(expressions, above, aggregate, input_first, _is_cut(child))
    if all(e.resolved and _is_covered(e, child) for e in resolved):
        return resolved, child
    added, below = _add_missing(resolved, child, context)
    if all(e.resolved and _is_covered(e, below) for e in added):
        return added, below
    if any(e.exists(lambda node: hasattr(node, "error")) for e in resolved):
        return resolved, child
    if all(e.resolved and e.references <= below.output_ids for e in added):
        return added, below  # an aggregate function over plain rows: the checks refuse it
    if aggregate is not None and aggregate is _under_filters(child):
        return _as_far_as_possible(expressions, resolved, child, aggregate, context, input_first)
    # What lies below cannot be reached from here: such names stay unresolved.
    return tuple(map(above.resolve, expressions)), child


def resolve_where(
    written: Expression, condition: Expression, child: LogicalPlan, context: Context
) -> tuple[Expression, LogicalPlan] | None:
    """A condition of WHERE that needs more than the child's columns, and the child for it.

    Right over an aggregation it is as good as a HAVING: `df.groupBy("a").count().where("max(b) >
    1")`. None where the child's columns do, or nothing helps.
    """
    aggregates = _has_aggregate_function(written)
    if aggregates and not isinstance(child, Aggregate):
        return None
    if not aggregates and condition.resolved and condition.references <= child.output_ids:
        return None
    (found,), below = resolve_over((written,), child, context)
    reached = _is_covered(found, below) if aggregates else below is not child
    return (found, below) if found.resolved and reached else None


def _as_far_as_possible(
    expressions: Expressions,
    resolved: Expressions,
    child: LogicalPlan,
    aggregate: Aggregate,
    context: Context,
    fields: bool,
) -> tuple[Expressions, LogicalPlan]:
    """Aggregate functions resolved, other names only where the select list has them.

    If the input has the names at all, the aggregation gives what is aggregated, as for a condition
    that could be resolved: Spark proposes these columns, too.
    """
    above = Resolver(child.output, context, ambiguous=False, fields=fields)
    below = Resolver(aggregate.child.output, context, ambiguous=False, fields=False)
    known = all(_is_known(e, above.scope, below.scope) for e in expressions)
    if not is_expanded(aggregate):

        def resolve(expression: Expression) -> Expression:
            if is_aggregate_function(expression):
                inner = below.resolve(expression)
                return inner if inner.resolved else above.resolve(inner)
            if isinstance(expression, UnresolvedAttribute):
                return above.resolve(expression)
            return expression.map_children(resolve)

        resolved = tuple(above.resolve(resolve(e)) for e in expressions)
    return _add_missing(resolved, child, context) if known else (resolved, child)


def _is_known(expression: Expression, *scopes: Scope) -> bool:
    """Whether each name in it is one of a column's."""
    names = (e.parts for e in expression.walk() if isinstance(e, UnresolvedAttribute))
    return all(any(scope.named(part) for part in parts for scope in scopes) for parts in names)


def _under_filters(plan: LogicalPlan) -> LogicalPlan:
    while isinstance(plan, Filter):
        plan = plan.child
    return plan


def refuse_without_sets(
    expressions: Expressions, child: LogicalPlan, aggregate: Aggregate | None, context: Context
) -> None:
    """`grouping(a)` where nothing is grouped by sets.

    Raises:
        AnalysisError: so it is, and the names in it are columns.
    """
    if aggregate is not None and is_expanded(aggregate):
        return
    columns = child.output if aggregate is None else (*child.output, *aggregate.child.output)
    scope = context.scope(columns)
    for expression in expressions:
        if expression.exists(is_grouping_call) and _is_known(expression, scope):
            raise without_sets()


def _aggregate_below(plan: LogicalPlan) -> Aggregate | None:
    """The aggregation that HAVING and ORDER BY belong to, under filters and their Project."""
    while isinstance(plan, Filter | Project):
        plan = plan.child
    return plan if isinstance(plan, Aggregate) else None


def _over_input(plan: LogicalPlan, reaching: LogicalPlan) -> tuple[LogicalPlan, Aggregate]:
    """The plan and its aggregation over another input."""
    if isinstance(plan, Aggregate):
        new = replace(plan, child=reaching)
        return new, new
    assert isinstance(plan, Filter | Project)
    below, aggregate = _over_input(plan.child, reaching)
    return replace(plan, child=below), aggregate


def _is_cut(plan: LogicalPlan) -> bool:
    """Whether a Project stands over the aggregation's filter."""
    return isinstance(plan, Project) or (isinstance(plan, Filter) and _is_cut(plan.child))


def _has_aggregate_function(expression: Expression) -> bool:
    return expression.exists(is_aggregate_function)


def _is_covered(expression: Expression, plan: LogicalPlan) -> bool:
    return expression.references <= plan.output_ids and not has_aggregate(expression)


def _over_aggregate(
    expressions: Expressions, above: Resolver, aggregate: Aggregate, input_first: bool, cut: bool
) -> Expressions:
    """`cut`: columns that HAVING added are cut off, so that no aggregate function finds any."""
    context = above.context
    below = Resolver(aggregate.child.output, context, ambiguous=False, fields=False)
    grouping = {canonical(e) for e in aggregate.grouping}

    def resolve(expression: Expression) -> Expression:
        if is_aggregate_function(expression):
            if cut:
                return above.resolve(expression)
            first, second = (below, above) if input_first else (above, below)
            inner = first.resolve(expression)
            return inner if inner.resolved else second.resolve(inner)
        if isinstance(expression, UnresolvedAttribute):
            grouped = below.resolve(expression) if input_first else expression
            if grouped.resolved and _is_grouped(grouped, grouping):
                return grouped
            found = above.resolve(expression)
            return found if found.resolved else below.resolve(expression)
        return expression.map_children(resolve)

    return tuple(above.resolve(resolve(e)) for e in expressions)


def _is_grouped(expression: Expression, grouping: set[Canonical]) -> bool:
    if canonical(expression) in grouping:
        return True
    return isinstance(expression, GetStructField) and _is_grouped(expression.child, grouping)


# ------------------------------------------------------------------------------ adding columns


def _add_missing(
    expressions: Expressions, plan: LogicalPlan, context: Context
) -> tuple[Expressions, LogicalPlan]:
    """The expressions over a plan that gives the columns they lack, where it can."""
    if isinstance(plan, Aggregate):
        return _extend_aggregate(expressions, plan)
    if isinstance(plan, Distinct | SubqueryAlias | PipeOperator) or not isinstance(plan, UnaryNode):
        return expressions, plan
    resolver = Resolver(plan.child.output, context, ambiguous=False, fields=False)
    resolved = tuple(resolver.resolve(e) for e in expressions)
    new, child = resolved, plan.child
    covered = plan.output_ids | plan.child.output_ids
    if not all(e.resolved and e.references <= covered and not has_aggregate(e) for e in resolved):
        new, child = _add_missing(resolved, plan.child, context)
    if not isinstance(plan, Project):
        return new, plan if child is plan.child else replace(plan, child=child)
    known = plan.output_ids
    wanted = _columns(new, known, child)
    if not wanted:
        return new, plan if child is plan.child else replace(plan, child=child)
    return new, replace(plan, project_list=(*plan.project_list, *wanted), child=child)


def _columns(
    expressions: Expressions, known: frozenset[int], child: LogicalPlan
) -> list[AttributeReference]:
    """The child's columns that the expressions use and nobody gives them yet, as they occur."""
    given = {a.expr_id: a for a in child.output}
    found: dict[int, AttributeReference] = {}
    for expression in expressions:
        for node in expression.walk():
            if isinstance(node, AttributeReference) and node.expr_id not in known:
                column = given.get(node.expr_id)
                if column is not None:
                    found.setdefault(node.expr_id, column)
    return list(found.values())


def _extend_aggregate(expressions: Expressions, plan: Aggregate) -> tuple[Expressions, LogicalPlan]:
    """Aggregate functions and grouping expressions read from the aggregation's columns."""
    items: list[Expression] = list(plan.aggregates)
    known: dict[Canonical, Expression] = {}
    for item in items:
        child = item.child if isinstance(item, Alias) else item
        known.setdefault(canonical(child), to_attribute(item) if _is_named(item) else item)
    listed = frozenset(known)
    grouping = {canonical(e): e for e in plan.grouping}
    output = plan.output_ids

    def extract(expression: Expression) -> Expression:
        if isinstance(expression, AttributeReference) and expression.expr_id in output:
            return expression
        if not expression.resolved:
            return expression.map_children(extract)
        key = canonical(expression)
        if key in listed:
            return known[key]
        if isinstance(expression, AggregateExpression) or (
            key in grouping and not expression.foldable
        ):
            if key not in known:
                item = expression
                if not _is_named(item):
                    item = Alias(child=expression, name=pretty(expression))
                items.append(item)
                known[key] = to_attribute(item)
            return known[key]
        return expression.map_children(extract)

    new = tuple(extract(e) for e in expressions)
    if len(items) == len(plan.aggregates):
        return new, plan
    return new, replace(plan, aggregates=tuple(items))


def _is_named(expression: Expression) -> bool:
    return isinstance(expression, AttributeReference | Alias) and expression.resolved


def restored(plan: LogicalPlan, before: LogicalPlan) -> LogicalPlan:
    """The plan cut to the columns that were there before some were added."""
    if len(plan.output) == len(before.output):
        return plan
    return Project(project_list=before.output, child=plan)


def resolve_qualify(plan: UnresolvedQualify, child: LogicalPlan, context: Context) -> LogicalPlan:
    """`QUALIFY rank() OVER (..) = 1`: a Filter over a column that holds the function's value.

    The condition sees the select list's columns and, behind them, those of the input.

    Raises:
        AnalysisError: neither the condition nor the select list has a function with OVER, or the
            condition has an aggregate function without.
    """
    _refuse_aggregates(plan)
    (condition,), below = resolve_over((plan.condition,), child, context)
    if not condition.resolved:
        return replace(plan, condition=condition, child=below)
    columns: list[Alias] = []

    def computed(node: Expression) -> Expression:
        if not isinstance(node, WindowExpression):
            return node.map_children(computed)
        columns.append(Alias(child=node, name=pretty(qualified(node))))
        return columns[-1].to_attribute()

    condition = computed(condition)
    if columns:
        items = (*below.output, *columns)
        below = extract_windows(Project(project_list=items, child=below, origin=plan.origin))
    elif not plan.listed:
        raise failure("QUALIFY_REQUIRES_WINDOW_FUNCTION")
    return restored(Filter(condition=condition, child=below, origin=plan.origin), child)


def _refuse_aggregates(plan: UnresolvedQualify) -> None:
    def visit(node: Expression, argument: bool) -> None:
        if is_aggregate_function(node):
            raise missing_group_by(plan.origin) if argument else _not_allowed(node)
        if not isinstance(node, WindowExpression):
            for child in node.children:
                visit(child, argument)
            return
        for child in node.children:
            # The function with OVER itself may aggregate; what it is over may not.
            for part in child.children if child is node.function else (child,):
                visit(part, True)

    visit(plan.condition, False)


def _not_allowed(function: Expression) -> AnalysisError:
    return failure(
        "QUALIFY_AGGREGATE_NOT_ALLOWED", origin=function.origin, aggregateExpr=to_sql_expr(function)
    )
