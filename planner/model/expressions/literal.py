"""Constants."""

from __future__ import annotations

from ..frozen import dataclass
from ..schemas.types import BOOLEAN, INT, LONG, NULL, STRING, DataType
from .base import Typed


@dataclass(frozen=True, kw_only=True)
class Literal(Typed):
    """A constant in its plain Python form.

    bool, int, float, str, bytes, decimal.Decimal, None; a date is days and a timestamp microseconds
    since 1970, a day-time interval microseconds, a year-month interval months, a calendar interval
    a tuple (months, days, microseconds); arrays and structs are tuples, maps tuples of pairs.
    """

    value: object
    type_: DataType

    @property
    def nullable(self) -> bool:
        return self.value is None

    @property
    def foldable(self) -> bool:
        return True

    # 1 == True and 0.0 == -0.0 in Python, and NaN differs from itself: compare what is written.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return self.type_ == other.type_ and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((self.type_, repr(self.value)))


TRUE = Literal(value=True, type_=BOOLEAN)
FALSE = Literal(value=False, type_=BOOLEAN)
NULL_LITERAL = Literal(value=None, type_=NULL)


def lit(value: bool | int | str) -> Literal:
    """A literal of the type that Spark's SQL gives such a constant."""
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, str):
        return Literal(value=value, type_=STRING)
    return Literal(value=value, type_=INT if -(2**31) <= value < 2**31 else LONG)
