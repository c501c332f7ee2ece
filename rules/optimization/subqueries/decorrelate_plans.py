"""Plans of subqueries taken apart into plans of their own and what ties them to the outer row.

Top-down it is collected which outer columns the operators need; where nothing below mentions the
outer row any more, the needed ones that no equality replaces become columns of a DomainJoin.
Bottom-up every operator keeps the columns that the ties mention.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....planner.model.errors import PlanningError
from ....planner.model.expressions.core import (
    TRUE,
    Alias,
    AttributeReference,
    Call,
    Cast,
    Expression,
    SortOrder,
    to_attribute,
)
from ....planner.model.expressions.predicates import (
    conjunction,
    conjunction_or_none,
    split_conjuncts,
)
from ....planner.model.expressions.subqueries import DomainJoin, OuterReference, is_outer
from ....planner.model.expressions.windows import WindowExpression
from ....planner.model.frozen import dataclass
from ....planner.model.functions.build import call, is_call
from ....planner.model.plans.join_types import INNER_JOINS, PADS_LEFT
from ....planner.model.plans.logical import (
    Aggregate,
    Distinct,
    Filter,
    Generate,
    GlobalLimit,
    Join,
    LocalLimit,
    Offset,
    Project,
    Sort,
    Union,
)
from ....planner.model.plans.query_plan import LogicalPlan, UnaryNode
from ....planner.model.plans.windows import Window
from ....planner.model.schemas.casts import can_up_cast
from ....planner.model.tree import replace
from ...common.trees import each_once, filtered
from .outer_columns import (
    Columns,
    all_with,
    by_name,
    mentions_outer,
    outer_columns,
    outer_columns_of_tree,
    with_columns,
)
from .scalar_subqueries import value_of_no_rows


@dataclass(frozen=True)
class Demands:
    """What the operators above ask of a plan.

    Attributes:
        keep_empty: an aggregation of all rows must give its row for no rows, too.
        needed: outer columns that operators above need, and have none in place of.
        aggregated: rows are counted, grouped or compared above.
        in_union: the plan is an input of a union.
    """

    keep_empty: bool
    needed: tuple[AttributeReference, ...] = ()
    aggregated: bool = False
    in_union: bool = False

    def plus(self, expressions: Iterable[Expression]) -> Demands:
        """The same with what the expressions mention of the outer row."""
        return replace(self, needed=by_name((*self.needed, *outer_columns(expressions))))

    def without(self, columns: Columns) -> Demands:
        """The same without outer columns that the plan has columns in place of."""
        return replace(self, needed=tuple(a for a in self.needed if a.expr_id not in columns))


@dataclass(frozen=True)
class Part:
    """A plan without outer references, what holds between its rows and the outer row instead,
    and the plan's column that equals each outer column, where there is one."""

    plan: LogicalPlan
    conditions: tuple[Expression, ...] = ()
    known: Columns | None = None

    @property
    def columns(self) -> Columns:
        return self.known or {}


def equivalences(conditions: Sequence[Expression]) -> dict[int, AttributeReference]:
    """Per outer column the subquery's column that it is set equal to."""
    found: dict[int, AttributeReference] = {}
    for condition in conditions:
        if not is_call(condition, "=", "<=>"):
            continue
        one, other = condition.children
        if isinstance(one, OuterReference):
            one, other = other, one
        if isinstance(one, AttributeReference) and isinstance(other, OuterReference):
            found[other.column.expr_id] = one
    return found


def column_set_equal(condition: Expression) -> AttributeReference | None:
    """The subquery's column that a condition sets equal to one value for each outer row."""
    if not is_call(condition, "=", "<=>"):
        return None
    for one, other in (condition.children, condition.children[::-1]):
        if isinstance(one, AttributeReference) and not other.references:
            return one
    return None


def decorrelated(plan: LogicalPlan, demands: Demands) -> Part:
    """The plan without outer references.

    Raises:
        PlanningError: an operator mentions the outer row that is not known to be able to.
    """
    if not mentions_outer(plan):
        return _over_domain(plan, demands) if demands.needed else Part(plan)
    match plan:
        case Filter():
            return _filter(plan, demands)
        case Project():
            return _project(plan, demands)
        case Aggregate():
            return _aggregate(plan, demands)
        case Join():
            return _join(plan, demands)
        case Union():
            return _union(plan, demands)
        case Window():
            return _window(plan, demands)
        case GlobalLimit(child=LocalLimit(child=Offset() as skipped), limit=limit):
            return _numbered(plan, skipped.child, demands, limit, skipped.offset)
        case GlobalLimit(child=LocalLimit(child=below), limit=limit):
            return _numbered(plan, below, demands, limit)
        case Offset(child=below, offset=offset):
            return _numbered(plan, below, demands, None, offset)
        case Distinct():
            return _over(plan, replace(demands, aggregated=True))
        case Generate():
            return _generate(plan, demands)
        case Sort():
            return _over(plan, demands)
        case _:
            raise _unsupported(plan)


