"""Columns by position, as operators that are bound to their input show them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..frozen import dataclass
from ..schemas.types import DataType
from .base import Typed, TypedColumn
from .core import AttributeReference, Expression


class Written(Expression):
    """An expression that knows its own form in plans."""

    @property
    def text(self) -> str:
        """The form in plans."""
        raise NotImplementedError(type(self).__name__)

    @property
    def sql(self) -> str:
        """The form in Spark SQL for the runtime.

        Raises:
            TypeError: nothing that SQL can say.
        """
        raise TypeError(f"no Spark SQL for {type(self).__name__}")

    def sql_over(self, show: Callable[[Expression], str]) -> str:
        """The same with its children's SQL from `show`; `sql` where it has no children."""
        return self.sql


@dataclass(frozen=True, kw_only=True)
class Shown(Typed, Written):
    """An expression of which a message needs no more than a text."""

    shown: str
    type_: DataType

    @property
    def text(self) -> str:
        """The form in plans."""
        return self.shown


@dataclass(frozen=True, kw_only=True)
class BoundReference(TypedColumn, Written):
    """Column `ordinal` of the input; plans show `input[0, bigint, false]`."""

    ordinal: int
    type_: DataType
    is_nullable: bool

    @property
    def text(self) -> str:
        """The form in plans."""
        nullable = "true" if self.is_nullable else "false"
        return f"input[{self.ordinal}, {self.type_.simple}, {nullable}]"


def bind(expression: Expression, columns: Sequence[AttributeReference]) -> Expression:
    """An expression over columns by id as one over their positions, with their nullability."""
    places: dict[int, int] = {}
    for position, column in enumerate(columns):
        places.setdefault(column.expr_id, position)  # of a column that is given twice the first

    def bound(part: Expression) -> Expression:
        if not isinstance(part, AttributeReference) or part.expr_id not in places:
            return part
        place = places[part.expr_id]
        nullable = columns[place].nullable
        return BoundReference(ordinal=place, type_=part.type_, is_nullable=nullable)

    return expression.transform_up(bound)
