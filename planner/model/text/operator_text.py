"""Pieces of plan text that the lines of operators share, logical and physical."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..expressions.core import AttributeReference, Expression
from ..plans.python_operators import field_text
from ..schemas.types import ArrayType, DataType, MapType, StructType
from .fields_shown import cut
from .text import plan_text


def bracketed(expressions: Iterable[Expression], max_fields: int, separator: str = ", ") -> str:
    """`[a#1, b#2L]`."""
    return "[" + cut([plan_text(e) for e in expressions], max_fields, separator) + "]"


def counted(label: str, expressions: Sequence[Expression]) -> tuple[str, str]:
    """A line of a formatted plan: `Output [2]` and all of them; no count where there are none."""
    items = ", ".join(map(plan_text, expressions))
    return f"{label} [{len(expressions)}]" if expressions else label, f"[{items}]"


def arguments(*parts: str | None) -> str:
    """The parts that are there, as an operator's line shows them."""
    return ", ".join(part for part in parts if part)


def listed(expressions: Sequence[Expression], max_fields: int) -> str | None:
    """`[a, b]`, or nothing for no expressions: lines leave empty lists out."""
    return bracketed(expressions, max_fields) if expressions else None


def alone(expression: Expression, max_fields: int) -> str:
    """An expression that is an argument by itself: a bare column then shows its type."""
    if isinstance(expression, AttributeReference):
        type_text = simple_type(expression.data_type, max_fields)
        return f"{expression.name}#{expression.expr_id}: {type_text}"
    return plan_text(expression)


def simple_type(data_type: DataType, max_fields: int) -> str:
    """Spark's `simpleString(maxFields)`: structs spaced and cut."""
    match data_type:
        case StructType(fields=fields):
            parts = [f"{f.name}: {simple_type(f.data_type, max_fields)}" for f in fields]
            return f"struct<{cut(parts, max_fields)}>"
        case ArrayType(element_type=element):
            return f"array<{simple_type(element, max_fields)}>"
        case MapType(key_type=key, value_type=value):
            return f"map<{simple_type(key, max_fields)},{simple_type(value, max_fields)}>"
        case _:
            return data_type.simple


def shown_text(value: object, max_fields: int) -> str | None:
    """What an operator's line shows of a field's value; None: nothing, as of an empty list."""
    match value:
        case None | str():
            return value
        case bool():
            return str(value).lower()
        case Expression():
            return alone(value, max_fields)
        case tuple():
            return listed(value, max_fields)
        case StructType(fields=fields):
            return f"[{cut(list(map(field_text, fields)), max_fields)}]" if fields else None
        case object(text=str(text)):  # what knows its own form in plans
            return text
        case _:
            return str(value)