def _over_domain(plan: LogicalPlan, demands: Demands) -> Part:
    domains = tuple(a.new_instance() for a in demands.needed)
    known = {a.expr_id: d for a, d in zip(demands.needed, domains, strict=True)}
    return Part(DomainJoin(domains=domains, child=plan), _ties(demands.needed, domains), known)


def _ties(
    outer: Sequence[AttributeReference], domains: Sequence[AttributeReference]
) -> tuple[Expression, ...]:
    return tuple(
        call("<=>", d, OuterReference(column=a)) for a, d in zip(outer, domains, strict=True)
    )


def _over(plan: UnaryNode, demands: Demands) -> Part:
    if any(is_outer(e) for e in plan.expressions):
        raise _unsupported(plan)
    part = decorrelated(plan.child, demands)
    return replace(part, plan=replace(plan, child=part.plan))


def _generate(plan: Generate, demands: Demands) -> Part:
    part = decorrelated(plan.child, demands.plus((plan.generator,)))
    new = replace(plan, generator=with_columns(plan.generator, part.columns), child=part.plan)
    return replace(part, plan=new)


def _filter(plan: Filter, demands: Demands) -> Part:
    conditions = split_conjuncts(plan.condition)
    correlated = [c for c in conditions if is_outer(c)]
    # What is pulled out of a grouping may only say to which group a row belongs.
    pulled = [
        c
        for c in correlated
        if not demands.in_union and (not demands.aggregated or _goes_over_groups(c))
    ]
    inside = [c for c in correlated if c not in pulled]
    equal = {} if demands.in_union else equivalences(correlated)
    part = decorrelated(plan.child, demands.plus(inside).without(equal))
    known = {**part.columns, **equal}
    kept = [*all_with(inside, known), *(c for c in conditions if not is_outer(c))]
    return Part(filtered(part.plan, kept), (*part.conditions, *pulled), known)


def _goes_over_groups(condition: Expression) -> bool:
    """Whether it sets a column of the plan equal to an expression over the outer row."""
    if not is_call(condition, "=", "<=>"):
        return False
    one, other = condition.children
    if is_outer(one):
        one, other = other, one
    return is_outer(other) and not other.references and not is_outer(one) and _is_column(one)


def _is_column(expression: Expression) -> bool:
    if isinstance(expression, Cast):
        return can_up_cast(expression.child.data_type, expression.type_) and _is_column(
            expression.child
        )
    return isinstance(expression, AttributeReference)


def _project(plan: Project, demands: Demands) -> Part:
    part = decorrelated(plan.child, demands.plus(plan.project_list))
    items = all_with(plan.project_list, part.columns)
    added = _missing(items, part)
    return replace(part, plan=replace(plan, project_list=(*items, *added), child=part.plan))


def _aggregate(plan: Aggregate, demands: Demands) -> Part:
    part = decorrelated(plan.child, replace(demands.plus(plan.expressions), aggregated=True))
    keys = all_with(plan.grouping, part.columns)
    items = all_with(plan.aggregates, part.columns)
    added = _missing(items, part)
    if demands.keep_empty and not plan.grouping:
        return _with_empty_groups(replace(plan, aggregates=items), part, added)
    new = replace(plan, grouping=(*keys, *added), aggregates=(*items, *added), child=part.plan)
    return replace(part, plan=new)


def _with_empty_groups(plan: Aggregate, part: Part, added: tuple[AttributeReference, ...]) -> Part:
    """An aggregation of all rows gives a row, too, for outer values that no row belongs to.

    `Aggregate [count(1) AS n], t` -> `Project [if (isnull(alwaysTrue)) 0 else n' AS n, a'],
    DomainJoin [a'] LeftOuter (a = a'), Aggregate [a], [count(1) AS n', a, true AS alwaysTrue], t`.
    """
    mark = Alias(child=TRUE, name="alwaysTrue")
    absent = call("isnull", mark.to_attribute().with_nullability(True))
    inner: list[Expression] = []
    outer: list[Expression] = []
    for item in plan.aggregates:
        empty = value_of_no_rows(item)
        if empty is None or not isinstance(item, Alias):
            inner.append(item)
            outer.append(to_attribute(item))
            continue
        copy = Alias(child=item.child, name=item.name)
        value = call("if", absent, empty, copy.to_attribute())
        inner.append(copy)
        outer.append(replace(item, child=value))
    groups = replace(plan, grouping=added, aggregates=(*inner, *added, mark), child=part.plan)
    columns = by_name(outer_columns(part.conditions))
    domains = tuple(a.new_instance() for a in columns)
    known = {a.expr_id: d for a, d in zip(columns, domains, strict=True)}
    joined = DomainJoin(
        domains=domains,
        join_type="LeftOuter",
        condition=conjunction(list(all_with(part.conditions, known))),
        child=groups,
    )
    project = Project(project_list=(*outer, *domains), child=joined)
    return Part(project, _ties(columns, domains), known)


