"""Hints: those of joins, from the query that names a table to the table; names of operators."""

from __future__ import annotations

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import Origin
from ....planner.model.plans.hints import JOIN_STRATEGIES, STATE_NAME, ResolvedHint, UnresolvedHint
from ....planner.model.plans.logical import Aggregate, Deduplicate, Distinct, GlobalLimit, Join
from ....planner.model.plans.python_operators import (
    FlatMapGroupsInPandasWithState,
    TransformWithStateInPySpark,
)
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import CTERelationRef, SubqueryAlias, View
from ....planner.model.tree import replace


def resolve_hint(hint: UnresolvedHint, child: LogicalPlan) -> LogicalPlan:
    """The hint over the tables that it names, or over the query if it names none.

    A table is named by its alias. What is no hint for joins, or names no table, is left out.

    Raises:
        AnalysisError: STATE_NAME without a name, or where there is no operator with state.
    """
    if hint.name.upper() == STATE_NAME:
        return _named(hint, child) if child.resolved else replace(hint, child=child)
    strategy = JOIN_STRATEGIES.get(hint.name.upper())
    if strategy is None:
        return child
    if not hint.tables:
        return ResolvedHint(strategy=strategy, child=child)
    names = {table[-1].lower() for table in hint.tables}
    return _over_tables(child, names, strategy)


def _named(hint: UnresolvedHint, plan: LogicalPlan) -> LogicalPlan:
    """The plan whose nearest operator with state has the name; it travels with its origin."""
    name = ".".join(hint.tables[0]).strip("'\"") if len(hint.tables) == 1 else ""
    found = next(filter(_keeps_state, plan.walk()), None)
    if not name or found is None:
        raise AnalysisError.of(
            "STATEPLAN_OPERATOR_HINT_MISPLACED" if name else "STATEPLAN_OPERATOR_HINT_EMPTY"
        )
    origin = found.origin or hint.origin or Origin(line=1, position=0)
    named = replace(found, origin=replace(origin, state_name=name))
    return plan.transform_up(lambda node: named if node is found else node)


def _keeps_state(plan: LogicalPlan) -> bool:
    match plan:
        case Join(left=left, right=right):
            return left.is_streaming and right.is_streaming
        case Aggregate() | Distinct() | Deduplicate() | GlobalLimit():
            return plan.is_streaming
        case FlatMapGroupsInPandasWithState() | TransformWithStateInPySpark():
            return plan.is_streaming
        case _:
            return False


def _over_tables(plan: LogicalPlan, names: set[str], strategy: str) -> LogicalPlan:
    match plan:
        case SubqueryAlias(alias=alias) if alias.lower() in names:
            return ResolvedHint(strategy=strategy, child=plan)
        case SubqueryAlias() | View() | CTERelationRef() | ResolvedHint():
            return plan  # another query's tables
        case _:
            return plan.map_children(lambda child: _over_tables(child, names, strategy))
