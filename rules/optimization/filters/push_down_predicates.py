"""Filters and join conditions, as far down as they go."""

from __future__ import annotations

from collections.abc import Callable

from ....planner.model.expressions.core import (
    AggregateExpression,
    AttributeReference,
    Call,
    Expression,
)
from ....planner.model.expressions.equality import ExpressionSet
from ....planner.model.expressions.predicates import (
    conjunction,
    conjunction_or_none,
    parted,
    split_conjuncts,
)
from ....planner.model.expressions.python_functions import PythonUDF
from ....planner.model.expressions.subqueries import (
    Exists,
    ListQuery,
    subqueries_in,
)
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
)
from ....planner.model.plans.partitions import Repartition, RepartitionByExpression
from ....planner.model.plans.query_plan import LogicalPlan, UnaryNode
from ....planner.model.plans.windows import Window
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import (
    alias_map,
    by_place,
    filtered,
    filtered_below,
    replace_attributes,
    rewrite_down,
)
from ..support import settings
from ..support.same_columns import asks_same_columns

Split = tuple[list[Expression], list[Expression], list[Expression]]


def _split(conjuncts: list[Expression], join: Join) -> Split:
    """The conjuncts of the left side alone, of the right side alone, and all others."""
    pure, impure = parted(conjuncts, _is_pure)
    left, rest = parted(pure, lambda e: e.references <= join.left.output_ids)
    right, both = parted(rest, lambda e: e.references <= join.right.output_ids)
    return left, right, both + impure


def _is_pure(conjunct: Expression) -> bool:
    return conjunct.deterministic


def fits_in_join(conjunct: Expression) -> bool:
    """Whether a join can test it: not what Python computes of both sides, nor what subqueries
    say of a row of both."""
    if not conjunct.deterministic or conjunct.holds(PythonUDF):
        return False
    return not any(
        isinstance(s, ListQuery | Exists) or s.correlated for s in subqueries_in(conjunct)
    )


def push_through_join(node: Filter, join: Join) -> LogicalPlan:
    """`Filter l AND r AND both, Join` -> `Join both, Filter l, Filter r` for an inner join.

    For an outer join only the preserved side's conjuncts move, the others stay above.
    """
    left, right, both = _split(split_conjuncts(node.condition), join)
    match join.join_type:
        case "Inner" | "Cross":
            within, others = parted(both, fits_in_join)
            if not (left or right or within):
                return node
            condition = within if join.condition is None else [*within, join.condition]
            return filtered(_filtered_sides(join, left, right, condition), others)
        case "RightOuter":
            if not right:
                return node
            return filtered(replace(join, right=filtered(join.right, right)), left + both)
        case "LeftOuter" | "LeftSingle" | "LeftSemi" | "LeftAnti" | "ExistenceJoin":
            if not left:
                return node
            return filtered(replace(join, left=filtered(join.left, left)), right + both)
    return node


def push_join_condition_down(join: Join) -> LogicalPlan:
    """Conjuncts of an ON condition that concern one side become a filter of that side.

    Of both sides for an inner or semi join; of an outer join's null-supplying side only.
    """
    if join.condition is None:
        return join
    left, right, both = _split(split_conjuncts(join.condition), join)
    match join.join_type:
        case "Inner" | "Cross" | "LeftSemi":
            rest = both
        case "RightOuter":
            right, rest = [], right + both
        case "LeftOuter" | "LeftSingle" | "LeftAnti" | "ExistenceJoin":
            left, rest = [], left + both
        case _:
            return join
    # Also where nothing moves: what stays is put in order, the conjuncts of one side first.
    if not left and not right and conjunction_or_none(rest) == join.condition:
        return join
    return _filtered_sides(join, left, right, rest)


def _filtered_sides(
    join: Join, left: list[Expression], right: list[Expression], both: list[Expression]
) -> Join:
    return replace(
        join,
        left=filtered(join.left, left),
        right=filtered(join.right, right),
        condition=conjunction_or_none(both),
    )


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
    pure, impure = parted(split_conjuncts(upper.condition), _is_pure)
    new = list(ExpressionSet(pure).without(split_conjuncts(lower.condition)))
    if new:
        lower = replace(lower, condition=conjunction([lower.condition, conjunction(new)]))
    return filtered(lower, impure)


def _through_project(node: Filter, child: Project) -> LogicalPlan:
    if not all(e.deterministic for e in child.project_list):
        return node
    aliases = alias_map(child.project_list)
    costly = {i for i, e in aliases.items() if any(map(_is_costly, e.walk()))}
    conjuncts = split_conjuncts(node.condition)
    down, up = parted(conjuncts, lambda e: costly.isdisjoint(e.references))
    if not down or asks_same_columns(node.condition, child.child.output_ids):
        return node
    return filtered_below(child, [replace_attributes(e, aliases) for e in down], up)


def _is_costly(expression: Expression) -> bool:
    # Below the Project, where it is computed for its column, it would be computed once more.
    return isinstance(expression, Call) and expression.spec.costly


def _partition(condition: Expression, goes_down: Test) -> tuple[list[Expression], list[Expression]]:
    pure, impure = parted(split_conjuncts(condition), _is_pure)
    down, rest = parted(pure, goes_down)
    return down, rest + impure


def _through(node: Filter, child: UnaryNode, goes_down: Test) -> LogicalPlan:
    down, up = _partition(node.condition, goes_down)
    return filtered_below(child, down, up) if down else node


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
            and not replaced.holds(AggregateExpression)
        )

    down, up = _partition(node.condition, goes_down)
    if not down:
        return node
    return filtered_below(child, [replace_attributes(e, aliases) for e in down], up)


def _through_union(node: Filter, child: Union) -> LogicalPlan:
    down, up = _partition(node.condition, lambda _: True)
    if not down:
        return node
    condition = conjunction(down)
    inputs = tuple(
        Filter(child=plan, condition=replace_attributes(condition, by_place(child, plan)))
        for plan in child.inputs
    )
    return filtered(replace(child, inputs=inputs), up)
