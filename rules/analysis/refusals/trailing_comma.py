"""`SELECT user, FROM events`: read as a column FROM that is called events."""

from __future__ import annotations

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import Alias, Expression
from ....planner.model.expressions.unresolved import UnresolvedAttribute
from ....planner.model.plans.logical import Aggregate, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ..failures import failure


def trailing_comma(plan: LogicalPlan) -> AnalysisError | None:
    """TRAILING_COMMA_IN_SELECT, which Spark looks for before all else."""
    for operator in plan.walk():
        match operator:
            case Project(project_list=(_, *_, last)) | Aggregate(aggregates=(_, *_, last)):
                column = _from_column(last)
                if column is not None:
                    return failure("TRAILING_COMMA_IN_SELECT", origin=column.origin)
    return None


def _from_column(item: Expression) -> UnresolvedAttribute | None:
    """The column FROM that an entry gives another name, if it does."""
    match item:
        case Alias(child=UnresolvedAttribute(parts=(name,)) as column) if name.upper() == "FROM":
            return column
    return None
