"""The column `_metadata` of a stream of files: there where a query names it, and nowhere else.

    Project [_metadata.file_name]        Project [_metadata#2.file_name]
    +- StreamingRelation [a#0]     =>    +- StreamingRelation [a#0, _metadata#2]

Projects in between pass it on; an aggregation, a union and a view end its reach (Spark's
AddMetadataColumns).
"""

from __future__ import annotations

from ....planner.model.expressions.core import AttributeReference, Expression
from ....planner.model.expressions.unresolved import UnresolvedAttribute, UnresolvedStar
from ....planner.model.plans.logical import (
    Deduplicate,
    EventTimeWatermark,
    Filter,
    Generate,
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

_TRANSPARENT = (
    *(Project, Filter, Sort, Generate, SubqueryAlias, PipeOperator),
    *(EventTimeWatermark, Deduplicate),
)


def metadata_column(plan: LogicalPlan) -> AttributeReference | None:
    """The hidden column that a name may reach below this operator; None where none is hidden."""
    found = _reachable(plan)
    return None if found is None or found.expr_id in plan.output_ids else found


def _reachable(plan: LogicalPlan) -> AttributeReference | None:
    if isinstance(plan, StreamingRelation):
        return plan.metadata
    if not isinstance(plan, _TRANSPARENT):
        return None
    found = _reachable(plan.children[0])
    if found is not None and isinstance(plan, SubqueryAlias):
        return found.with_qualifier((plan.alias,))
    return found


def with_metadata_column(
    expressions: tuple[Expression, ...], child: LogicalPlan, context: Context
) -> LogicalPlan:
    """The child with its hidden column in its output, if the expressions name it."""
    nodes = (node for expression in expressions for node in expression.walk())
    candidates = [node for node in nodes if may_mean_metadata(_parts(node))]
    hidden = metadata_column(child) if candidates else None
    if hidden is None:
        return child
    named = any(_names(node, hidden, child, context) for node in candidates)
    return _showing(child, hidden) if named else child


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


def _names(
    node: Expression, hidden: AttributeReference, child: LogicalPlan, context: Context
) -> bool:
    if isinstance(node, AttributeReference):
        return node.expr_id == hidden.expr_id
    parts = _parts(node)
    return (
        context.scope((hidden,)).find(parts) is not None
        and context.scope(child.output).find(parts) is None
    )


def _showing(plan: LogicalPlan, hidden: AttributeReference) -> LogicalPlan:
    """The plan with the column in its output."""
    if hidden.expr_id in plan.output_ids:
        return plan
    match plan:
        case StreamingRelation(attributes=attributes):
            return replace(plan, attributes=(*attributes, hidden.with_qualifier(())))
        case Project(project_list=items):
            child = _showing(plan.child, hidden)
            shown = next(c for c in child.output if c.expr_id == hidden.expr_id)
            return replace(plan, project_list=(*items, shown), child=child)
    below: LogicalPlan = plan
    return below.map_children(lambda child: _showing(child, hidden))


def with_stars_of(plan: LogicalPlan, child: LogicalPlan) -> LogicalPlan:
    """The operator with `*` for the columns of its child as that was."""

    def visible(node: Expression) -> Expression:
        if isinstance(node, UnresolvedStar) and not node.target and not node.given:
            return replace(node, given=child.output)
        return node

    return plan.transform_expressions(visible)


def hidden_again(plan: LogicalPlan, hidden: AttributeReference) -> LogicalPlan:
    """An operator that passes the column on, without it."""
    if isinstance(plan, Project) or hidden.expr_id not in plan.output_ids:
        return plan
    kept = tuple(column for column in plan.output if column.expr_id != hidden.expr_id)
    return Project(project_list=kept, child=plan)
