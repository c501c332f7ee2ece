"""Unknown functions are told before anything else."""

from __future__ import annotations

from ....planner.model import registry
from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.unresolved import UnresolvedFunction
from ....planner.model.plans.logical import Generate
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import UnresolvedWith
from ....planner.model.schemas.ddl import unsupported_time
from ....planner.model.unsupported_functions import UNSUPPORTED_FUNCTIONS
from ..failures import routine_not_found, unresolved_routine, unsupported_function
from ..windows.window_functions import WINDOW_FUNCTIONS


def check_function_names(plan: LogicalPlan) -> None:
    """Look up every function that the query names, wherever it stands.

    Raises:
        AnalysisError: UNRESOLVED_ROUTINE, or STATEPLAN_UNSUPPORTED_FUNCTION for one of Spark's.
    """
    for operator in plan.walk():
        if isinstance(operator, UnresolvedWith):
            for _, body in operator.definitions:
                check_function_names(body)
        for expression in operator.expressions:
            for node in expression.collect(UnresolvedFunction):
                if _is_known(node.name.lower()):
                    continue
                if isinstance(operator, Generate) and node is operator.generator:
                    raise routine_not_found(node.name, operator.origin)
                raise _unknown(node)


_OF_TIMES = frozenset(
    (
        *("make_time", "to_time", "try_to_time", "time_trunc", "time_diff"),
        *(
            f"time_{way}_{unit}"
            for way in ("from", "to")
            for unit in ("seconds", "millis", "micros")
        ),
    )
)


def _unknown(function: UnresolvedFunction) -> AnalysisError:
    if function.name.lower() in _OF_TIMES:
        return unsupported_time()
    if function.name.lower() in UNSUPPORTED_FUNCTIONS:
        return unsupported_function(function.name, function.origin)
    return unresolved_routine(function.name, function.origin)


def _is_known(name: str) -> bool:
    return name in WINDOW_FUNCTIONS or registry.find(name) is not None
