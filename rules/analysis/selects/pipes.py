"""What the operators of pipes compute, and the positions that `|> AGGREGATE` groups by."""

from __future__ import annotations

from collections.abc import Callable

from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Expression,
)
from ....planner.model.expressions.unresolved import (
    PipeExpression,
    UnresolvedAlias,
    UnresolvedPipeAggregateOrdinal,
    UnresolvedStar,
)
from ....planner.model.expressions.windows import WindowExpression
from ....planner.model.text.text import plan_text
from ....planner.model.tree import replace
from ..failures import failure

Expressions = tuple[Expression, ...]
Rewrite = Callable[[Expression], Expression]


def without_pipe(item: Expression, shown: Rewrite | None = None) -> Expression:
    """An entry of a select list with what its PipeExpression holds, once that is resolved.

    Args:
        item: the entry.
        shown: what takes the place of a part in messages.

    Raises:
        AnalysisError: it aggregates where only AGGREGATE may, it does not in AGGREGATE, or it is a
            star.
    """
    if not isinstance(item, Alias | UnresolvedAlias) or not isinstance(item.child, PipeExpression):
        return item
    pipe = item.child
    if isinstance(pipe.child, UnresolvedStar):
        raise failure(
            "INVALID_USAGE_OF_STAR_OR_REGEX", elem="'*'", prettyName="expression `pipeexpression`"
        )
    if not pipe.child.resolved:
        return item
    function = _first_aggregate(pipe.child)
    if pipe.aggregates and function is None:
        is_column = isinstance(pipe.child, AttributeReference)
        raise failure(
            "PIPE_OPERATOR_AGGREGATE_EXPRESSION_CONTAINS_NO_AGGREGATE_FUNCTION",
            origin=pipe.origin if is_column else pipe.child.origin,
            expr=plan_text(pipe.child if shown is None else pipe.child.transform_up(shown)),
        )
    if function is not None and pipe.clause not in ("AGGREGATE", "SELECT"):
        raise failure(
            "PIPE_OPERATOR_CONTAINS_AGGREGATE_FUNCTION",
            origin=function.origin,
            expr=plan_text(function.function),
            clause=pipe.clause,
        )
    return replace(item, child=pipe.child)


def _first_aggregate(expression: Expression) -> AggregateExpression | None:
    """The first aggregate function without OVER, from the top and the left."""
    if isinstance(expression, AggregateExpression):
        return expression
    if isinstance(expression, WindowExpression):
        return None
    found = map(_first_aggregate, expression.children)
    return next((function for function in found if function is not None), None)


def with_positions(items: Expressions, columns: tuple[AttributeReference, ...]) -> Expressions:
    """The entries with the input's columns in the place of their positions.

    Raises:
        AnalysisError: the input has no such position.
    """

    def column(item: Expression) -> Expression:
        if not isinstance(item, UnresolvedPipeAggregateOrdinal):
            return item
        if 1 <= item.ordinal <= len(columns):
            return columns[item.ordinal - 1]
        raise failure(
            "GROUP_BY_POS_OUT_OF_RANGE", origin=item.origin, index=item.ordinal, size=len(columns)
        )

    return tuple(map(column, items))
