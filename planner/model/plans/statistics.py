"""How many bytes a plan's rows are thought to have, which decides how tables are joined.

Spark's estimates without cost-based optimization: a table has the size of its files, a projection
changes it by the widths of rows, a join multiplies; a stream is larger than anything.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal

from ..expressions.core import AttributeReference, Literal
from ..schemas.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CalendarIntervalType,
    DataType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
    YearMonthIntervalType,
)
from .logical import Aggregate, Expand, Filter, GlobalLimit, Join, LocalLimit, Sort, Union
from .query_plan import LogicalPlan
from .relations import LocalRelation, OneRowRelation, Range, Relation

_UNKNOWN = 2**63 - 1  # spark.sql.defaultSizeInBytes
_OVERHEAD = 8  # of a row
_UNITS = ((60, "EiB"), (50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB"))
_SIZES: dict[type[DataType], int] = {
    BooleanType: 1,
    ByteType: 1,
    NullType: 1,
    ShortType: 2,
    IntegerType: 4,
    FloatType: 4,
    DateType: 4,
    YearMonthIntervalType: 4,
    CalendarIntervalType: 16,
    BinaryType: 100,
}


def default_size(data_type: DataType) -> int:
    """Bytes of a value of a type, as Spark guesses without looking."""
    match data_type:
        case DecimalType(precision=precision):
            return 8 if precision <= 18 else 16
        case ArrayType() | MapType() | StructType():
            return sum(map(default_size, data_type.parts))
        case StringType():  # with a collation of its own too
            return 20
        case _:
            return _SIZES.get(type(data_type), 8)


def row_size(columns: tuple[AttributeReference, ...]) -> int:
    """Bytes of a row of some columns."""
    return _OVERHEAD + sum(default_size(a.data_type) for a in columns)


def size_in_bytes(plan: LogicalPlan) -> int:
    """The estimated bytes of an optimized plan's rows."""
    match plan:
        case Relation(size_in_bytes=size):
            return size
        case LocalRelation(rows=rows) if not plan.is_streaming:
            return row_size(plan.output) * len(rows)
        case OneRowRelation():
            return 1
        case Range():
            return 8 * plan.row_count
        case Join(join_type="LeftSemi" | "LeftAnti", left=left):
            return size_in_bytes(left)
        case Join():
            # An empty side counts for nothing, not as nothing.
            return math.prod(size for size in map(size_in_bytes, plan.children) if size > 0)
        case Union(inputs=inputs):
            return sum(map(size_in_bytes, inputs))
        case Filter(child=child):
            return max(1, size_in_bytes(child))
        case Sort(child=child) | LocalLimit(child=child):
            return size_in_bytes(child)
        case GlobalLimit(limit=Literal(value=int(limit))):
            return max(1, row_size(plan.output) * limit)
        case Aggregate(grouping=()):
            return row_size(plan.output)
        case Expand(projections=projections):
            return _scaled(plan) * len(projections)
    return _scaled(plan) if len(plan.children) == 1 else _UNKNOWN


def _scaled(plan: LogicalPlan) -> int:
    """As many rows as its only input has, of its own width."""
    (child,) = plan.children
    return max(1, size_in_bytes(child) * row_size(plan.output) // row_size(child.output))


def row_count(plan: LogicalPlan) -> int | None:
    """How many rows there are, where Spark knows."""
    match plan:
        case GlobalLimit(limit=Literal(value=int(limit))):
            return limit
        case LocalRelation(rows=rows) if not plan.is_streaming:
            return len(rows)
        case Range():
            return plan.row_count
        case OneRowRelation() | Aggregate(grouping=()):
            return 1
    return None


def statistics_text(plan: LogicalPlan) -> str:
    """`Statistics(sizeInBytes=320.0 B, rowCount=10)`, as explain's cost mode shows it."""
    rows = row_count(plan)
    counted = "" if rows is None else f", rowCount={_three_digits(rows)}"
    return f"Statistics(sizeInBytes={_bytes_text(size_in_bytes(plan))}{counted})"


def _bytes_text(size: int) -> str:
    """Spark's Utils.bytesToString: a unit from two of it on, powers of ten from 2 ZiB on."""
    if size >= 1 << 71:
        return f"{_three_digits(size)} B"
    for power, unit in _UNITS:
        if size >= 2 << power:
            return f"{_tenths(Decimal(size) / (1 << power))} {unit}"
    return f"{_tenths(Decimal(size))} B"


def _tenths(number: Decimal) -> Decimal:
    return number.quantize(Decimal("0.1"), ROUND_HALF_UP)


def _three_digits(number: int) -> str:
    return str(Context(prec=3, rounding=ROUND_HALF_UP).create_decimal(number))
