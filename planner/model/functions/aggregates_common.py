"""What the aggregate functions share: argument checks, implicit casts, texts, simple forms.

Messages carry no position: analysis adds it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..expressions.core import Call, Expression, Literal
from ..registry import AggregateForms, Buffer, Finish, FunctionSpec, Merge, Start
from ..schemas.types import (
    BINARY,
    DOUBLE,
    LONG,
    ArrayType,
    DataType,
    NullType,
    NumericType,
    StringType,
)
from ..settings.conf import Conf
from .build import call, if_else, is_any_null, long, when
from .coercion import cast_unless_same
from .mismatch import require_count, unexpected_type
from .shapes import Check, Result, Text, always_null, result_of, taking, template, with_arguments

NUMERIC_OR_INTERVAL = '"NUMERIC" or "ANSI INTERVAL"'


def doubles(count: int) -> Check:
    """The check of a function of that many doubles: numbers and strings are cast."""

    def check(call: Call, conf: Conf) -> Expression:
        require_count(call, count)
        for position, argument in enumerate(call.arguments):
            if not isinstance(argument.data_type, NumericType | StringType | NullType):
                raise unexpected_type(call, position, '"DOUBLE"')
        return with_arguments(call, [cast_unless_same(a, DOUBLE, conf) for a in call.arguments])

    return check


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

    gathered = call("collect_list", value if used is None else when(used, value))
    element = value.data_type if start is None else start.element
    return AggregateForms(
        buffers=(Buffer("buf", buffer, empty=empty),),
        merges=(merge,),
        partial=lambda over: (over(gathered),),
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


OBJECT_BUFFER = Buffer("buf", BINARY)
OBJECT_FORMS = planned_only(OBJECT_BUFFER)
"""Those of an aggregate whose state is an object in bytes."""

OBJECT_TEXT = "{name}({args}, 0, 0)"
"""The plan text of an aggregate whose buffer is an object: constants follow the arguments."""


def aggregate(
    name: str,
    result: Result,
    check: Check | str | None = None,
    *,
    nullable: Callable[[Call], bool] = always_null,
    text: Text | str | None = None,
    pretty: Text | str | None = None,
    **fields: Any,
) -> FunctionSpec:
    """An aggregate. `check` may be a parameter list; `result` and texts are as in `scalar`."""
    return FunctionSpec(
        name=name,
        kind="aggregate",
        data_type=result_of(result),
        nullable=nullable,
        check=taking(check) if isinstance(check, str) else check,
        text=template(text),
        pretty=template(pretty),
        **fields,
    )


def object_aggregate(
    name: str,
    result: Result,
    check: Check | str,
    *,
    text: Text | str | None = OBJECT_TEXT,
    forms: Callable[[Call], AggregateForms] = lambda call: OBJECT_FORMS,
    **fields: Any,
) -> FunctionSpec:
    """An aggregate planned as ObjectHashAggregate, of OBJECT_FORMS unless others are given."""
    return aggregate(name, result, check, text=text, forms=forms, object_hash=True, **fields)
