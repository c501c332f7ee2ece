"""Expressions as Spark SQL text, for the runtime: what Spark parses back must mean the same.

Columns are named by a callback, since where an expression runs its columns have names of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import cast

from ..expressions.bound import Written
from ..expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    CaseWhen,
    Cast,
    Expression,
    GetStructField,
    LambdaFunction,
    LambdaVariable,
    Literal,
    SortOrder,
)
from ..expressions.windows import PreciseTimestampConversion, WindowExpression, opposite
from ..schemas.types import (
    ArrayType,
    DataType,
    DatetimeType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from ..tree import replace
from .literal_sql import literal_sql
from .text import case_text, direction, frame_in_sql

NameOf = Callable[[AttributeReference], str]


def quote(name: str) -> str:
    """A name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def type_sql(data_type: DataType) -> str:
    """A type in DDL, names of struct fields in backticks."""
    match data_type:
        case ArrayType(element_type=element):
            return f"ARRAY<{type_sql(element)}>"
        case StructType(fields=fields):
            return (
                "STRUCT<"
                + ", ".join(f"{quote(f.name)}: {type_sql(f.data_type)}" for f in fields)
                + ">"
            )
        case MapType(key_type=key, value_type=value):
            return f"MAP<{type_sql(key)}, {type_sql(value)}>"
        case _:
            return data_type.sql


def spark_sql(expression: Expression, name_of: NameOf) -> str:
    """The expression in Spark SQL.

    Raises:
        TypeError: the expression is unresolved, or nothing that SQL can say.
    """

    def show(node: Expression) -> str:
        return _show(node, show, name_of)

    return show(expression)


def _show(node: Expression, show: Callable[[Expression], str], name_of: NameOf) -> str:
    match node:
        case AttributeReference():
            return name_of(node)
        case Literal():
            return literal_sql(node, type_sql)
        case Alias(child=child, name=name):
            return f"{show(child)} AS {quote(name)}"
        case Call():
            spec = node.spec
            if spec.sql is not None:
                return spec.sql(node, show)
            if spec.replacement is not None:
                return show(spec.replacement(node))
            return f"{node.name}({', '.join(show(a) for a in node.arguments)})"
        case Cast(child=child, type_=data_type):
            return f"{cast_function(node)}({show(child)} AS {type_sql(data_type)})"
        case CaseWhen():
            return f"({case_text(node, show)})"
        case GetStructField(child=child, name=name):
            return f"{show(child)}.{quote(name)}"
        case LambdaFunction(body=body, parameters=parameters):
            names = ", ".join(show(p) for p in parameters)
            # Spark's grammar has no parentheses around a single parameter.
            return f"{names if len(parameters) == 1 else f'({names})'} -> {show(body)}"
        case LambdaVariable():
            return quote(f"{node.name}_{node.expr_id}")
        case PreciseTimestampConversion(child=child):
            return _conversion(node, show(child))
        case SortOrder(child=child):
            return f"{show(child)} {direction(node)}"
        case AggregateExpression():
            return _aggregate(node, show)
        case WindowExpression():
            return _over(node, show)
        case Written():
            return node.sql_over(show)
        case _:
            raise TypeError(f"no Spark SQL for {type(node).__name__}")


def cast_function(node: Cast) -> str:
    """How the SQL of a cast begins: `CAST` or `try_cast`."""
    # Only a try_ function leaves a lenient cast to a time in ANSI mode.
    lenient = node.mode == "LEGACY" and isinstance(node.child.data_type, StringType)
    times = isinstance(node.type_, DatetimeType)
    return "try_cast" if node.mode == "TRY" or (lenient and times) else "CAST"


_LOCAL_EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"


def _conversion(node: PreciseTimestampConversion, value: str) -> str:
    """A time as microseconds or back; local times have no functions for that, but differences."""
    match node.from_type, node.to_type:
        case TimestampNTZType(), _:
            seconds = f"CAST(({value} - {_LOCAL_EPOCH}) AS INTERVAL SECOND)"
            return f"CAST(CAST({seconds} AS DECIMAL(18, 6)) * 1000000 AS BIGINT)"
        case _, TimestampNTZType():
            seconds = f"CAST(CAST({value} AS DECIMAL(20, 0)) / 1000000 AS DECIMAL(18, 6))"
            return f"({_LOCAL_EPOCH} + make_dt_interval(0, 0, 0, {seconds}))"
        case _, TimestampType():
            return f"timestamp_micros({value})"
        case _:
            return f"unix_micros({value})"


def _over(node: WindowExpression, show: Callable[[Expression], str]) -> str:
    parts = []
    if node.partition_by:
        parts.append(f"PARTITION BY {', '.join(map(show, node.partition_by))}")
    if node.order_by:
        parts.append(f"ORDER BY {', '.join(map(show, node.order_by))}")
    elif isinstance(node.function, Call) and node.function.spec.kind == "window":
        # A rule numbers rows in no order for LIMIT in a subquery; SQL wants one.
        parts.append("ORDER BY NULL")
    if node.frame is not None:
        bounds = tuple(map(_from_the_row, node.bounds))
        parts.append(frame_in_sql(replace(node, bounds=bounds), show))
    return f"{show(node.function)} OVER ({' '.join(parts)})"


def _from_the_row(distance: Expression) -> Expression:
    """-3 as what is written `3 PRECEDING`."""
    if isinstance(distance, Literal):
        value = distance.value
        if isinstance(value, int | float | Decimal) and value < 0:
            return Call(name="negative", arguments=(opposite(distance),))
    return distance


def _aggregate(node: AggregateExpression, show: Callable[[Expression], str]) -> str:
    text = show(cast(Expression, node.function))
    if node.distinct:
        text = text.replace("(", "(DISTINCT ", 1)
    if node.filter is not None:
        text += f" FILTER (WHERE {show(node.filter)})"
    suffix = node.function.spec.sql_suffix
    return text if suffix is None else text + suffix(node.function)
