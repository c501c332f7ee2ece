"""What a subquery mentions of the query around it, pulled out of it as a join's condition."""

from __future__ import annotations

from collections.abc import Sequence

from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Expression,
)
from ....planner.model.expressions.predicates import split_conjuncts
from ....planner.model.expressions.subqueries import LateralJoin, ScalarSubquery, SubqueryExpression
from ....planner.model.plans.logical import Aggregate, Filter, Project, Sort
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import SubqueryAlias, View
from ....planner.model.settings.conf import Conf
from ....planner.model.text.text import plan_text
from ....planner.model.tree import replace
from ...common.trees import map_subqueries, replace_attributes, with_output
from ..operators.limits import max_rows
from ..operators.names import eliminate_names
from .decorrelate_plans import Demands, column_set_equal, decorrelated
from .subqueries import has_subquery, top_aggregate, without_outer


def pull_up_correlated_predicates(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`subquery [Project [a], Filter b = outer(c), t]` -> `subquery (b = c) [Project [a, b], t]`.

    What is pulled out stands in the subquery's conditions. A grouping gets the columns of the
    conditions as keys, a projection as columns. Idempotent.

    Raises:
        PlanningError: a subquery mentions the outer row where it cannot be taken apart.
    """
    if not has_subquery(plan):
        return plan
    node = plan.map_children(lambda child: pull_up_correlated_predicates(child, conf))
    given = frozenset().union(*(child.output_ids for child in node.children))

    def rewrite(subquery: SubqueryExpression) -> Expression:
        done = not subquery.correlated or subquery.conditions
        return subquery if done else _pulled_up(subquery, given, conf)

    new = map_subqueries(node, rewrite)
    # What a lateral subquery's conditions need beside its own columns is for the join only.
    return with_output(new, node.output) if isinstance(new, LateralJoin) else new


def _pulled_up(
    subquery: SubqueryExpression, given: frozenset[int], conf: Conf
) -> SubqueryExpression:
    plan = eliminate_names(subquery.plan, conf)
    scalar = isinstance(subquery, ScalarSubquery)
    part = decorrelated(plan, Demands(keep_empty=not scalar or _counts_below(plan)))
    inner, conditions = kept_apart(part.plan, part.conditions, given)
    new = replace(
        subquery, plan=inner, conditions=tuple(c.transform_up(without_outer) for c in conditions)
    )
    if not isinstance(new, ScalarSubquery):
        return new
    top = top_aggregate(plan)
    return replace(
        new,
        may_have_count_bug=top is not None and not top.grouping,
        single_join=not _gives_one_row(plan),
    )


def _counts_below(plan: LogicalPlan) -> bool:
    """Whether a scalar subquery's value for no rows is not just its outermost aggregation's."""
    if not isinstance(plan, Aggregate):
        return True
    return any(isinstance(node, Aggregate) and _counts(node) for node in plan.child.walk())


def _counts(plan: Aggregate) -> bool:
    """Whether it gives a row, and other than null, for no rows."""
    functions = (a for e in plan.aggregates for a in e.collect(AggregateExpression))
    return not plan.grouping and any(a.function.spec.over_no_rows is not None for a in functions)


def kept_apart(
    plan: LogicalPlan, conditions: Sequence[Expression], given: frozenset[int]
) -> tuple[LogicalPlan, Sequence[Expression]]:
    """A subquery's plan with ids of its own for columns that the outer plan gives too.

    The new names are the texts of the columns, as in Spark.
    """
    shared = given & plan.output_ids
    if not shared:
        return plan, conditions
    renamed = {
        a.expr_id: Alias(child=a, name=plan_text(a)) for a in plan.output if a.expr_id in shared
    }
    items = tuple(renamed.get(a.expr_id, a) for a in plan.output)
    columns: dict[int, Expression] = {i: alias.to_attribute() for i, alias in renamed.items()}
    new = [replace_attributes(c, columns) for c in conditions]
    return Project(project_list=items, child=plan), new


def _gives_one_row(plan: LogicalPlan) -> bool:
    """Whether the subquery has at most one row for every outer row, whatever the data."""
    rows = max_rows(plan)
    if rows is not None and rows <= 1:
        return True
    match plan:
        case Aggregate(grouping=keys):
            bound = _bound_columns(plan.child)
            return all(isinstance(k, AttributeReference) and k.expr_id in bound for k in keys)
        case Project() | Filter() | SubqueryAlias() | View() | Sort():
            return _gives_one_row(plan.child)
        case _:
            return False


def _bound_columns(plan: LogicalPlan) -> frozenset[int]:
    """The columns that an equality with an outer column makes constant."""
    match plan:
        case Filter(condition=condition, child=child):
            conjuncts = split_conjuncts(condition)
            equal = (column_set_equal(conjunct) for conjunct in conjuncts)
            return _bound_columns(child) | {a.expr_id for a in equal if a is not None}
        case Project() | SubqueryAlias() | View():
            return _bound_columns(plan.child)
        case _:
            return frozenset()
