"""Generators whose values nobody looks at."""

from __future__ import annotations

from ....planner.model.expressions.core import AttributeReference, Call, GetStructField
from ....planner.model.plans.logical import Generate, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    CalendarIntervalType,
    DataType,
    DateType,
    DecimalType,
    FloatType,
    IntegralType,
    MapType,
    NullType,
    StringType,
    StructType,
    YearMonthIntervalType,
)
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import top_down


@top_down(Project, holding=(Generate,))
def explode_smallest_field(node: Project, conf: Conf) -> LogicalPlan:
    """Where exploded structs only make rows, their smallest field is exploded.

    `Project [], Generate explode(items)` -> `Project [], Generate explode(items.qty)`. Idempotent:
    the field is no struct, or a struct of one field.
    """
    if not isinstance(node.child, Generate) or node.references:
        return node
    generate = node.child
    match generate.generator:
        case Call(name="explode" | "posexplode", arguments=(source,)) as generator:
            pass
        case _:
            return node
    kind = source.data_type
    if not isinstance(kind, ArrayType) or not isinstance(kind.element_type, StructType):
        return node
    fields = kind.element_type.fields
    if len(fields) < 2:
        return node
    smallest = min(range(len(fields)), key=lambda i: default_size(fields[i].data_type))
    taken = GetStructField(child=source, ordinal=smallest, name=fields[smallest].name)
    *others, last = generate.generated
    assert isinstance(last, AttributeReference) and isinstance(taken.data_type, ArrayType)
    made = replace(last, type_=taken.data_type.element_type, is_nullable=True)
    return replace(
        node,
        child=replace(
            generate,
            generator=replace(generator, arguments=(taken,)),
            generated=(*others, made),
        ),
    )


def default_size(data_type: DataType) -> int:
    """How many bytes Spark reckons a value to take."""
    match data_type:
        case NullType() | BooleanType():
            return 1
        case IntegralType(bits=bits):
            return bits // 8
        case FloatType() | DateType() | YearMonthIntervalType():
            return 4
        case DecimalType(precision=precision):
            return 8 if precision <= 18 else 16
        case CalendarIntervalType():
            return 16
        case StringType():
            return 20
        case BinaryType():
            return 100
        case StructType(fields=fields):
            return sum(default_size(f.data_type) for f in fields)
        case ArrayType(element_type=element):
            return default_size(element)
        case MapType(key_type=key, value_type=value):
            return default_size(key) + default_size(value)
    return 8
