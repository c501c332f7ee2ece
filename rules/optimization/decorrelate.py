"""What a subquery mentions of the query around it, pulled out of it as a join's condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...planner.model.conf import Conf
from ...planner.model.errors import PlanningError
from ...planner.model.expressions import Alias, AttributeReference, Cast, Expression
from ...planner.model.logical import (
    Aggregate,
    Distinct,
    Filter,
    GlobalLimit,
    Join,
    LocalLimit,
    Project,
    Sort,
)
from ...planner.model.query_plan import LogicalPlan
from ...planner.model.relations import SubqueryAlias, View
from ...planner.model.subqueries import (
    OuterReference,
    ScalarSubquery,
    SubqueryExpression,
    is_outer,
    subqueries_in,
)
from ...planner.model.text import plan_text
from ...planner.model.tree import replace
from .calls import conjunction, is_call, split
from .limits import max_rows
from .subqueries import has_subquery, without_outer
from .trees import replace_attributes

_Map = Mapping[int, AttributeReference]


@dataclass(frozen=True)
class _Part:
    """A plan without outer references, what holds between its rows and the outer row instead,
    and the plan's column that equals each outer column, where there is one."""

    plan: LogicalPlan
    conditions: tuple[Expression, ...] = ()
    equal: _Map | None = None

    @property
    def known(self) -> _Map:
        return self.equal or {}


