"""What the aggregate functions share: argument checks, implicit casts, texts, simple forms.

Messages carry no position: analysis adds it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import AnalysisError
from ..expressions.core import Call, Expression, Literal
from ..registry import AggregateForms, Buffer, Finish, FunctionSpec, Merge, Over, Show, Start
from ..schemas.types import (
    BINARY,
    DOUBLE,
    LONG,
    ArrayType,
    DataType,
    DayTimeIntervalType,
    NullType,
    NumericType,
    StringType,
    YearMonthIntervalType,
)
from ..settings.conf import Conf
from ..text.text import pretty
from ..tree import replace
from .build import call, if_else, is_any_null, long, when
from .coercion import cast_unless_same
from .mismatch import require_count, type_mismatch, unexpected_type

Check = Callable[[Call, Conf], Expression]

NUMERIC_OR_INTERVAL = '"NUMERIC" or "ANSI INTERVAL"'


def mismatch(call: Call, case: str, /, **parameters: Any) -> AnalysisError:
    """DATATYPE_MISMATCH.<case> for a call that cannot be resolved."""
    return type_mismatch(case, pretty(call), call, **parameters)


def as_double(call: Call, position: int, conf: Conf, *, wanted: str = '"DOUBLE"') -> Expression:
    """An argument of a function that computes with doubles: numbers and strings are cast."""
    argument = call.arguments[position]
    if isinstance(argument.data_type, NumericType | StringType | NullType):
        return cast_unless_same(argument, DOUBLE, conf)
    raise unexpected_type(call, position, wanted)


def doubles(count: int) -> Check:
    """The check of a function of that many doubles."""

    def check(call: Call, conf: Conf) -> Expression:
        require_count(call, count)
        return with_arguments(call, *(as_double(call, i, conf) for i in range(count)))

    return check


def with_arguments(call: Call, *arguments: Expression) -> Call:
    """The call over other arguments."""
    return replace(call, arguments=arguments)


def always(data_type: DataType) -> Callable[[Call], DataType]:
    """A result type that does not depend on the arguments."""
    return lambda call: data_type


def nullable(call: Call) -> bool:
    """Null where there is no value to aggregate."""
    return True


def not_nullable(call: Call) -> bool:
    """Never null."""
    return False


def typed_text(*more: str) -> Callable[[Call, Show], str]:
    """The plan text of a function whose buffer is an object: constants follow the arguments."""

    def text(call: Call, show: Show) -> str:
        return f"{call.name}({', '.join([*(show(a) for a in call.arguments), *more])})"

    return text


def simple_forms(
    buffer: Buffer, function: Call, operation: str, row: Expression | None = None
) -> AggregateForms:
    """One buffer that one merge operation maintains and that is the result.

    Args:
        buffer: the buffer.
        function: the aggregate that gives it over rows.
        operation: the merge.
        row: the buffer over one row; by default the only argument as it is.
    """
    value = function.arguments[0] if row is None else row
    return AggregateForms(
        buffers=(buffer,),
        merges=(Merge(operation, (0,)),),
        partial=lambda over: (over(function),),
        row=lambda: (value,),
    )


def gathered_forms(
    value: Expression,
    used: Expression | None,
    merge: Merge,
    *,
    buffer: DataType,
    start: Start | None = None,
    finish: Finish | None = None,
    empty: object = (),
    plan: tuple[Buffer, ...],
) -> AggregateForms:
    """One buffer of the values that the used rows bring.

    Args:
        value: the value of a row, never null in a used one.
        used: which rows are; None: all.
        merge: how buffers merge.
        buffer: what they are: arrays of values, or what `start` makes of these.
        start: see `AggregateForms`.
        finish: what makes the result.
        empty: the buffer of no values.
        plan: Spark's buffers.
    """

    def partial(over: Over) -> tuple[Expression, ...]:
        return (over(call("collect_list", value if used is None else when(used, value))),)

    element = value.data_type if start is None else start.element
    return AggregateForms(
        buffers=(Buffer("buf", buffer, empty=empty),),
        merges=(merge,),
        partial=partial,
        row=lambda: (listed(value, used, element),),
        finish=finish,
        start=start,
        plan=plan,
    )


def present(value: Expression) -> Expression | None:
    """Whether a value is not null; None where it never is."""
    return call("isnotnull", value) if value.nullable else None


def planned_only(*buffers: Buffer) -> AggregateForms:
    """The forms of an aggregate that has Spark's buffers in plans but no merge here."""
    return AggregateForms(plan=buffers)


def counted(values: tuple[Expression, ...]) -> Expression:
    """1 where no value is null, else 0; a literal where none ever is."""
    missing = is_any_null(values)
    return long(1) if missing is None else if_else(missing, long(0), long(1))


def listed(value: Expression, used: Expression | None, element: DataType) -> Expression:
    """The value as a list of one, or an empty list where it is not used.

    Args:
        value: the element.
        used: whether it is; None: always.
        element: its type.
    """
    one = call("array", value)
    empty = Literal(value=(), type_=ArrayType(element, False))
    return one if used is None else if_else(used, one, empty)


COUNT_BUFFER = Buffer("count", LONG, False, empty=0)
"""The number of values so far."""


def is_ansi_interval(data_type: DataType) -> bool:
    """Whether it is a day-time or year-month interval."""
    return isinstance(data_type, DayTimeIntervalType | YearMonthIntervalType)


OBJECT_FORMS = planned_only(Buffer("buf", BINARY))
"""Those of an aggregate whose state is an object in bytes."""


def object_aggregate(name: str, **how: object) -> FunctionSpec:
    """An aggregate planned as ObjectHashAggregate, of OBJECT_FORMS unless others are given."""
    defaults: dict[str, object] = {
        "kind": "aggregate",
        "nullable": nullable,
        "forms": lambda call: OBJECT_FORMS,
        "object_hash": True,
        "text": typed_text("0", "0"),
    }
    return FunctionSpec(name=name, **{**defaults, **how})  # type: ignore[arg-type]
