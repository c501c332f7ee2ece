"""Unknown functions are told before anything else."""

from __future__ import annotations

from ...planner.model import registry
from ...planner.model.query_plan import LogicalPlan
from ...planner.model.relations import UnresolvedWith
from ...planner.model.unresolved import UnresolvedFunction
from .failures import unresolved_routine
from .window_functions import WINDOW_FUNCTIONS


def check_function_names(plan: LogicalPlan) -> None:
    """Look up every function that the query names, wherever it stands.

    Raises:
        AnalysisError: UNRESOLVED_ROUTINE.
    """
    for operator in plan.walk():
        if isinstance(operator, UnresolvedWith):
            for _, body in operator.definitions:
                check_function_names(body)
        for expression in operator.expressions:
            for node in expression.walk():
                if isinstance(node, UnresolvedFunction) and not _is_known(node.name.lower()):
                    raise unresolved_routine(node.name, node.origin)


def _is_known(name: str) -> bool:
    return name in WINDOW_FUNCTIONS or registry.find(name) is not None
