"""What rules ask of a type and all its parts."""

from __future__ import annotations

from ...planner.model.schemas.types import AtomicType, DataType


def leaf_count(data_type: DataType) -> int:
    """How many pieces a value consists of, fields of structs counted."""
    return 1 if isinstance(data_type, AtomicType) else sum(map(leaf_count, data_type.parts))
