"""Filters, as far down as they go."""

from __future__ import annotations

from collections.abc import Callable

from ....planner.model.expressions.core import (
    AggregateExpression,
    AttributeReference,
    Call,
    Expression,
)
from ....planner.model.expressions.equality import ExpressionSet
from ....planner.model.expressions.predicates import conjunction, split_conjuncts
from ....planner.model.expressions.subqueries import SubqueryExpression
from ....planner.model.plans.logical import (
    Aggregate,
    Distinct,
    EventTimeWatermark,
    Expand,
    Filter,
    Generate,
    Join,
    Project,
    Sort,
    Union,
    Window,
)
from ....planner.model.plans.partitions import Repartition, RepartitionByExpression
from ....planner.model.plans.query_plan import LogicalPlan, UnaryNode
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import alias_map, replace_attributes, rewrite_down
from ..support import settings
from .push_through_joins import push_join_condition_down, push_through_join

Test = Callable[[Expression], bool]


def push_down_predicates(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """Adjacent filters become one, and each conjunct moves below what does not change its rows.

    `Filter a AND b, Project` -> `Project, Filter a AND b` (not on a column that matches a pattern
    or joins an array); below an aggregate go the conjuncts on its keys, below a watermark those
    that do not touch the event time, into a union or join those of one side. Not below a limit or
    a deduplication.
    """
    return rewrite_down(plan, _push, frozenset((Filter, Join)))


def push_filters_late(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """Filters below all but joins, once more after Python functions have their operators.

    It finds something to do only where `push_down_predicates` is left out: Spark leaves out that
    rule by name and runs this part of it still. Filters that meet stay two.
    """
    if push_down_predicates.__name__ not in settings.current().excluded:
        return plan

    def push(node: LogicalPlan) -> LogicalPlan:
        stays = isinstance(node, Join) or (
            isinstance(node, Filter) and isinstance(node.child, Join | Filter)
        )
        return node if stays else _push(node)

    return rewrite_down(plan, push, frozenset((Filter,)))


def _push(node: LogicalPlan) -> LogicalPlan:
    if isinstance(node, Join):
        return push_join_condition_down(node)
    if not isinstance(node, Filter):
        return node
    match node.child:
        case Filter():
            return _combined(node, node.child)
        case Project() as child:
            return _through_project(node, child)
        case Aggregate() as child:
            return _through_aggregate(node, child)
        case Union() as child:
            return _through_union(node, child)
        case Window(partition_by=by) as child:
            keys = frozenset().union(*(e.references for e in by))
            if all(isinstance(e, AttributeReference) for e in by):
                return _through(node, child, lambda e: bool(e.references) and e.references <= keys)
        case EventTimeWatermark() as child:
            event_time = child.event_time.references
            return _through(node, child, lambda e: event_time.isdisjoint(e.references))
        case Join() as child:
            return push_through_join(node, child)
        case (
            Distinct() | Generate() | Sort() | Expand() | Repartition() | RepartitionByExpression()
        ) as child:
            if all(e.deterministic for e in child.expressions):
                below = child.child.output_ids
                return _through(node, child, lambda e: e.references <= below)
    return node


def _combined(upper: Filter, lower: Filter) -> LogicalPlan:
    if not lower.condition.deterministic:
        return upper
    conjuncts = split_conjuncts(upper.condition)
    pure = [e for e in conjuncts if e.deterministic]
    impure = [e for e in conjuncts if not e.deterministic]
    new = list(ExpressionSet(pure).without(split_conjuncts(lower.condition)))
    merged: LogicalPlan = lower
    if new:
        condition = conjunction([lower.condition, conjunction(new)])
        merged = replace(lower, condition=condition)
    return Filter(child=merged, condition=conjunction(impure)) if impure else merged


def _through_project(node: Filter, child: Project) -> LogicalPlan:
    if not all(e.deterministic for e in child.project_list):
        return node
    aliases = alias_map(child.project_list)
    costly = {i for i, e in aliases.items() if any(map(_is_costly, e.walk()))}
    up = [e for e in split_conjuncts(node.condition) if not costly.isdisjoint(e.references)]
    down = [e for e in split_conjuncts(node.condition) if costly.isdisjoint(e.references)]
    if not down or _asks_same_columns(node.condition, child.child.output_ids):
        return node
    condition = conjunction([replace_attributes(e, aliases) for e in down])
    below = replace(child, child=Filter(child=child.child, condition=condition))
    return Filter(child=below, condition=conjunction(up)) if up else below


def _asks_same_columns(condition: Expression, below: frozenset[int]) -> bool:
    """Whether a subquery gives columns that the rows below have, too: they would be confused."""
    return any(
        not below.isdisjoint(query.plan.output_ids)
        for query in condition.collect(SubqueryExpression)
    )


def _is_costly(expression: Expression) -> bool:
    # Below the Project, where it is computed for its column, it would be computed once more.
    return isinstance(expression, Call) and expression.spec.costly


def _partition(condition: Expression, goes_down: Test) -> tuple[list[Expression], list[Expression]]:
    down: list[Expression] = []
    rest: list[Expression] = []
    impure: list[Expression] = []
    for conjunct in split_conjuncts(condition):
        if not conjunct.deterministic:
            impure.append(conjunct)
        elif goes_down(conjunct):
            down.append(conjunct)
        else:
            rest.append(conjunct)
    return down, rest + impure


def _through(node: Filter, child: UnaryNode, goes_down: Test) -> LogicalPlan:
    down, up = _partition(node.condition, goes_down)
    if not down:
        return node
    below = replace(child, child=Filter(child=child.child, condition=conjunction(down)))
    return Filter(child=below, condition=conjunction(up)) if up else below


def _through_aggregate(node: Filter, child: Aggregate) -> LogicalPlan:
    if not child.grouping or not all(e.deterministic for e in child.aggregates):
        return node
    aliases = alias_map(child.aggregates)
    below_ids = child.child.output_ids

    def goes_down(conjunct: Expression) -> bool:
        replaced = replace_attributes(conjunct, aliases)
        # An aggregate function's own arguments are columns of the input, its value is none.
        return (
            bool(conjunct.references)
            and replaced.references <= below_ids
            and not _has_aggregate(replaced)
        )

    down, up = _partition(node.condition, goes_down)
    if not down:
        return node
    condition = replace_attributes(conjunction(down), aliases)
    below = replace(child, child=Filter(child=child.child, condition=condition))
    return Filter(child=below, condition=conjunction(up)) if up else below


def _has_aggregate(expression: Expression) -> bool:
    return expression.holds(AggregateExpression)


def _through_union(node: Filter, child: Union) -> LogicalPlan:
    down, up = _partition(node.condition, lambda _: True)
    if not down:
        return node
    condition = conjunction(down)
    inputs: list[LogicalPlan] = []
    for plan in child.inputs:
        columns = {a.expr_id: b for a, b in zip(child.output, plan.output, strict=True)}
        inputs.append(Filter(child=plan, condition=replace_attributes(condition, columns)))
    below = replace(child, inputs=tuple(inputs))
    return Filter(child=below, condition=conjunction(up)) if up else below
