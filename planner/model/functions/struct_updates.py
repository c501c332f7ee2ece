"""`withField` and `dropFields`: a struct with fields put in, replaced or left out.

Spark's UpdateFields: `update_fields(struct, WithField(name, value), dropfield(name))`, changes in
the order in which they are made. SQL has no syntax for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from ..conf import Conf
from ..expressions import Call, Expression, GetStructField, Literal, lit
from ..registry import FunctionSpec, Show, register
from ..text import pretty
from ..types import DataType, StructField, StructType
from .mismatch import type_mismatch, unexpected_type

UPDATE, PUT, DROP = "update_fields", "withfield", "dropfield"
Value = TypeVar("Value")


def _changes(call: Call) -> Iterator[tuple[str, Expression | None]]:
    """The names with their new values; None for a field that is dropped."""
    for change in call.arguments[1:]:
        assert isinstance(change, Call)
        name = change.arguments[0]
        assert isinstance(name, Literal) and isinstance(name.value, str)
        yield name.value, change.arguments[1] if change.name == PUT else None


def _changed(
    call: Call, start: Sequence[tuple[str, Value]], values: Sequence[Value | None]
) -> list[tuple[str, Value]]:
    """Named things after the changes, of which `values` has the new ones."""
    fields = list(start)
    for (name, _), value in zip(_changes(call), values, strict=True):
        folded = name.lower()
        if value is None:
            fields = [field for field in fields if field[0].lower() != folded]
        elif any(field[0].lower() == folded for field in fields):
            fields = [(name, value) if f[0].lower() == folded else f for f in fields]
        else:
            fields.append((name, value))
    return fields


def _type(call: Call) -> DataType:
    struct = call.arguments[0].data_type
    assert isinstance(struct, StructType)
    start = [(field.name, field) for field in struct.fields]
    new = [
        None if value is None else StructField(name, value.data_type, value.nullable)
        for name, value in _changes(call)
    ]
    return StructType(tuple(field for _, field in _changed(call, start, new)))


def _check(call: Call, conf: Conf) -> Expression:
    struct = call.arguments[0]
    if not isinstance(struct.data_type, StructType):
        raise unexpected_type(call, 0, '"STRUCT"')
    changed = _type(call)
    if isinstance(changed, StructType) and not changed.fields:
        detail = "Cannot drop all fields in struct."
        raise type_mismatch("CANNOT_DROP_ALL_FIELDS", pretty(call), detail, call)
    return call


def _made(call: Call) -> Expression:
    """`named_struct` of the fields that are left; null where the struct is null."""
    struct = call.arguments[0]
    assert isinstance(struct.data_type, StructType)
    start: list[tuple[str, Expression]] = [
        (field.name, GetStructField(child=struct, ordinal=i, name=field.name))
        for i, field in enumerate(struct.data_type.fields)
    ]
    fields = _changed(call, start, [value for _, value in _changes(call)])
    made = Call(
        name="named_struct",
        arguments=tuple(part for name, value in fields for part in (lit(name), value)),
    )
    if not struct.nullable:
        return made
    nothing = Literal(value=None, type_=made.data_type)
    is_null = Call(name="isnull", arguments=(struct,))
    return Call(name="if", arguments=(is_null, nothing, made))


def _put_text(call: Call, show: Show) -> str:
    return f"WithField({', '.join(map(show, call.arguments))})"


def _put_pretty(call: Call, show: Show) -> str:
    return f"WithField({show(call.arguments[1])})"


register(
    FunctionSpec(
        name=UPDATE,
        kind="scalar",
        data_type=_type,
        nullable=lambda call: call.arguments[0].nullable,
        check=_check,
        replacement=_made,
    ),
    FunctionSpec(
        name=PUT,
        kind="scalar",
        data_type=lambda call: call.arguments[1].data_type,
        nullable=lambda call: call.arguments[1].nullable,
        text=_put_text,
        pretty=_put_pretty,
    ),
    FunctionSpec(
        name=DROP,
        kind="scalar",
        data_type=lambda call: call.arguments[0].data_type,
        pretty=lambda call, show: "dropfield()",
    ),
)
