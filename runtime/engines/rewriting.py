"""Puts exact forms in an expression for what the embedded engine computes otherwise than Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from ...planner.model.expressions.core import (
    AggregateExpression,
    Call,
    CaseWhen,
    Cast,
    Expression,
    GetStructField,
    Literal,
)
from ...planner.model.expressions.windows import WindowExpression
from ...planner.model.functions.build import call, if_else, is_call, null, struct_of
from ...planner.model.schemas.types import (
    CalendarIntervalType,
    DataType,
    IntegralType,
    LongType,
    StructType,
    TimestampType,
)
from ...planner.model.tree import replace
from ..kernels.expressions.programs.day_times import in_day_time
from .agreement import Setting, can_fail, guards_a_failure, plain_reason, rewrite_for
from .exact import ExactForm
from .rewrites import GUARDED, REWRITES, Rewrite, comparable, normalized
from .signatures import has_unlike_names
from .windows import function_of


def exact_form(expression: Expression, *, ansi: bool, time_zone: str) -> Expression:
    """The expression with every part that the engine computes otherwise than Spark rewritten.

    Parts without a rewrite stay as they are: `agreement.disagreements` of the result names them.

    Args:
        expression: as the optimizer leaves it.
        ansi: the session's `spark.sql.ansi.enabled`.
        time_zone: the session's `spark.sql.session.timeZone`.
    """
    setting = Setting(ansi, time_zone)
    changed = expression.transform_up(
        lambda part: _named_alike(_unix_time(_by_branches(part, setting)))
    )
    return _rebuilt(changed, setting)


def _named_alike(part: Expression) -> Expression:
    """A comparison of structs whose fields have other names, under the first one's names.

    Spark compares fields by their places, the engine by their names.
    """
    if not has_unlike_names(part):
        return part
    first, *others = part.children
    return part.with_new_children((first, *(_named_as(first.data_type, o) for o in others)))


def _named_as(data_type: DataType, value: Expression) -> Expression:
    """A value of the same type but for the names of fields, which are those of `data_type`."""
    if value.data_type == data_type:
        return value
    if isinstance(value, Literal):
        return replace(value, type_=data_type)
    kind = value.data_type
    if not isinstance(data_type, StructType) or not isinstance(kind, StructType):
        return value
    if is_call(value, "named_struct"):
        fields: Iterable[Expression] = value.children[1::2]
    else:
        fields = (
            GetStructField(child=value, ordinal=place, name=field.name)
            for place, field in enumerate(kind.fields)
        )
    pairs = zip(data_type.fields, fields, strict=True)
    named = struct_of((f.name, _named_as(f.data_type, field)) for f, field in pairs)
    if not value.nullable:
        return named
    return if_else(call("isnull", value), null(data_type), named)


def _unix_time(part: Expression) -> Expression:
    """`from_unixtime(n, format)` of an INT or less as `date_format(CAST(n AS TIMESTAMP), format)`.

    The engine has no time for every BIGINT.
    """
    match part:
        case Call(
            name="from_unixtime",
            arguments=(Cast(child=Expression(data_type=IntegralType())) as wide, format_),
        ) if not isinstance(wide.child.data_type, LongType):
            time = replace(wide, type_=TimestampType(), time_zone=part.time_zone)
            return replace(part, name="date_format", arguments=(time, format_))
    return part


def _by_branches(part: Expression, setting: Setting) -> Expression:
    """`time + CASE WHEN c THEN interval ...` as `CASE WHEN c THEN time + interval ...`.

    The engine has no columns of intervals of months, days and microseconds. A condition that fails
    stays: for a null time Spark does not compute it.
    """
    match part:
        case Call(name="timestamp_add_interval", arguments=(time, Literal() as interval)):
            return _moved(part, time, interval, setting)
        case Call(
            name="timestamp_add_interval",
            arguments=(time, CaseWhen(data_type=CalendarIntervalType()) as case),
        ) if all(isinstance(v, Literal) for v in (*case.values, case.otherwise) if v is not None):
            mode, zone = setting.ansi, setting.time_zone
            if not any(can_fail(c, ansi=mode, time_zone=zone) for c in case.conditions):
                return _case_over(case, lambda interval: _moved(part, time, interval, setting))
    return part


def _case_over(case: CaseWhen, change: Callable[[Expression], Expression]) -> CaseWhen:
    """A CASE whose results are changed."""
    otherwise = None if case.otherwise is None else change(case.otherwise)
    return replace(case, values=tuple(map(change, case.values)), otherwise=otherwise)


def _moved(addition: Call, time: Expression, interval: Expression, setting: Setting) -> Expression:
    match interval:
        case Literal(value=None):
            return Literal(value=None, type_=addition.data_type)
        case _ if (shown := in_day_time(interval, setting.time_zone)) is not interval:
            return replace(addition, arguments=(time, shown))
        case _ if interval is addition.arguments[1]:
            return addition
    return replace(addition, arguments=(time, interval))


def _rebuilt(part: Expression, setting: Setting) -> Expression:
    if isinstance(part, ExactForm):
        return part
    if isinstance(part, WindowExpression):
        return _window(part, setting)
    children = tuple(_rebuilt(child, setting) for child in part.children)
    return _exact(part.with_new_children(children), setting)


def _window(window: WindowExpression, setting: Setting) -> WindowExpression:
    """A window whose function stays what it is, over exact values and in an exact order."""

    def exact(part: Expression) -> Expression:
        return _rebuilt(part, setting)

    function = function_of(window)
    if function is None:
        return window
    over = replace(function, arguments=tuple(map(exact, function.arguments)))
    whole = window.function
    return replace(
        window,
        function=replace(whole, function=over) if isinstance(whole, AggregateExpression) else over,
        partition_by=tuple(map(exact, window.partition_by)),
        order_by=tuple(
            order.with_new_children((comparable(exact(order.children[0])),))
            for order in window.order_by
        ),
    )


def _exact(part: Expression, setting: Setting) -> Expression:
    match part:
        case Call(name="normalizenanandzero", arguments=(key,)):
            return normalized(key)
        case Call(name="knownfloatingpointnormalized", arguments=(key,)):
            return key  # a mark for the optimizer
    if guards_a_failure(part, setting):
        return next(_forms(part, GUARDED, setting), part)
    if plain_reason(part, setting) is None:
        return part
    name = rewrite_for(part, setting)
    known = {} if name is None else {name: REWRITES[name]}
    return next(_forms(part, known, setting), part)


def _forms(
    part: Expression, rewrites: Mapping[str, Rewrite], setting: Setting
) -> Iterator[ExactForm]:
    for name, rewrite in rewrites.items():
        template = rewrite(part, setting.time_zone)
        if template is not None:
            yield ExactForm(original=part, rewrite=name, template=template)
