"""pivotfirst: what a pivot gathers, an array of one result per value of its column."""

from __future__ import annotations

from ..expressions.core import Call, Expression, Literal
from ..registry import AggregateForms, Buffer, FunctionSpec, Merge, Show
from ..schemas.types import ArrayType, BooleanType, DataType, NumericType
from ..text.literal_text import literal_text
from .aggregates_common import not_nullable
from .build import call as build
from .build import if_else, null


def keeps_values_of(data_type: DataType) -> bool:
    """Whether pivotfirst can hold results of the type."""
    return isinstance(data_type, NumericType | BooleanType)


def _values(call: Call) -> tuple[Expression, ...]:
    return tuple(value for value in call.options if isinstance(value, Expression))


def _text(call: Call, show: Show) -> str:
    values = ", ".join(
        literal_text(value) if isinstance(value, Literal) else show(value)
        for value in _values(call)
    )
    column, result = (show(argument) for argument in call.arguments)
    return f"pivotfirst({column}, {result}, {values}, 0, 0)"


def _forms(call: Call) -> AggregateForms:
    kind = call.arguments[1].data_type
    literals = [value for value in _values(call) if isinstance(value, Literal)]
    names = ["null" if v.value is None else literal_text(v) for v in literals]
    column, result = call.arguments

    def chosen() -> tuple[Call, ...]:
        return tuple(if_else(build("<=>", column, v), result, null(kind)) for v in literals)

    return AggregateForms(
        buffers=tuple(Buffer(f"b{i}", kind) for i in range(len(literals))),
        merges=tuple(Merge("max", (i,)) for i in range(len(literals))),
        partial=lambda over: tuple(over(build("max", value)) for value in chosen()),
        row=chosen,
        final=lambda columns: build("array", *columns),
        plan=tuple(Buffer(name, kind) for name in names),
    )


SPECS = (
    FunctionSpec(
        name="pivotfirst",
        kind="aggregate",
        data_type=lambda call: ArrayType(call.arguments[1].data_type),
        nullable=not_nullable,
        text=_text,
        forms=_forms,
        imperative=True,
    ),
)
