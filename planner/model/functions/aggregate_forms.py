"""An aggregate function's buffers as expressions: over many rows, and over one."""

from __future__ import annotations

from ..expressions.core import AggregateExpression, Call, Expression, Literal
from ..registry import AggregateForms


def partial_over(
    forms: AggregateForms, condition: Expression | None = None
) -> tuple[Expression, ...]:
    """Per buffer, what an engine computes over many rows: scalars of AggregateExpressions.

    Args:
        condition: the FILTER, if there is one.
    """
    # Equal expressions compare as equal: what they are called is for whoever uses them.
    return forms.partial(
        lambda call: AggregateExpression(function=call, filter=condition, result_id=0)
    )


def row_over(forms: AggregateForms, condition: Expression | None = None) -> tuple[Expression, ...]:
    """Per buffer, a scalar expression that gives it over a single row.

    A buffer that is 1 for every row is a Literal. Folding the rows' buffers by `merges` gives
    what `partial_over` gives for all of them.

    Args:
        condition: the FILTER; a row that it leaves out has the buffers of no rows.
    """
    values = forms.row()
    if condition is None:
        return values
    return tuple(
        Call(name="if", arguments=(condition, value, Literal(value=b.empty, type_=b.data_type)))
        for value, b in zip(values, forms.travelling, strict=True)
    )
