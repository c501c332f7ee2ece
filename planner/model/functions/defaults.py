"""What aggregate functions give for no rows, where that is not null."""

from __future__ import annotations

from ..expressions import Call, Literal
from ..types import LONG

_COUNTS = frozenset(("count", "approx_count_distinct", "regr_count"))
_COLLECTIONS = frozenset(("collect_list", "collect_set"))


def default_result(function: Call) -> Literal | None:
    """The value over no rows; None for null."""
    if function.name in _COUNTS:
        return Literal(value=0, type_=LONG)
    if function.name in _COLLECTIONS:
        return Literal(value=(), type_=function.data_type)
    return None
