"""What strategies are, how they call each other, and the shapes in which a LIMIT stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

from ...physical.plan import SparkPlan
from ..model.errors import PlanningError
from ..model.expressions.core import (
    AttributeReference,
    Expression,
    Literal,
    Origin,
    SortOrder,
    to_attribute,
)
from ..model.frozen import dataclass
from ..model.output_modes import OutputMode
from ..model.plans.logical import GlobalLimit, LocalLimit, Project, Sort
from ..model.plans.query_plan import LogicalPlan
from ..model.settings.conf import Conf
from ..model.tree import replace

Planned = TypeVar("Planned", bound=SparkPlan)
Strategy = Callable[[LogicalPlan, "PlanLater"], SparkPlan | None]


@dataclass(frozen=True)
class PlanLater:
    """Plans a logical operator by the first strategy that knows it.

    Strategies get this to plan their operator's children with, and what the plan is made for.
    """

    strategies: tuple[Strategy, ...]
    output_mode: OutputMode
    conf: Conf

    def __call__(self, logical: LogicalPlan) -> SparkPlan:
        """The physical operator for a logical one and all below it.

        Raises:
            PlanningError: no strategy knows the operator.
        """
        for strategy in self.strategies:
            planned = strategy(logical, self)
            if planned is not None:
                origin = where_from(logical)
                return planned if origin is None else _placed(planned, origin)
        name = type(logical).__name__
        raise PlanningError.of("STATEPLAN_NO_STRATEGY", name=name)


@cache
def _common_fields(kind: Any, logical: Any) -> tuple[str, ...]:
    own = {field.name for field in fields(kind)} - {"origin"}
    return tuple(field.name for field in fields(logical) if field.name in own)


def planned_as(
    kind: type[Planned], logical: LogicalPlan, plan_later: PlanLater, **others: Any
) -> Planned:
    """The physical operator with what it has in common with a logical one, its inputs planned.

    Args:
        kind: the operator.
        logical: the logical one.
        plan_later: what plans the inputs.
        others: fields that the logical operator has not, or has in another form.
    """
    pair: Any = (kind, type(logical))
    for name in _common_fields(*pair):
        if name in others:
            continue
        value = getattr(logical, name)
        if name in kind.child_fields:
            is_list = isinstance(value, tuple)
            value = tuple(map(plan_later, value)) if is_list else plan_later(value)
        others[name] = value
    return kind(**others)


def columns_of(keys: tuple[Expression, ...]) -> tuple[AttributeReference, ...]:
    """The columns among keys: of a resolved plan's all of them."""
    return tuple(key for key in keys if isinstance(key, AttributeReference))


def require_keys(keys: tuple[Expression, ...]) -> None:
    """Rows with state are put in place by their keys: there must be one.

    Raises:
        PlanningError: there is none.
    """
    if not keys:
        raise PlanningError(
            None,
            "requirement failed: The expressions for hash of a StatefulOpClusteredDistribution"
            " should not be Nil. An AllTuples should be used to represent a distribution that only"
            " has a single partition.",
            hint="Name at least one column.",
        )


def _placed(plan: SparkPlan, origin: Origin) -> SparkPlan:
    """The operators that a strategy made of a logical one, with its place."""
    if plan.place is not None or not plan.children:
        return plan
    below = plan.map_children(lambda child: _placed(child, origin))
    return replace(below, place=origin)


def where_from(logical: LogicalPlan) -> Origin | None:
    """Where an operator stands in the query's text: its own place or its first expression's."""
    if logical.origin is not None:
        return logical.origin
    nodes = (node for expression in logical.expressions for node in expression.walk())
    return next((node.origin for node in nodes if node.origin is not None), None)


def match_limit(logical: LogicalPlan) -> tuple[int, LogicalPlan] | None:
    """`LIMIT n` and what is limited: GlobalLimit over LocalLimit of the same number."""
    match logical:
        case GlobalLimit(
            limit=Literal(value=int(number)),
            child=LocalLimit(limit=Literal(value=local), child=child),
        ) if number == local:
            return number, child
        case _:
            return None


def match_top(
    logical: LogicalPlan,
) -> tuple[int, tuple[SortOrder, ...], tuple[Expression, ...], LogicalPlan] | None:
    """`ORDER BY ... LIMIT n`, perhaps a projection between: n, order, columns, input."""
    match match_limit(logical):
        case (number, Sort(order=order, is_global=True, child=child)):
            return number, order, tuple(map(to_attribute, child.output)), child
        case (number, Project(project_list=columns, child=Sort() as sort)) if sort.is_global:
            return number, sort.order, columns, sort.child
        case _:
            return None