def _join(plan: Join, demands: Demands) -> Part:
    own = split_conjuncts(plan.condition)
    correlated = [c for c in own if is_outer(c)]
    movable = plan.join_type in INNER_JOINS and not demands.in_union
    pulled = [c for c in correlated if movable and _goes_over_groups(c)]
    inside = [c for c in correlated if c not in pulled]
    equal = equivalences(pulled)
    below = demands.plus(inside).without(equal)
    right_too = plan.join_type in PADS_LEFT or mentions_outer(plan.right)
    keeps_left = plan.join_type in ("LeftOuter", "LeftSemi", "LeftAnti", "FullOuter")
    left_too = keeps_left or mentions_outer(plan.left) or (below.needed and not right_too)
    left = decorrelated(plan.left, below) if left_too else Part(plan.left)
    right = decorrelated(plan.right, below) if right_too else Part(plan.right)
    known = {**left.columns, **right.columns, **equal}
    same = [
        call("<=>", left.columns[i], column)
        for i, column in right.columns.items()
        if i in left.columns
    ]
    kept = [*same, *all_with(inside, known), *(c for c in own if not is_outer(c))]
    joined = replace(
        plan,
        left=left.plan,
        right=right.plan,
        condition=conjunction_or_none(kept),
    )
    return Part(joined, (*left.conditions, *right.conditions, *pulled), known)


def _union(plan: Union, demands: Demands) -> Part:
    outer = outer_columns_of_tree(plan)
    below = replace(demands, needed=by_name((*demands.needed, *outer)), in_union=True)
    parts = [decorrelated(child, below) for child in plan.inputs]
    wanted = each_once((*outer, *demands.needed))
    inputs = tuple(
        Project(
            project_list=(*child.output, *(part.columns[a.expr_id] for a in wanted)),
            child=part.plan,
        )
        for child, part in zip(plan.inputs, parts, strict=True)
    )
    return replace(parts[0], plan=replace(plan, inputs=inputs))


def _window(plan: Window, demands: Demands) -> Part:
    if any(is_outer(e) for e in plan.expressions):
        raise _unsupported(plan)
    part = decorrelated(plan.child, replace(demands, aggregated=True))
    added = _missing(plan.windows, part)
    new = replace(
        plan,
        windows=(*plan.windows, *added),
        partition_by=(*plan.partition_by, *added),
        child=part.plan,
    )
    return replace(part, plan=new)


def _numbered(
    plan: LogicalPlan,
    below: LogicalPlan,
    demands: Demands,
    limit: Expression | None,
    offset: Expression | None = None,
) -> Part:
    """LIMIT and OFFSET count the rows of each outer row."""
    order: tuple[SortOrder, ...] = ()
    if isinstance(below, Sort):
        order = below.order
        below = below.child
    outer = outer_columns_of_tree(below)
    part = decorrelated(below, replace(demands, aggregated=True))
    by = tuple(part.columns[a.expr_id] for a in outer if a.expr_id in part.columns)
    if not by:
        return replace(part, plan=_limited_as_before(plan, part.plan, order))
    order = tuple(replace(o, child=with_columns(o.child, part.columns)) for o in order)
    function = WindowExpression(
        function=Call(name="row_number"),
        partition_by=by,
        order_by=order,
    )
    counted = Alias(child=function, name="rn")
    window = Window(windows=(counted,), partition_by=by, order_by=order, child=part.plan)
    place = counted.to_attribute()
    tests = [] if offset is None else [call(">", place, offset)]
    if limit is not None:
        last = limit if offset is None else call("+", offset, limit)
        tests.append(call("<=", place, last))
    kept = Filter(condition=conjunction(tests), child=window)
    return replace(part, plan=Project(project_list=part.plan.output, child=kept))


def _limited_as_before(
    plan: LogicalPlan, child: LogicalPlan, order: tuple[SortOrder, ...]
) -> LogicalPlan:
    if order:
        child = Sort(order=order, child=child)
    match plan:
        case GlobalLimit(child=LocalLimit() as local):
            if isinstance(local.child, Offset):
                child = replace(local.child, child=child)
            return replace(plan, child=replace(local, child=child))
        case Offset():
            return replace(plan, child=child)
        case _:
            raise _unsupported(plan)


def _missing(items: Iterable[Expression], part: Part) -> tuple[AttributeReference, ...]:
    """The columns of the input that the conditions mention and the operator does not give."""
    given = {to_attribute(e).expr_id for e in items}
    columns = {a.expr_id: a for a in part.plan.output}
    found = each_once(
        c for condition in part.conditions for c in condition.collect(AttributeReference)
    )
    return tuple(
        columns[a.expr_id] for a in found if a.expr_id in columns and a.expr_id not in given
    )


def _unsupported(plan: LogicalPlan) -> PlanningError:
    return PlanningError.of("STATEPLAN_CORRELATED_SUBQUERY", operator=type(plan).__name__)
