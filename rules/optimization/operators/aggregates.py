"""Grouping keys, aggregations that are not needed, sums of decimals over whole numbers."""

from __future__ import annotations

from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Cast,
    Expression,
    Literal,
    lit,
)
from ....planner.model.expressions.equality import Canonical, ExpressionSet, canonical
from ....planner.model.functions.build import call, long
from ....planner.model.plans.logical import Aggregate, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import DOUBLE, DecimalType
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import bottom_up
from .distinct_keys import distinct_keys


@bottom_up(Aggregate)
def pull_out_grouping_expressions(node: Aggregate, conf: Conf) -> LogicalPlan:
    """Grouping expressions that are no columns are computed in a Project below.

    `Aggregate [upper(a)], [upper(a) AS u]` -> `Aggregate [_groupingexpression], [...]` over
    `Project [.., upper(a) AS _groupingexpression]`. Establishes: keys are columns or constants, so
    that no later rule can make a key and its mention in the select list differ. Idempotent.
    """
    columns: dict[Canonical, Alias] = {}
    keys: list[Expression] = []
    for key in node.grouping:
        if isinstance(key, AttributeReference) or key.foldable:
            keys.append(key)
            continue
        alias = columns.setdefault(canonical(key), Alias(child=key, name="_groupingexpression"))
        keys.append(alias.to_attribute())
    if not columns:
        return node

    def mention(expression: Expression) -> Expression:
        if isinstance(expression, AggregateExpression) or expression.foldable:
            return expression
        if not isinstance(expression, Alias):
            known = columns.get(canonical(expression))
            if known is not None:
                return known.to_attribute()
        return expression.map_children(mention)

    child = Project(child=node.child, project_list=(*node.child.output, *columns.values()))
    aggregates = tuple(mention(e) for e in node.aggregates)
    return replace(
        node, child=child, grouping=tuple(keys), aggregates=aggregates, keys_pulled_out=True
    )


@bottom_up(Aggregate)
def remove_constants_from_grouping(node: Aggregate, conf: Conf) -> LogicalPlan:
    """Constant keys go; if there are no others, one 0 stays, for a keyless aggregate differs.

    `Aggregate [a, 'x']` -> `Aggregate [a]`; `Aggregate ['x']` -> `Aggregate [0]`. Idempotent.
    """
    if not any(key.foldable for key in node.grouping):
        return node
    kept = tuple(key for key in node.grouping if not key.foldable) or (lit(0),)
    return node if kept == node.grouping else replace(node, grouping=kept)


@bottom_up(Aggregate)
def remove_repetition_from_grouping(node: Aggregate, conf: Conf) -> LogicalPlan:
    """A key counts once: `Aggregate [a, a]` -> `Aggregate [a]`. Idempotent."""
    if len(node.grouping) < 2:
        return node
    distinct = tuple(ExpressionSet(node.grouping))
    if len(distinct) == len(node.grouping):
        return node
    return replace(node, grouping=distinct, keys_pulled_out=False)


_EXTREMES = ("max", "min")


@bottom_up(Aggregate)
def remove_redundant_aggregates(node: Aggregate, conf: Conf) -> LogicalPlan:
    """An aggregation right above another that it takes only groups' own columns from.

    `Aggregate [a], [a], Aggregate [a, b], [a, b, sum(c)]` -> `Aggregate [a], [a], Project [a]`:
    it may get each row more than once. A sum of the groups' numbers of rows is one over the rows:
    `sum(n)` of `count(1) AS n` -> `sum(1)`. Not where the lower one has no keys: it gives a row for
    no rows. An aggregation by keys that no two rows below share, and of nothing else, is but a
    Project. Idempotent.
    """
    below = _remove_lower(node)
    assert isinstance(below, Aggregate)
    return below if below is not node else _remove_itself(node)


def _remove_itself(node: Aggregate) -> LogicalPlan:
    """Keys of which each row has its own: a group is a row."""
    if not node.grouping or not all(_is_key(e, node.grouping) for e in node.aggregates):
        return node
    keys = frozenset(e.expr_id for e in node.grouping if isinstance(e, AttributeReference))
    if not any(key <= keys for key in distinct_keys(node.child)):
        return node
    return Project(project_list=node.aggregates, child=node.child)


