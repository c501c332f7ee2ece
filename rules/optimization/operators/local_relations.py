"""Plans that are known to give no rows; rows of the plan itself, computed while planning."""

from __future__ import annotations

from ....planner.model.expressions.core import (
    Alias,
    Call,
    Expression,
    Literal,
    to_attribute,
    without_alias,
)
from ....planner.model.expressions.evaluation import evaluate
from ....planner.model.functions.build import is_false, null
from ....planner.model.plans.logical import (
    Aggregate,
    Expand,
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
from ....planner.model.plans.partitions import Sample
from ....planner.model.plans.query_plan import LogicalPlan, UnaryNode
from ....planner.model.plans.relations import LocalRelation
from ....planner.model.plans.windows import Window
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import bottom_up, replace_attributes
from ..expressions.failing_constants import refuse_failing
from .sorts import REPARTITIONS


def empty_like(plan: LogicalPlan) -> LocalRelation:
    """No rows, with the plan's columns."""
    return LocalRelation(attributes=plan.output, streaming=plan.is_streaming)


def is_empty(plan: LogicalPlan) -> bool:
    """Whether the plan is a relation without rows."""
    return isinstance(plan, LocalRelation) and not plan.rows


@bottom_up(GlobalLimit, LocalLimit)
def optimize_limit_zero(node: GlobalLimit | LocalLimit, conf: Conf) -> LogicalPlan:
    """`GlobalLimit 0, child` -> an empty relation. Idempotent."""
    limit = node.limit
    return empty_like(node) if isinstance(limit, Literal) and limit.value == 0 else node


def propagate_empty_relations(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """What lies over nothing gives nothing: `Project, empty` -> empty; inputs of a union go.

    Not aggregates, limits and joins of a stream: they have state to keep, and may have something
    to give. Nor a repartition that is the last thing a query does. Idempotent.
    """
    node: LogicalPlan = plan
    if isinstance(plan, REPARTITIONS):
        return node.map_children(lambda child: _propagated(child, conf))
    if isinstance(plan, Project | Filter) and isinstance(plan.child, _LAST):
        return _propagate(node.map_children(lambda child: propagate_empty_relations(child, conf)))
    return _propagated(plan, conf)


def _propagate(node: LogicalPlan) -> LogicalPlan:
    if isinstance(node, Union):
        return _union(node)
    if isinstance(node, Join):
        return _join(node)
    if not isinstance(node, UnaryNode) or not is_empty(node.child):
        return node
    streaming = node.is_streaming
    match node:
        case _ if isinstance(node, _EMPTY_OF_NOTHING):
            return empty_like(node)
        case GlobalLimit() | LocalLimit() if not streaming:
            return empty_like(node)
        case Aggregate() if node.grouping and not streaming:
            return empty_like(node)
        case Generate(generator=Call(name="explode")):
            return empty_like(node)
    return node


_EMPTY_OF_NOTHING = (Project, Filter, Sort, Offset, Expand, Window, Sample, *REPARTITIONS)
_LAST = (Project, Filter, *REPARTITIONS)


@bottom_up(LogicalPlan, holding=(LocalRelation, Join))
def _propagated(node: LogicalPlan, conf: Conf) -> LogicalPlan:
    return _propagate(node)


def _union(node: Union) -> LogicalPlan:
    kept = tuple(plan for plan in node.inputs if not is_empty(plan))
    if len(kept) == len(node.inputs):
        return node
    if not kept:
        return empty_like(node)
    rest = kept[0] if len(kept) == 1 else replace(node, inputs=kept)
    if rest.output_ids == node.output_ids:
        return rest
    items: list[Expression] = []
    for new, old in zip(rest.output, node.output, strict=True):
        if new.expr_id == old.expr_id:
            items.append(new)
            continue
        marked = old.metadata if old.metadata != new.metadata else None
        items.append(Alias(child=new, name=old.name, expr_id=old.expr_id, explicit_metadata=marked))
    return Project(child=rest, project_list=tuple(items))


def _join(node: Join) -> LogicalPlan:
    if node.is_streaming:
        return node
    left, right = is_empty(node.left), is_empty(node.right)
    never = node.condition is not None and is_false(node.condition)
    match node.join_type:
        case "Inner" | "Cross" | "LeftSemi" if left or right or never:
            return empty_like(node)
        case "LeftOuter" | "LeftAnti" if left:
            return empty_like(node)
        case "RightOuter" if right:
            return empty_like(node)
        case "FullOuter" if left and right:
            return empty_like(node)
        case "LeftAnti" if right or never:
            return node.left
        case "LeftOuter" if right or never:
            return _padded(node, node.left)
        case "RightOuter" if left or never:
            return _padded(node, node.right)
        case "FullOuter" if left or right:
            return _padded(node, node.right if left else node.left)
        case "LeftSemi" | "LeftAnti" if node.condition is None and _has_rows(node.right):
            return node.left if node.join_type == "LeftSemi" else empty_like(node)
    return node


def _has_rows(plan: LogicalPlan) -> bool:
    return isinstance(plan, LocalRelation) and bool(plan.rows)


def _padded(join: Join, side: LogicalPlan) -> Project:
    """The rows of one side of a join, with nulls for the other."""
    return Project(
        child=side,
        project_list=tuple(
            a
            if a.expr_id in side.output_ids
            else Alias(child=null(a.data_type), name=a.name, expr_id=a.expr_id)
            for a in join.output
        ),
    )


@bottom_up(LogicalPlan, holding=(LocalRelation,))
def convert_to_local_relations(node: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Project [a + 1 AS b], LocalRelation [a]` -> `LocalRelation [b]`; so filters and limits.

    Where an expression's value is not known here the operator stays. Idempotent.
    """
    match node:
        case Project(project_list=items, child=LocalRelation() as table):
            return _projected(items, table, conf) or node
        case Filter(condition=condition, child=LocalRelation() as table):
            return _filtered(condition, table, conf) or node
        case (
            LocalLimit(limit=Literal(value=int(count)), child=LocalRelation() as table)
            | GlobalLimit(limit=Literal(value=int(count)), child=LocalRelation() as table)
        ):
            return replace(table, rows=table.rows[:count])
    return node


def _values(
    expressions: tuple[Expression, ...], table: LocalRelation, conf: Conf
) -> tuple[tuple[Literal, ...], ...] | None:
    """The expressions' values for each row; None where one is not known."""
    if not all(e.deterministic for e in expressions):
        return None
    rows: list[tuple[Literal, ...]] = []
    for row in table.rows:
        columns: dict[int, Expression] = {
            a.expr_id: value for a, value in zip(table.attributes, row, strict=True)
        }
        constants = [replace_attributes(without_alias(e), columns) for e in expressions]
        found = list(map(evaluate, constants))
        values = tuple(value for value in found if value is not None)
        if len(values) < len(found):
            for constant in constants if conf.ansi else ():
                refuse_failing(constant)
            return None
        rows.append(values)
    return tuple(rows)


def _projected(
    items: tuple[Expression, ...], table: LocalRelation, conf: Conf
) -> LogicalPlan | None:
    rows = _values(items, table, conf)
    if rows is None:
        return None
    attributes = tuple(to_attribute(item) for item in items)
    return replace(table, attributes=attributes, rows=rows)


def _filtered(condition: Expression, table: LocalRelation, conf: Conf) -> LogicalPlan | None:
    kept = _values((condition,), table, conf)
    if kept is None:
        return None
    rows = tuple(row for row, (test,) in zip(table.rows, kept, strict=True) if test.value is True)
    return replace(table, rows=rows)
