"""COALESCE, REPARTITION, REPARTITION_BY_RANGE and REBALANCE: hints that are operators."""

from __future__ import annotations

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import Expression, Literal, SortOrder
from ....planner.model.expressions.unresolved import UnresolvedAttribute
from ....planner.model.plans.hints import UnresolvedHint
from ....planner.model.plans.partitions import (
    RebalancePartitions,
    Repartition,
    RepartitionByExpression,
)
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.text.quoting import to_sql_expr
from ..context import Context
from ..expressions.expressions import Resolver
from ..selects.missing import resolve_over, restored


def resolve_partition_hint(
    hint: UnresolvedHint, child: LogicalPlan, context: Context
) -> LogicalPlan:
    """The operator that the hint stands for; names that are no columns stay unresolved.

    Raises:
        AnalysisError: parameters that the hint does not take.
    """
    name = hint.name.upper()
    parameters = hint.parameters
    number: int | None = None
    if parameters and _is_number(parameters[0]):
        number, parameters = _number(parameters[0]), parameters[1:]
    if name == "COALESCE":
        if number is None or parameters:
            raise AnalysisError.of("_LEGACY_ERROR_TEMP_1048", hintName=name)
        return Repartition(num_partitions=_positive(number), shuffle=False, child=child)
    wrong = next((p for p in parameters if not isinstance(p, UnresolvedAttribute)), None)
    if wrong is not None:
        raise AnalysisError.of(
            "_LEGACY_ERROR_TEMP_1047", hintName=name, invalidParams=to_sql_expr(wrong)
        )
    if number is not None:
        _positive(number)
    if name == "REBALANCE":
        resolver = Resolver(context.scope(child.output), context)
        by = tuple(resolver.resolve(p) for p in parameters)
        return RebalancePartitions(by=by, num_partitions=number, child=child)
    if name == "REPARTITION" and not parameters and number is not None:
        return Repartition(num_partitions=number, shuffle=True, child=child)
    # Columns that the select list leaves out are there as well.
    by, below = resolve_over(parameters, child, context)
    if name == "REPARTITION_BY_RANGE":
        by = tuple(SortOrder(child=e) for e in by)
    return restored(RepartitionByExpression(by=by, num_partitions=number, child=below), child)


def _is_number(parameter: Expression) -> bool:
    return isinstance(parameter, Literal) and isinstance(parameter.value, int)


def _number(parameter: Expression) -> int:
    assert isinstance(parameter, Literal) and isinstance(parameter.value, int)
    return parameter.value


def _positive(number: int) -> int:
    if number < 1:
        raise AnalysisError(
            None,
            f"requirement failed: Number of partitions ({number}) must be positive.",
            hint="Ask for at least one partition.",
        )
    return number
