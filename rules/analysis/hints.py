"""Join hints: from the query that names a table to the table."""

from __future__ import annotations

from ...planner.model.hints import JOIN_STRATEGIES, ResolvedHint, UnresolvedHint
from ...planner.model.query_plan import LogicalPlan
from ...planner.model.relations import CTERelationRef, SubqueryAlias, View


def resolve_hint(hint: UnresolvedHint, child: LogicalPlan) -> LogicalPlan:
    """The hint over the tables that it names, or over the query if it names none.

    A table is named by its alias. What is no hint for joins, or names no table, is left out.
    """
    strategy = JOIN_STRATEGIES.get(hint.name.upper())
    if strategy is None:
        return child
    if not hint.tables:
        return ResolvedHint(strategy=strategy, child=child)
    names = {table[-1].lower() for table in hint.tables}
    return _over_tables(child, names, strategy)


def _over_tables(plan: LogicalPlan, names: set[str], strategy: str) -> LogicalPlan:
    match plan:
        case SubqueryAlias(alias=alias) if alias.lower() in names:
            return ResolvedHint(strategy=strategy, child=plan)
        case SubqueryAlias() | View() | CTERelationRef() | ResolvedHint():
            return plan  # another query's tables
        case _:
            return plan.map_children(lambda child: _over_tables(child, names, strategy))
