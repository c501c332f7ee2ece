"""Types of the planner as programs have them. Neither Arrow nor numpy is needed."""

from __future__ import annotations

from .....planner.model.schemas.types import (
    ArrayType,
    DataType,
    DayTimeIntervalType,
    MapType,
    StructType,
    YearMonthIntervalType,
)
from .operation_facts import ORDERED, family
from .program import Kind


class Unsupported(Exception):
    """Only Spark computes an expression; the text says which part of it."""


def kind_of(data_type: DataType) -> Kind:
    """A type as programs have it.

    Raises:
        Unsupported: values of the type are not computed here.
    """
    match data_type:
        case DayTimeIntervalType():
            return "daytime"
        case YearMonthIntervalType():
            return "yearmonth"
        case StructType(fields=fields):
            names = tuple(field.name for field in fields)
            return "struct", names, tuple(kind_of(field.data_type) for field in fields)
        case ArrayType(element_type=element):
            return "array", ("element",), (kind_of(element),)
        case MapType(key_type=key, value_type=value):
            return "map", ("key", "value"), (kind_of(key), kind_of(value))
    kind = data_type.simple
    if kind != "void" and family(kind) not in ORDERED:
        raise Unsupported(f"type {kind}")
    return kind


def has_shortened_interval(data_type: DataType) -> bool:
    """Whether there is an interval in a type that has not all fields from days to seconds."""
    if isinstance(data_type, DayTimeIntervalType):
        return data_type != DayTimeIntervalType()
    return any(map(has_shortened_interval, data_type.parts))


def is_constant(value: object, kind: Kind) -> bool:
    """Whether a literal's value can stand in a program."""
    if value is None or not isinstance(kind, tuple):
        return True
    if not isinstance(value, tuple):
        return False
    family_, names, kinds = kind
    if family_ == "array":
        return all(is_constant(item, kinds[0]) for item in value)
    if family_ == "map":
        return all(
            is_constant(key, kinds[0]) and is_constant(item, kinds[1]) for key, item in value
        )
    unique = len(set(names)) == len(names)
    return unique and all(map(is_constant, value, kinds))
