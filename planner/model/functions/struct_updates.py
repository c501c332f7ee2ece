"""`withField` and `dropFields`: a struct with fields put in, replaced or left out.

Spark's UpdateFields: `update_fields(struct, WithField(name, value), dropfield(name))`, changes in
the order in which they are made. SQL has no syntax for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from ..expressions.core import Call, Expression, Literal
from ..frozen import dataclass
from ..registry import FunctionSpec, register
from ..schemas.types import DataType, StructField, StructType
from ..settings.conf import Conf
from ..tree import replace
from .build import fields_of, is_call, null_with, struct_of
from .mismatch import type_mismatch, unexpected_type, wrong_argument_count
from .shapes import each, first_type, template

UPDATE, PUT, DROP = "update_fields", "withfield", "dropfield"
Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class UpdateFields(Call):
    """The call, once analyzed; it stays until nothing else can be simplified."""

    name: str = "update_fields"

    @property
    def struct(self) -> Expression:
        """What is changed."""
        return self.arguments[0]

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names that are put in, in order; None if any field is dropped."""
        changes = tuple(_changes(self))
        return None if any(v is None for _, v in changes) else tuple(name for name, _ in changes)

    @property
    def fields(self) -> tuple[tuple[str, Expression], ...]:
        """The fields as they are after the changes."""
        struct = self.struct
        start = fields_of(struct)
        if is_call(struct, "named_struct"):
            names = (name for name, _ in start)
            start = list(zip(names, struct.children[1::2], strict=True))
        return tuple(_changed(self, start, [value for _, value in _changes(self)]))


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
    if not call.arguments:
        raise wrong_argument_count(call.name, "> 0", 0)
    struct = call.arguments[0]
    if not isinstance(struct.data_type, StructType):
        raise unexpected_type(call, 0, '"STRUCT"')
    changed = _type(call)
    if isinstance(changed, StructType) and not changed.fields:
        raise type_mismatch("CANNOT_DROP_ALL_FIELDS", call)
    return combined(UpdateFields(arguments=call.arguments, origin=call.origin), conf)


def combined(call: UpdateFields, conf: Conf) -> UpdateFields:
    """Changes of changes as one; of those that put in one field the last one stays.

    `update_fields(update_fields(s, p), q)` -> `update_fields(s, p, q)`.
    """
    below = call.struct
    if isinstance(below, UpdateFields):
        changes = (*below.arguments[1:], *call.arguments[1:])
        return combined(replace(call, arguments=(below.struct, *changes)), conf)
    names = call.names
    if names is None:
        return call
    fold, last = conf.fold, dict[str, Expression]()
    for name, change in zip(names, call.arguments[1:], strict=True):
        last[fold(name)] = change
    if len(last) == len(names):
        return call
    return replace(call, arguments=(call.struct, *last.values()))


def made(call: UpdateFields) -> Expression:
    """`named_struct` of the fields that are left; null where the struct is null."""
    return null_with(call.struct, struct_of(call.fields))


register(
    *each(
        FunctionSpec(
            name=UPDATE,
            data_type=_type,
            nullable=lambda call: call.arguments[0].nullable,
            check=_check,
            constructor=True,
        ),
        FunctionSpec(
            name=PUT,
            data_type=lambda call: call.arguments[1].data_type,
            nullable=lambda call: call.arguments[1].nullable,
            text=template("WithField({args})"),
            pretty=template("WithField({1})"),
        ),
        FunctionSpec(name=DROP, data_type=first_type, pretty=template("dropfield()")),
        written=False,
    ),
)
