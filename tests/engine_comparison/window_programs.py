"""Functions over windows of rows, in the orders and frames that may make a difference.

Not compared, and so not used: sums of floating-point numbers, whose last digits depend on the order
of additions, as do averages of long numbers; the least and the greatest of them, where two zeros
are equal; sums of decimals that may leave their type; a RANGE of distances.
"""

from __future__ import annotations

from collections.abc import Iterator

from stateplan.runtime.engines.rewrites import comparable

from .cases import sql_of
from .columns import TYPES, column_of, type_of

_RANKS = ("row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "ntile(3)")
_OFFSETS = ("lag({0})", "lead({0}, 2)")
_PICKS = (
    *("first_value({0})", "last_value({0})", "first({0})", "last({0})", "nth_value({0}, 2)"),
    *("first_value({0}) IGNORE NULLS", "last_value({0}) IGNORE NULLS", "count({0})"),
)
_LEAST = ("min({0})", "max({0})")
_SUMMED = ("tinyint", "smallint", "int")
_FLOATS = ("float", "double")
_FRAMES = (
    "ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
)
_GROUP = "PARTITION BY pmod(id, 3)"


def window_steps() -> Iterator[tuple[str, str, list[str]]]:
    """Per function and type of its values, or of the order: columns that show what it gives."""
    for kind in TYPES:
        column = column_of(type_of(kind), 1)
        if kind not in _FLOATS:
            yield "partition by", kind, [f"count(*) OVER (PARTITION BY {column.name})"]
        key = sql_of(comparable(column))
        orders = [f"{key} {way}" for way in ("ASC", "DESC", "ASC NULLS LAST", "DESC NULLS FIRST")]
        for form in _RANKS:
            alone = form in ("row_number()", "ntile(3)")
            ends = [f"{order}, id" if alone else order for order in orders]
            yield _step(form), kind, [f"{form} OVER ({_GROUP} ORDER BY {end})" for end in ends]
        for form in _OFFSETS:
            yield _step(form), kind, [f"{_of(form, column.name)} OVER ({_GROUP} ORDER BY id)"]
        for form in (*_PICKS, *_added(kind)):
            yield from _framed(form, _of(form, column.name), kind)


def _step(form: str, frame: str = "over") -> str:
    return f"{frame} {form.partition('(')[0]}"


def _of(form: str, column: str) -> str:
    return form.format(column)


def _added(kind: str) -> tuple[str, ...]:
    """What is compared of some types only."""
    least = () if kind in _FLOATS else _LEAST
    if kind in _SUMMED:
        return *least, "sum({0})", "avg({0})"
    return (*least, "sum({0})") if kind in ("decimal(10,2)", "decimal(5,0)") else least


def _framed(form: str, call: str, kind: str) -> Iterator[tuple[str, str, list[str]]]:
    whole = f"{call} OVER ({_GROUP} ORDER BY id)"
    peers = [] if form.startswith(("first", "last", "nth")) else [f"{call} OVER ({_GROUP})"]
    if peers:
        peers.append(f"{call} OVER ({_GROUP} ORDER BY id DIV 4)")
    yield _step(form), kind, [whole, *peers]
    frames = [f"{call} OVER ({_GROUP} ORDER BY id {frame})" for frame in _FRAMES]
    yield _step(form, "over rows"), kind, frames
