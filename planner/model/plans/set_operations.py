"""EXCEPT and INTERSECT: rows of one query that another has not, or has too."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from ..expressions.core import AttributeReference
from ..frozen import dataclass
from ..schemas.types import same_shape
from .query_plan import LogicalPlan


@dataclass(frozen=True, kw_only=True)
class SetOperation(LogicalPlan):
    """Compares rows of two inputs column by column; `is_all` counts equal rows one by one."""

    child_fields = ("left", "right")
    shown = ("is_all",)
    word: ClassVar[str]  # as messages name it

    left: LogicalPlan
    right: LogicalPlan
    is_all: bool = False

    @property
    def node_name(self) -> str:
        return super().node_name + (" All" if self.is_all else "")

    @cached_property
    def resolved(self) -> bool:
        if not (self.left.resolved and self.right.resolved):
            return False
        left, right = self.left.output, self.right.output
        return len(left) == len(right) and all(
            same_shape(a.type_, b.type_) for a, b in zip(left, right, strict=True)
        )


@dataclass(frozen=True, kw_only=True)
class Except(SetOperation):
    """The left rows that the right has not."""

    word = "EXCEPT"

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.left.output


@dataclass(frozen=True, kw_only=True)
class Intersect(SetOperation):
    """The left rows that the right has too."""

    word = "INTERSECT"

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        right = self.right.output
        return tuple(
            a.with_nullability(a.nullable and (len(right) <= i or right[i].nullable))
            for i, a in enumerate(self.left.output)
        )
