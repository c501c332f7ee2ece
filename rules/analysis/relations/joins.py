"""Joins: ON, USING and NATURAL, with the columns of a table joined to itself kept apart."""

from __future__ import annotations

from ....planner.model.expressions.core import Alias, AttributeReference, Expression
from ....planner.model.plans.logical import Join, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.text.quoting import to_sql_id
from ....planner.model.tree import replace
from ...common.fresh_ids import keep_apart
from ..context import Context
from ..expressions.expressions import Resolver
from ..failures import failure
from ..names.hidden_columns import columns_hidden_by_using, cut_back, with_hidden_columns


def resolve_join(plan: Join, context: Context) -> LogicalPlan:
    """The join with its condition resolved; USING and NATURAL become ON below a Project.

    Raises:
        AnalysisError: a column of USING that a side does not have.
    """
    if not (plan.left.resolved and plan.right.resolved):
        return plan
    plan = replace(plan, right=keep_apart(plan.left, plan.right))
    if plan.using or plan.natural:
        return _using(plan, context)
    if plan.condition is None:
        return plan
    return _on(plan, plan.condition, context)


def _on(plan: Join, condition: Expression, context: Context) -> LogicalPlan:
    """The join with its condition resolved, over its sides' hidden columns too."""
    left = with_hidden_columns((condition,), plan.left, context)
    right = with_hidden_columns((condition,), plan.right, context)
    resolver = Resolver(context.scope((*left.output, *right.output)), context)
    resolved = replace(plan, left=left, right=right, condition=resolver.resolve(condition))
    return cut_back(resolved, resolved.output_ids - plan.output_ids)


def _using(plan: Join, context: Context) -> LogicalPlan:
    left, right = plan.left.output, plan.right.output
    scope = context.scope(())
    names = plan.using
    if plan.natural:
        names = tuple(a.name for a in left if any(scope.same(a.name, b.name) for b in right))
    pairs = [
        (_key(name, plan.left, "left", context), _key(name, plan.right, "right", context))
        for name in names
    ]
    condition: Expression | None = None
    for one, other in pairs:
        equal = context.call("=", one, other)
        condition = equal if condition is None else context.call("and", condition, equal)
    joined = replace(plan, using=(), natural=False, condition=condition)
    left_keys = {one.expr_id for one, _ in pairs}
    right_keys = {other.expr_id for _, other in pairs}
    rest_left = [a for a in left if a.expr_id not in left_keys]
    rest_right = [a for a in right if a.expr_id not in right_keys]
    given = {a.expr_id: a for a in joined.output}
    items: list[Expression]
    hidden: list[AttributeReference] = []
    match plan.join_type:
        case "LeftSemi" | "LeftAnti":
            items = [*(one for one, _ in pairs), *rest_left]
        case "RightOuter":
            items = [*(other for _, other in pairs), *rest_left, *rest_right]
            hidden = [one for one, _ in pairs]
        case "FullOuter":
            merged = [_merged(one, other, given, context) for one, other in pairs]
            items = [*merged, *rest_left, *rest_right]
            hidden = [*(one for one, _ in pairs), *(other for _, other in pairs)]
        case _:
            items = [*(one for one, _ in pairs), *rest_left, *rest_right]
            hidden = [other for _, other in pairs]
    items = [given.get(i.expr_id, i) if isinstance(i, AttributeReference) else i for i in items]
    found = (*(given[column.expr_id] for column in hidden), *columns_hidden_by_using(joined))
    return Project(project_list=tuple(items), child=joined, hidden=found)


def _merged(
    one: AttributeReference,
    other: AttributeReference,
    given: dict[int, AttributeReference],
    context: Context,
) -> Alias:
    value = context.call("coalesce", given[one.expr_id], given[other.expr_id])
    return Alias(child=value, name=one.name)


def _key(name: str, side: LogicalPlan, which: str, context: Context) -> AttributeReference:
    found = context.scope(side.output).named(name)
    if not found:
        columns = ", ".join(to_sql_id(a.name) for a in sorted(side.output, key=lambda a: a.name))
        raise failure(
            "UNRESOLVED_USING_COLUMN_FOR_JOIN",
            subject=(name,),
            colName=to_sql_id(name),
            side=which,
            suggestion=columns,
        )
    return found[0]
