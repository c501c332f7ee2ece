"""Columns that an operator does not give, but a name may still reach below it.

JOIN ... USING gives one of two columns: `Project [k, ...], Join [k = k']` hides the other side's
k', which its table's name finds. A stream of files hides `_metadata` (Spark's AddMetadataColumns):

    Project [_metadata.file_name]        Project [_metadata#2.file_name]
    +- StreamingRelation [a#0]     =>    +- StreamingRelation [a#0, _metadata#2]

An operator that names such a column gets it through the Projects in between, and a Project of its
own cuts the output back. A star with the table's name has them, too. Aggregations, unions, and
named subqueries end a column's reach.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....planner.model.expressions.core import AttributeReference, Expression
from ....planner.model.expressions.unresolved import UnresolvedAttribute, UnresolvedStar
from ....planner.model.plans.logical import (
    Aggregate,
    Deduplicate,
    EventTimeWatermark,
    Filter,
    Generate,
    GlobalLimit,
    Join,
    LocalLimit,
    Offset,
    Project,
    Sort,
)
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import (
    METADATA,
    PipeOperator,
    StreamingRelation,
    SubqueryAlias,
)
from ....planner.model.tree import replace
from ..context import Context

Columns = tuple[AttributeReference, ...]
_BELOW_ANY = (Filter, Sort, Generate, PipeOperator)
_BELOW_USING = (*_BELOW_ANY, GlobalLimit, LocalLimit, Offset)
_BELOW_METADATA = (*_BELOW_ANY, Project, SubqueryAlias, EventTimeWatermark, Deduplicate)


def columns_hidden_by_using(plan: LogicalPlan) -> Columns:
    """The columns that a name with a table's may still reach below this operator."""
    match plan:
        case Project(hidden=hidden):
            return hidden or columns_hidden_by_using(plan.child)
        case Join():
            return (*columns_hidden_by_using(plan.left), *columns_hidden_by_using(plan.right))
    if isinstance(plan, _BELOW_USING):
        return columns_hidden_by_using(plan.child)
    return ()


def metadata_column(plan: LogicalPlan) -> AttributeReference | None:
    """The column `_metadata` that a name may reach below this operator, if it does not give it."""
    found = _metadata_below(plan)
    return None if found is None or found.expr_id in plan.output_ids else found


def _metadata_below(plan: LogicalPlan) -> AttributeReference | None:
    if isinstance(plan, StreamingRelation):
        return plan.metadata
    if not isinstance(plan, _BELOW_METADATA):
        return None
    found = _metadata_below(plan.children[0])
    if found is not None and isinstance(plan, SubqueryAlias):
        return found.with_qualifier((plan.alias,))
    return found


def with_hidden_columns(
    expressions: tuple[Expression, ...], child: LogicalPlan, context: Context
) -> tuple[LogicalPlan, Context]:
    """The child with those of its hidden columns that the expressions name.

    In the context that comes with it names without a table do not mean what USING hides.
    """
    hidden = columns_hidden_by_using(child)
    if not hidden:
        return _with_metadata(expressions, child, context), context
    needed = frozenset(_named(expressions, child, hidden, context))
    child = _showing(child, tuple(c for c in hidden if c.expr_id in needed))
    return _with_metadata(expressions, child, context), context.hiding(hidden)


def _named(
    expressions: tuple[Expression, ...], child: LogicalPlan, hidden: Columns, context: Context
) -> Iterator[int]:
    visible, below = context.scope(child.output), context.scope(hidden)
    reachable = {column.expr_id for column in hidden} - child.output_ids
    for expression in expressions:
        for node in expression.walk():
            if isinstance(node, AttributeReference) and node.expr_id in reachable:
                yield node.expr_id
            elif isinstance(node, UnresolvedStar):
                if node.target:
                    yield from (c.expr_id for c in hidden if below.qualifies(c, node.target))
            elif (
                isinstance(node, UnresolvedAttribute)
                and len(node.parts) > 1
                and not visible.knows(node.parts)
            ):
                found = below.find(node.parts)
                if found is not None and below.qualifies(found[0], node.parts[:1]):
                    yield found[0].expr_id


def _with_metadata(
    expressions: tuple[Expression, ...], child: LogicalPlan, context: Context
) -> LogicalPlan:
    nodes = (node for expression in expressions for node in expression.walk())
    candidates = [node for node in nodes if may_mean_metadata(_parts(node))]
    hidden = metadata_column(child) if candidates else None
    if hidden is None:
        return child
    named = any(_is_metadata(node, hidden, child, context) for node in candidates)
    return _showing(child, (hidden,)) if named else child


def may_mean_metadata(parts: tuple[str, ...]) -> bool:
    """Whether a name may mean a hidden column, which takes its id when it is looked at."""
    return any(part.lower() == METADATA for part in parts)


def _parts(node: Expression) -> tuple[str, ...]:
    match node:
        case AttributeReference(name=name):
            return (name,)
        case UnresolvedStar(target=parts) | UnresolvedAttribute(parts=parts):
            return parts
    return ()


def _is_metadata(
    node: Expression, hidden: AttributeReference, child: LogicalPlan, context: Context
) -> bool:
    if isinstance(node, AttributeReference):
        return node.expr_id == hidden.expr_id
    parts = _parts(node)
    return (
        context.scope((hidden,)).find(parts) is not None
        and context.scope(child.output).find(parts) is None
    )


def _showing(plan: LogicalPlan, columns: Columns) -> LogicalPlan:
    """The plan with the columns in its output, last."""
    missing = tuple(c for c in columns if c.expr_id not in plan.output_ids)
    if not missing:
        return plan
    match plan:
        case StreamingRelation(attributes=attributes):
            shown = (c.with_qualifier(()) for c in missing)
            return replace(plan, attributes=(*attributes, *shown), shows_metadata=True)
        case Project(project_list=items):
            child = _showing(plan.child, missing)
            given = {c.expr_id: c for c in child.output}
            shown = (given[c.expr_id] for c in missing if c.expr_id in given)
            return replace(plan, project_list=(*items, *shown), child=child)
    if isinstance(plan, (*_BELOW_USING, *_BELOW_METADATA, Join)):
        below: LogicalPlan = plan
        return below.map_children(lambda child: _showing(child, missing))
    return plan


def with_stars_of(plan: LogicalPlan, child: LogicalPlan) -> LogicalPlan:
    """The operator with `*` for the columns of its child as that was."""

    def visible(node: Expression) -> Expression:
        if isinstance(node, UnresolvedStar) and not node.target and not node.given:
            return replace(node, given=child.output)
        return node

    return plan.transform_expressions(visible)


def cut_back(plan: LogicalPlan, added: frozenset[int]) -> LogicalPlan:
    """An operator that passes its input's columns on, without those that were added to it."""
    if isinstance(plan, Project | Aggregate) or not plan.resolved:
        return plan
    if added.isdisjoint(plan.output_ids):
        return plan
    kept = tuple(column for column in plan.output if column.expr_id not in added)
    return Project(project_list=kept, child=plan)
