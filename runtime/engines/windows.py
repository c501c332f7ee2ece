"""Functions OVER rows of a table: as steps of the embedded engine, by their names in the table."""

from __future__ import annotations

from collections.abc import Iterator

from ...planner.model.expressions.core import AggregateExpression, Call, Expression, Literal
from ...planner.model.expressions.windows import WindowExpression
from ...planner.model.schemas.types import DataType


def function_of(window: WindowExpression) -> Call | None:
    """The function, or the aggregate, over a window; None: it is none of the kind."""
    function = window.function
    if isinstance(function, AggregateExpression):
        if function.distinct or function.filter is not None:
            return None
        function = function.function
    return function if isinstance(function, Call) else None


def computed_of(window: WindowExpression) -> tuple[Expression, ...]:
    """What the engine computes of each row for a window."""
    function = function_of(window)
    arguments = () if function is None else function.arguments
    return *arguments, *window.partition_by, *_keys(window)


def never_compared(window: WindowExpression) -> str | None:
    """Why no step stands for a window; None: one does."""
    function = function_of(window)
    if function is None:
        return "a window over such an aggregate was not compared with Spark"
    if window.bounds and window.frame is not None and window.frame.unit == "RANGE":
        return "a RANGE of distances was not compared with Spark"
    if not all(isinstance(argument, Literal) for argument in function.arguments[1:]):
        return "a function over a window with several columns was not compared with Spark"
    return None


def steps_of(window: WindowExpression) -> Iterator[tuple[str, list[DataType]]]:
    """The steps that a window takes, each over keys of some types."""
    function = function_of(window)
    assert function is not None, "it has been compared"
    keys = _keys(window)
    values = [a for a in function.arguments if not isinstance(a, Literal) and a not in keys]
    by_rows = window.frame is not None and window.frame.unit == "ROWS"
    framed = "over rows" if by_rows else "over"
    yield f"{framed} {function.name}", [value.data_type for value in values or keys]
    yield "over rank", [key.data_type for key in keys]  # as rows are ordered there
    yield "partition by", [key.data_type for key in window.partition_by]


def _keys(window: WindowExpression) -> tuple[Expression, ...]:
    return tuple(order.children[0] for order in window.order_by)