def _is_key(item: Expression, grouping: tuple[Expression, ...]) -> bool:
    value = item.child if isinstance(item, Alias) else item
    return value.foldable or canonical(value) in map(canonical, grouping)


def _remove_lower(node: Aggregate) -> LogicalPlan:
    if not isinstance(node.child, Aggregate):
        return node
    before, lower = node, node.child
    if not lower.grouping:
        return node
    numbers = {e.expr_id for e in lower.aggregates if isinstance(e, Alias) and _counts_rows(e)}
    if not _minds_no_duplicates(node, numbers):
        return node
    node = _summing_rows(node, numbers)
    plain = {
        e.expr_id
        for e in lower.aggregates
        if isinstance(e, Alias | AttributeReference)
        and e.deterministic
        and not e.holds(AggregateExpression)
    }
    if not node.references <= plain:
        return before
    needed = tuple(
        e
        for e in lower.aggregates
        if isinstance(e, Alias | AttributeReference) and e.expr_id in node.references
    )
    return replace(node, child=Project(child=lower.child, project_list=needed))


def _summing_rows(node: Aggregate, numbers: set[int]) -> Aggregate:
    if not numbers:
        return node

    def replaced(expression: Expression) -> Expression:
        if not isinstance(expression, AggregateExpression) or not _sums(expression, numbers):
            return expression
        assert isinstance(expression.function, Call)
        return replace(expression, function=replace(expression.function, arguments=(long(1),)))

    return replace(node, aggregates=tuple(e.transform_up(replaced) for e in node.aggregates))


def _sums(part: AggregateExpression, numbers: set[int]) -> bool:
    match part:
        case AggregateExpression(
            function=Call(name="sum", arguments=(AttributeReference(expr_id=i),)),
            distinct=False,
            filter=None,
        ):
            return i in numbers
    return False


def _counts_rows(item: Alias) -> bool:
    match item.child:
        case AggregateExpression(
            function=Call(name="count", arguments=arguments), distinct=False, filter=None
        ):
            return all(isinstance(a, Literal) and a.value is not None for a in arguments)
    return False


def _minds_no_duplicates(plan: Aggregate, numbers: set[int]) -> bool:
    parts = [p for e in plan.aggregates for p in e.collect(AggregateExpression)]
    if any(_sums(part, numbers) for part in parts):
        # A sum over the rows instead of the groups: only beside extremes.
        return all(p.distinct or p.function.name in _EXTREMES or _sums(p, numbers) for p in parts)
    return all(part.distinct or part.function.spec.duplicate_agnostic for part in parts)


MAX_LONG_DIGITS = 18
MAX_DOUBLE_DIGITS = 15
# What cannot overflow needs no try_, and loses the name that it was written with.
_PLAIN = {"try_sum": "sum", "try_avg": "avg"}


@bottom_up(Aggregate)
def speed_up_decimal_aggregates(node: Aggregate, conf: Conf) -> LogicalPlan:
    """`sum(m)` -> `MakeDecimal(sum(UnscaledValue(m)))`, `avg(m)` -> a cast of such an average.

    Where the sum fits a long (precision + 10 <= 18), the average a double (precision + 4 <= 15).
    A cast of `m` to more digits of the same scale is left out: `sum(CAST(m AS DECIMAL(20,2)))` fits
    a long if a sum of `m` does. Idempotent: the new arguments are no decimals.
    """
    return node.map_expressions(lambda e: _rewritten(e, conf))


def _not_widened(value: Expression, data_type: DecimalType) -> tuple[Expression, int]:
    """A decimal without casts that only give it more digits, and how many it has without them."""
    match value:
        case Cast(child=Expression(data_type=DecimalType() as narrow) as child) if (
            narrow.scale == data_type.scale and narrow.precision <= data_type.precision
        ):
            return _not_widened(child, narrow)
    return value, data_type.precision


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
    narrow, digits = _not_widened(argument, argument.data_type)
    unscaled = replace(function, name=name, arguments=(call("unscaledvalue", narrow),))
    over_longs = replace(expression, function=unscaled)
    if name == "sum":
        if digits + 10 > MAX_LONG_DIGITS:
            return expression
        return Call(
            name="makedecimal",
            arguments=(over_longs,),
            options=(min(precision + 10, DecimalType.MAX_PRECISION), scale),
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
