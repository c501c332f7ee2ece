"""Sums and averages of small decimals, over whole numbers."""

from __future__ import annotations

from ....planner.model.expressions.core import AggregateExpression, Call, Cast, Expression, Literal
from ....planner.model.plans.logical import Aggregate
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import DOUBLE, DecimalType
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import bottom_up
from ..support.calls import call

MAX_LONG_DIGITS = 18
MAX_DOUBLE_DIGITS = 15
# What cannot overflow needs no try_, and loses the name that it was written with.
_PLAIN = {"try_sum": "sum", "try_avg": "avg"}


@bottom_up(Aggregate)
def speed_up_decimal_aggregates(node: Aggregate, conf: Conf) -> LogicalPlan:
    """`sum(m)` -> `MakeDecimal(sum(UnscaledValue(m)))`, `avg(m)` -> a cast of such an average.

    Where the sum fits a long (precision + 10 <= 18), the average a double (precision + 4 <= 15).
    Idempotent: the new arguments are no decimals.
    """
    return node.map_expressions(lambda e: _rewritten(e, conf))


def _rewritten(expression: Expression, conf: Conf) -> Expression:
    if not isinstance(expression, AggregateExpression):
        return expression.map_children(lambda child: _rewritten(child, conf))
    function = expression.function
    one_name = function.spec.one_name
    name = _PLAIN.get(one_name, one_name)
    if name not in ("sum", "avg"):
        return expression
    argument = function.arguments[0]
    if not isinstance(argument.data_type, DecimalType):
        return expression
    precision, scale = argument.data_type.precision, argument.data_type.scale
    unscaled = replace(function, name=name, arguments=(call("unscaledvalue", argument),))
    over_longs = replace(expression, function=unscaled)
    if name == "sum":
        if precision + 10 > MAX_LONG_DIGITS:
            return expression
        return Call(
            name="makedecimal",
            arguments=(over_longs,),
            options=(precision + 10, scale),
            ansi=conf.ansi,
        )
    if precision + 4 > MAX_DOUBLE_DIGITS:
        return expression
    divisor = Literal(value=10.0**scale, type_=DOUBLE)
    return Cast(
        child=Call(name="/", arguments=(over_longs, divisor), ansi=conf.ansi),
        type_=DecimalType(precision + 4, scale + 4),
        mode="ANSI" if conf.ansi else "LEGACY",
        time_zone=conf.time_zone,
    )
