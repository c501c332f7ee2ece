"""WATERMARK: the column that it names."""

from __future__ import annotations

from ....planner.model.expressions.core import Alias, AttributeReference, Cast, Expression, Literal
from ....planner.model.expressions.unresolved import UnresolvedAttribute, UnresolvedStar
from ....planner.model.plans.logical import EventTimeWatermark, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.text.text import pretty
from ....planner.model.tree import replace
from ...common.trees import rewrite_up
from ..context import Context
from ..expressions.expressions import Resolver
from ..failures import failure
from ..names.names import qualified


def resolve_watermark(
    plan: EventTimeWatermark, child: LogicalPlan, context: Context
) -> LogicalPlan:
    """The watermark on a column of the child, or on a Project that computes it.

    Raises:
        AnalysisError: a star, or an expression without a name.
    """
    if isinstance(plan.event_time, UnresolvedStar):
        raise failure(
            "INVALID_USAGE_OF_STAR_OR_REGEX",
            origin=plan.event_time.origin,
            hint="Name one column of type TIMESTAMP.",
            elem="'*'",
            prettyName="UnresolvedEventTimeWatermark",
        )
    event_time = Resolver(context.scope(child.output), context).resolve(plan.event_time)
    if isinstance(event_time, AttributeReference):
        known = {a.expr_id: a for a in child.output}
        # The name is as written here, whatever the case of the column's own letters.
        named = replace(known[event_time.expr_id], name=event_time.name)
        return replace(plan, event_time=named, child=child)
    if not event_time.resolved:
        return replace(plan, event_time=event_time, child=child)
    event_time = _named(event_time, plan.event_time)
    if not isinstance(event_time, Alias):
        text = pretty(qualified(event_time))
        raise failure(
            "REQUIRES_EXPLICIT_NAME_IN_WATERMARK_CLAUSE",
            sqlExpr=f"{text} AS `{pretty(event_time)}`",
        )
    projected = Project(project_list=(event_time, *child.output), child=child)
    return replace(plan, event_time=event_time.to_attribute(), child=projected)


def _named(event_time: Expression, written: Expression) -> Expression:
    """With the name that Spark counts as given: a field's, a cast column's, a constant's text."""
    if isinstance(event_time, Alias):
        return event_time
    if isinstance(written, UnresolvedAttribute):
        return Alias(child=event_time, name=written.parts[-1])
    if isinstance(event_time, Cast) and isinstance(event_time.child, AttributeReference):
        return Alias(child=event_time, name=event_time.child.name)
    if isinstance(event_time, Literal):
        return Alias(child=event_time, name=pretty(event_time))
    return event_time


def without_watermarks_of_tables(plan: LogicalPlan) -> LogicalPlan:
    """The resolved plan without the watermarks of what is no stream: they mean nothing there.

    Columns above keep the delay that they had taken from it, as in Spark.
    """

    def drop(node: LogicalPlan) -> LogicalPlan:
        if isinstance(node, EventTimeWatermark) and not node.child.is_streaming:
            return node.child
        return node

    return rewrite_up(plan, drop, frozenset((EventTimeWatermark,)))