def pull_up_correlated_predicates(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`subquery [Project [a], Filter b = outer(c), t]` -> `subquery (b = c) [Project [a, b], t]`.

    What is pulled out stands in the subquery's conditions. A grouping gets the columns of the
    conditions as keys, a projection as columns. Idempotent.

    Raises:
        PlanningError: a subquery aggregates what is not bound to the outer row by an equality.
    """

    if not has_subquery(plan):
        return plan
    node = plan.map_children(lambda child: pull_up_correlated_predicates(child, conf))
    given = frozenset().union(*(child.output_ids for child in node.children))

    def rewrite(expression: Expression) -> Expression:
        if not isinstance(expression, SubqueryExpression) or not expression.correlated:
            return expression
        return expression if expression.conditions else _pulled_up(expression, given)

    return node.map_expressions(lambda e: e.transform_up(rewrite) if any(subqueries_in(e)) else e)


def _pulled_up(subquery: SubqueryExpression, given: frozenset[int]) -> SubqueryExpression:
    part = _decorrelated(subquery.plan, frozenset(), False)
    inner, conditions = kept_apart(part.plan, part.conditions, given)
    new = replace(
        subquery, plan=inner, conditions=tuple(c.transform_up(without_outer) for c in conditions)
    )
    if not isinstance(new, ScalarSubquery):
        return new
    top = _aggregate(subquery.plan)
    return replace(
        new,
        may_have_count_bug=top is not None and not top.grouping,
        single_join=not _gives_one_row(subquery.plan),
    )


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


def _aggregate(plan: LogicalPlan) -> Aggregate | None:
    """The aggregation on top of a subquery, under projections and HAVING."""
    while isinstance(plan, Project | Filter | SubqueryAlias | View):
        plan = plan.child
    return plan if isinstance(plan, Aggregate) else None


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
            equal = _equivalences(split(condition, "and"))
            return _bound_columns(child) | {column.expr_id for column in equal.values()}
        case Project() | SubqueryAlias() | View():
            return _bound_columns(plan.child)
        case _:
            return frozenset()


def _equivalences(conditions: Sequence[Expression]) -> dict[int, AttributeReference]:
    """Per outer column the subquery's column that it is set equal to."""
    found: dict[int, AttributeReference] = {}
    for condition in conditions:
        if not is_call(condition, "="):
            continue
        one, other = condition.children
        if isinstance(one, OuterReference):
            one, other = other, one
        if isinstance(one, AttributeReference) and isinstance(other, OuterReference):
            found.setdefault(other.column.expr_id, one)
    return found


def _outer_ids(expressions: Sequence[Expression]) -> frozenset[int]:
    return frozenset(
        node.column.expr_id
        for expression in expressions
        for node in expression.walk()
        if isinstance(node, OuterReference)
    )


def _replaced(expression: Expression, known: _Map) -> Expression:
    def visit(node: Expression) -> Expression:
        if isinstance(node, OuterReference):
            return known.get(node.column.expr_id, node)
        return node

    return expression.transform_up(visit) if is_outer(expression) else expression


def _mentions_outer(plan: LogicalPlan) -> bool:
    return any(is_outer(e) for node in plan.walk() for e in node.expressions)


def _decorrelated(plan: LogicalPlan, needed: frozenset[int], aggregated: bool) -> _Part:
    """The plan without outer references; `needed` are those that must get a column of its own."""
    if not _mentions_outer(plan):
        if needed:
            raise _unsupported(plan)
        return _Part(plan)
    match plan:
        case Filter():
            return _filter(plan, needed, aggregated)
        case Project(project_list=items, child=child):
            part = _decorrelated(child, needed | _outer_ids(items), aggregated)
            new = tuple(_replaced(e, part.known) for e in items)
            added = _missing(Project(project_list=new, child=part.plan), part)
            project = Project(project_list=(*new, *added), child=part.plan)
            return replace(part, plan=project)
        case Aggregate(grouping=keys, aggregates=items, child=child):
            part = _decorrelated(child, needed | _outer_ids((*keys, *items)), True)
            keys = tuple(_replaced(e, part.known) for e in keys)
            items = tuple(_replaced(e, part.known) for e in items)
            draft = replace(plan, grouping=keys, aggregates=items, child=part.plan)
            added = _missing(draft, part)
            aggregate = replace(draft, grouping=(*keys, *added), aggregates=(*items, *added))
            return replace(part, plan=aggregate)
        case SubqueryAlias() | View() | Distinct():
            part = _decorrelated(plan.child, needed, aggregated or isinstance(plan, Distinct))
            return replace(part, plan=replace(plan, child=part.plan))
        case Sort(child=child):
            part = _decorrelated(child, needed, aggregated)
            return replace(part, plan=replace(plan, child=part.plan))
        case Join():
            return _join(plan, needed, aggregated)
        case GlobalLimit(child=LocalLimit()):
            raise _unsupported(plan)
        case _:
            raise _unsupported(plan)


def _filter(plan: Filter, needed: frozenset[int], aggregated: bool) -> _Part:
    conditions = split(plan.condition, "and")
    correlated = [c for c in conditions if is_outer(c)]
    kept = [c for c in conditions if not is_outer(c)]
    equal = _equivalences(correlated)
    # Above an aggregation a condition may only go that says to which group a row belongs.
    inside = [c for c in correlated if aggregated and not _goes_over_groups(c)]
    pulled = [c for c in correlated if c not in inside]
    below = (needed | _outer_ids(inside)) - equal.keys()
    part = _decorrelated(plan.child, below, aggregated)
    known = {**part.known, **equal}
    kept += [_replaced(c, known) for c in inside]
    child = part.plan if not kept else Filter(child=part.plan, condition=conjunction(kept))
    return _Part(child, (*part.conditions, *pulled), known)


def _goes_over_groups(condition: Expression) -> bool:
    """Whether it sets an expression over the plan equal to one over the outer row."""
    if not is_call(condition, "="):
        return False
    one, other = condition.children
    if is_outer(one):
        one, other = other, one
    outer_only = bool(_outer_ids([other])) and not other.references
    return outer_only and not is_outer(one) and _is_column(one)


def _is_column(expression: Expression) -> bool:
    if isinstance(expression, Cast):
        return _is_column(expression.child)
    return isinstance(expression, AttributeReference)


def _join(plan: Join, needed: frozenset[int], aggregated: bool) -> _Part:
    left_too = _mentions_outer(plan.left)
    right_too = _mentions_outer(plan.right)
    own = [] if plan.condition is None else split(plan.condition, "and")
    pulled = [c for c in own if is_outer(c)]
    if needed or (pulled and plan.join_type != "Inner"):
        raise _unsupported(plan)
    left = _decorrelated(plan.left, frozenset(), aggregated) if left_too else _Part(plan.left)
    right = _decorrelated(plan.right, frozenset(), aggregated) if right_too else _Part(plan.right)
    kept = [c for c in own if not is_outer(c)]
    condition = conjunction(kept) if kept else None
    joined = replace(plan, left=left.plan, right=right.plan, condition=condition)
    known = {**left.known, **right.known, **_equivalences(pulled)}
    return _Part(joined, (*left.conditions, *right.conditions, *pulled), known)


def _missing(plan: LogicalPlan, part: _Part) -> tuple[AttributeReference, ...]:
    """The columns of the input that the conditions mention and the plan does not give."""
    given = plan.output_ids
    found: dict[int, AttributeReference] = {}
    for condition in part.conditions:
        for node in condition.walk():
            if isinstance(node, AttributeReference) and node.expr_id not in given:
                found.setdefault(node.expr_id, node)
    columns = {a.expr_id: a for a in part.plan.output}
    return tuple(columns[i] for i in found if i in columns)


def _unsupported(plan: LogicalPlan) -> PlanningError:
    return PlanningError(
        "STATEPLAN_CORRELATED_SUBQUERY",
        f"A subquery mentions the query around it below or in {type(plan).__name__} in a way that"
        " stateplan cannot take apart.",
        hint="Bind the subquery to the outer row by equalities in its WHERE, or write a join.",
    )
