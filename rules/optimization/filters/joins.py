"""The order of inner joins, the type of outer ones, and joins of everything with everything."""

from __future__ import annotations

from ....planner.model.errors import PlanningError
from ....planner.model.expressions.core import (
    AggregateExpression,
    AttributeReference,
    Call,
    Expression,
    Literal,
)
from ....planner.model.expressions.equality import same
from ....planner.model.expressions.predicates import conjunction_or_none, parted, split_conjuncts
from ....planner.model.functions.build import call, is_call, is_false, is_null, null
from ....planner.model.plans.join_types import INNER_JOINS, OUTER_JOINS, JoinType
from ....planner.model.plans.logical import (
    Aggregate,
    Filter,
    Join,
    Project,
)
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.text.logical_text import tree_text
from ....planner.model.text.quoting import to_sql_join
from ....planner.model.tree import replace
from ...common.trees import filtered, replace_attributes, top_down, with_output
from ..expressions.simplify import simplify
from ..operators.distinct_keys import distinct_keys, key_columns
from ..support.constraints import constraints
from .push_down_predicates import fits_in_join

_Input = tuple[LogicalPlan, JoinType]


@top_down(LogicalPlan, holding=(Join,))
def reorder_joins(node: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Filter a.x = c.x AND b.y = c.y, (a JOIN b) JOIN c` -> `(a JOIN c ON ..) JOIN b ON ..`.

    Of three or more inputs of inner joins without hints the next to be joined is the first one that
    has a condition with those before it, or, where none has, the first (Spark's ReorderJoin). A
    Project restores the order of the columns. Idempotent.
    """
    if not isinstance(_join_of(node), Join):
        return node
    inputs, conditions = _flattened(node, "Inner")
    if len(inputs) < 3 or not conditions:
        return node
    ordered = _ordered(inputs, conditions)
    return node if _alike(node, ordered) else with_output(ordered, node.output)


@top_down(Join)
def simplify_join_conditions(node: Join, conf: Conf) -> LogicalPlan:
    """`Join l = r OR (isnull(l) AND isnull(r))` -> `Join l <=> r`. Idempotent."""
    return node.transform_expressions(_null_safe)


def _null_safe(expression: Expression) -> Expression:
    if not is_call(expression, "or"):
        return expression
    for equal, nulls in (expression.children, expression.children[::-1]):
        if not is_call(equal, "=") or not is_call(nulls, "and"):
            continue
        left, right = equal.children
        checks = nulls.children
        if not all(is_call(check, "isnull") for check in checks):
            continue
        one, other = (check.children[0] for check in checks)
        if (same(left, one) and same(right, other)) or (same(left, other) and same(right, one)):
            return call("<=>", left, right)
    return expression


def _join_of(node: LogicalPlan) -> Join | None:
    """The inner join without a hint that the node is, or filters."""
    join = node.child if isinstance(node, Filter) else node
    if isinstance(join, Join) and join.join_type in INNER_JOINS and join.hint == (None, None):
        return join
    return None


def _flattened(plan: LogicalPlan, around: JoinType) -> tuple[list[_Input], list[Expression]]:
    """The inputs of the joins, each with the type of the join that it is the right side of."""
    join = _join_of(plan)
    if join is None:
        return [(plan, around)], []
    if isinstance(plan, Filter):
        inputs, conditions = _flattened(join, "Inner")
        return inputs, [*conditions, *split_conjuncts(plan.condition)]
    inputs, conditions = _flattened(join.left, join.join_type)
    own = split_conjuncts(join.condition)
    return [*inputs, (join.right, join.join_type)], [*conditions, *own]


def _ordered(inputs: list[_Input], conditions: list[Expression]) -> LogicalPlan:
    (left, left_type), *rest = inputs
    if len(rest) == 1:
        ((right, right_type),) = rest
        kind: JoinType = "Inner" if left_type == right_type == "Inner" else "Cross"
        within, others = parted(conditions, fits_in_join)
        return filtered(_joined(left, right, kind, within), others)
    right, kind = next((i for i in rest if _has_condition(left, i[0], conditions)), rest[0])
    columns = left.output_ids | right.output_ids
    within, others = parted(conditions, lambda e: fits_in_join(e) and e.references <= columns)
    joined = _joined(left, right, kind, within)
    return _ordered([(joined, "Inner"), *(i for i in rest if i[0] is not right)], others)


def _has_condition(left: LogicalPlan, right: LogicalPlan, conditions: list[Expression]) -> bool:
    both = left.output_ids | right.output_ids
    return any(
        e.references <= both
        and not (e.references and e.references <= left.output_ids)
        and not (e.references and e.references <= right.output_ids)
        for e in conditions
    )


def _joined(
    left: LogicalPlan, right: LogicalPlan, kind: JoinType, conditions: list[Expression]
) -> Join:
    condition = conjunction_or_none(conditions)
    return Join(left=left, right=right, join_type=kind, condition=condition)


def _alike(one: LogicalPlan, other: LogicalPlan) -> bool:
    """Whether both join the same inputs in the same order, on the same conditions."""
    if one is other:
        return True
    match one, other:
        case Filter(), Filter():
            return _means(one.condition, other.condition) and _alike(one.child, other.child)
        case Join(), Join():
            return (
                one.join_type == other.join_type
                and _means(one.condition, other.condition)
                and one.right is other.right
                and _alike(one.left, other.left)
            )
    return False


def _means(one: Expression | None, other: Expression | None) -> bool:
    if one is None or other is None:
        return one is other
    mine, theirs = split_conjuncts(one), split_conjuncts(other)
    return len(mine) == len(theirs) and all(
        a is b or (isinstance(a, Call) and a == b) for a, b in zip(mine, theirs, strict=True)
    )


@top_down(LogicalPlan, holding=(Join,))
def eliminate_outer_joins(node: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Filter r > 1, Join LeftOuter` -> `Filter r > 1, Join Inner`, r being a right column.

    A condition that no padded row can pass makes the padding useless. A side that is padded and
    whose columns nobody asks for goes, where it has at most one match for each row, or where rows
    are aggregated so that repetitions do not matter. Idempotent.
    """
    match node:
        case Project(child=Join() as join):
            kept = _kept_side(join, node.references)
            if kept is not None and _matches_once(join):
                return replace(node, child=kept)
            return node
        case Aggregate() if _ignores_repetition(node):
            return _without_padding(node)
    if not isinstance(node, Filter) or not isinstance(node.child, Join):
        return node
    join = node.child
    new = _join_type(node, join)
    return node if new == join.join_type else replace(node, child=replace(join, join_type=new))


def _kept_side(join: Join, needed: frozenset[int]) -> LogicalPlan | None:
    """The side whose rows an outer join keeps, if no column of the other is needed."""
    match join.join_type:
        case "LeftOuter" if needed <= join.left.output_ids:
            return join.left
        case "RightOuter" if needed <= join.right.output_ids:
            return join.right
        case _:
            return None


def _matches_once(join: Join) -> bool:
    """Whether the padded side has no two rows with the same keys."""
    left, right = key_columns(join)
    padded, keys = (join.right, right) if join.join_type == "LeftOuter" else (join.left, left)
    return bool(keys) and any(key <= keys for key in distinct_keys(padded))


def _ignores_repetition(plan: Aggregate) -> bool:
    found = [a for e in plan.aggregates for a in e.collect(AggregateExpression)]
    return all(a.function.spec.duplicate_agnostic for a in found)


def _without_padding(plan: Aggregate) -> LogicalPlan:
    match plan.child:
        case Join() as join:
            kept = _kept_side(join, plan.references)
            return plan if kept is None else replace(plan, child=kept)
        case Project(child=Join() as join) as project if all(
            e.deterministic for e in project.project_list
        ):
            kept = _kept_side(join, project.references)
            return plan if kept is None else replace(plan, child=replace(project, child=kept))
        case _:
            return plan


def _join_type(node: Filter, join: Join) -> JoinType:
    if join.join_type not in OUTER_JOINS:
        return join.join_type
    conditions = [*split_conjuncts(node.condition), *constraints(node)]
    left = any(_drops_nulls(e, join.left) for e in conditions)
    right = any(_drops_nulls(e, join.right) for e in conditions)
    match join.join_type:
        case "RightOuter" if left:
            return "Inner"
        case "LeftOuter" if right:
            return "Inner"
        case "FullOuter" if left and right:
            return "Inner"
        case "FullOuter" if left:
            return "LeftOuter"
        case "FullOuter" if right:
            return "RightOuter"
    return join.join_type


def _drops_nulls(condition: Expression, side: LogicalPlan) -> bool:
    """Whether the condition is false or null for a row of nulls of that side."""
    if not condition.deterministic or not condition.references <= side.output_ids:
        return False
    columns = condition.collect(AttributeReference)
    nulls: dict[int, Expression] = {column.expr_id: null(column.type_) for column in columns}
    value = simplify(replace_attributes(condition, nulls))
    return is_false(value) or is_null(value)


_SETTING = "spark.sql.crossJoin.enabled"


def refuse_cartesian_products(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """The plan itself, unless a join without CROSS has no condition over both sides.

    Raises:
        PlanningError: it has none, and the setting is off.
    """
    if conf.flag(_SETTING):
        return plan
    for join in plan.collect(Join):
        if join.join_type in ("Inner", *OUTER_JOINS) and _is_product(join):
            limit = conf.integer("spark.sql.debug.maxToStringFields")
            left, right = (tree_text(side, limit) for side in (join.left, join.right))
            raise PlanningError.of(
                "_LEGACY_ERROR_TEMP_1211",
                joinType=to_sql_join(join.join_type),
                leftPlan=left,
                rightPlan=right,
            )
    return plan


def _is_product(join: Join) -> bool:
    parts = split_conjuncts(join.condition)
    if len(parts) == 1 and isinstance(parts[0], Literal) and parts[0].value in (False, None):
        return False
    left, right = join.left.output_ids, join.right.output_ids
    return not any(part.references & left and part.references & right for part in parts)
