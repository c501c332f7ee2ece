"""Semi and anti joins, as far down their left side as they go: they only drop rows."""

from __future__ import annotations

from functools import partial

from ....planner.model.expressions.core import Alias, AttributeReference, Expression
from ....planner.model.expressions.predicates import conjunction, split_conjuncts
from ....planner.model.plans.join_types import SEMI_JOINS
from ....planner.model.plans.logical import (
    Aggregate,
    Distinct,
    Expand,
    Generate,
    Join,
    Project,
    Sort,
    Union,
)
from ....planner.model.plans.partitions import Repartition, RepartitionByExpression
from ....planner.model.plans.query_plan import LogicalPlan, UnaryNode
from ....planner.model.plans.statistics import size_in_bytes
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import alias_map, by_place, filtered, replace_attributes, rewrite_down


def push_semi_joins_down(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Join LeftSemi, Project [a AS b], t, r` -> `Project [a AS b], Join LeftSemi, t, r`.

    Through projections that only rename or give constants, into all inputs of a union, below what
    keeps rows as they are; below an aggregate by its keys, where the right side is small enough to
    broadcast; to the side of an inner or outer join that the condition is about. Idempotent.
    """

    def push(node: LogicalPlan) -> LogicalPlan:
        if not isinstance(node, Join) or node.join_type not in SEMI_JOINS:
            return node
        match node.left:
            case Project() as below if _is_selection(below):
                # Pruning would put it where it is again, unless the join goes further down.
                lower = replace(node, left=below.child)
                pushed = push(lower) if _is_told_apart((below.child,), node) else lower
                return node if pushed is lower else replace(below, child=pushed)
            case Project() as below:
                return _through_project(node, below)
            case Aggregate() as below:
                return _through_aggregate(node, below, conf)
            case Union() as below:
                return _into_union(node, below)
            case (
                Distinct()
                | Generate()
                | Sort()
                | Expand()
                | Repartition()
                | RepartitionByExpression()
            ) as below:
                if all(e.deterministic for e in below.expressions):
                    return _through(node, below, below.child.output_ids)
            case Join() as below:
                return _into_join(node, below)
        return node

    return rewrite_down(plan, push, frozenset((Join,)))


def _is_told_apart(inputs: tuple[LogicalPlan, ...], join: Join) -> bool:
    """Whether the condition means other columns on the right than the inputs below have."""
    given = frozenset().union(*(plan.output_ids for plan in inputs))
    mentioned = frozenset() if join.condition is None else join.condition.references
    return not (given & join.right.output_ids & (mentioned or given))


def _through_project(join: Join, project: Project) -> LogicalPlan:
    items, child = project.project_list, project.child
    if not all(e.deterministic for e in items) or not _is_told_apart((child,), join):
        return join
    aliases = alias_map(items)
    condition = join.condition
    if condition is not None:
        if not all(isinstance(e, AttributeReference) or e.foldable for e in aliases.values()):
            return join
        condition = replace_attributes(condition, aliases)
    return replace(project, child=replace(join, left=child, condition=condition))


def _is_selection(project: Project) -> bool:
    """Whether it only leaves columns out."""
    kept = [e.expr_id for e in project.project_list if isinstance(e, AttributeReference)]
    order = [a.expr_id for a in project.child.output if a.expr_id in set(kept)]
    return len(kept) == len(project.project_list) and kept == order


def _through_aggregate(join: Join, aggregate: Aggregate, conf: Conf) -> LogicalPlan:
    if not aggregate.grouping or not all(e.deterministic for e in aggregate.aggregates):
        return join
    if not _is_told_apart((aggregate.child,), join):
        return join
    limit = conf.size("spark.sql.autoBroadcastJoinThreshold")
    if "BROADCAST" not in join.hint and not 0 <= size_in_bytes(join.right) <= limit:
        return join
    if join.condition is None:
        return join
    aliases = alias_map(aggregate.aggregates)
    valid = aggregate.child.output_ids | join.right.output_ids

    def goes_down(conjunct: Expression) -> bool:
        return replace_attributes(conjunct, aliases).references <= valid and not any(
            isinstance(e, Alias) and e.expr_id in conjunct.references and not _is_key(e, aggregate)
            for e in aggregate.aggregates
        )

    if not all(map(goes_down, split_conjuncts(join.condition))):
        return join
    condition = replace_attributes(join.condition, aliases)
    below = replace(join, left=aggregate.child, condition=condition)
    return replace(aggregate, child=below)


def _is_key(item: Alias, aggregate: Aggregate) -> bool:
    return any(item.child == key for key in aggregate.grouping)


def _into_union(join: Join, union: Union) -> LogicalPlan:
    if not _is_told_apart(union.inputs, join):
        return join
    inputs: list[LogicalPlan] = []
    for plan in union.inputs:
        columns = by_place(union, plan)
        below = replace(join, left=plan)
        inputs.append(below.map_expressions(partial(replace_attributes, replacement=columns)))
    return replace(union, inputs=tuple(inputs))


def _through(join: Join, below: UnaryNode, given: frozenset[int]) -> LogicalPlan:
    """Below an operator that adds columns at most, if the condition needs none of them."""
    if join.condition is None or not _is_told_apart((below.child,), join):
        return join
    conjuncts = split_conjuncts(join.condition)
    valid = given | join.right.output_ids
    down = [c for c in conjuncts if c.references <= valid]
    if not down:
        return join
    rest = [c for c in conjuncts if c not in down]
    if rest and join.join_type != "LeftSemi":
        return join
    pushed = replace(join, left=below.child, condition=conjunction(down))
    if rest and any(not c.references <= below.output_ids for c in rest):
        return join
    return filtered(replace(below, child=pushed), rest)


def _into_join(join: Join, below: Join) -> LogicalPlan:
    """To the side of a lower join that the condition is about, if its rows stay as they are."""
    match _side_of(join, below), below.join_type:
        case "left", "Inner" | "Cross" | "LeftOuter":
            return replace(below, left=replace(join, left=below.left))
        case "right", "Inner" | "Cross" | "RightOuter":
            return replace(below, right=replace(join, left=below.right))
    return join


def _side_of(join: Join, below: Join) -> str | None:
    """The side that all conjuncts are about; those about none of them count as the left's."""
    if join.condition is None:
        return "right" if below.join_type == "RightOuter" else "left"
    own = [c.references - join.right.output_ids for c in split_conjuncts(join.condition)]
    on_left = [ids <= below.left.output_ids for ids in own]
    if all(on_left):
        return "left"
    on_right = all(ids <= below.right.output_ids for ids in own)
    return "right" if on_right and not any(on_left) else None
