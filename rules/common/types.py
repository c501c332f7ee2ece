"""What rules ask of a type and all its parts."""

from __future__ import annotations

from ...planner.model.schemas.types import ArrayType, DataType, MapType, StructType


def parts(data_type: DataType) -> tuple[DataType, ...] | None:
    """The types of what a value consists of; None where it is one piece."""
    match data_type:
        case StructType(fields=fields):
            return tuple(f.data_type for f in fields)
        case ArrayType(element_type=element):
            return (element,)
        case MapType(key_type=key, value_type=value):
            return key, value
        case _:
            return None


def holds_type(data_type: DataType, *kinds: type[DataType]) -> bool:
    """Whether a type is, or holds in any part, also of a map, one of these kinds."""
    inner = parts(data_type) or ()
    return isinstance(data_type, kinds) or any(holds_type(part, *kinds) for part in inner)


def leaf_count(data_type: DataType) -> int:
    """How many pieces a value consists of, fields of structs counted."""
    inner = parts(data_type)
    return 1 if inner is None else sum(map(leaf_count, inner))
