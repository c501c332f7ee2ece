"""Joins with tables, and lists, of which the tasks that read a stream's files make rows.

    Select                                   ReadFiles
    +- BroadcastHashJoin                       looking up [keys] in table
       :- Select
       :  +- ReadSource
       +- BroadcastExchange
          +- Select
             +- ReadTable

Spark gives every task the whole table there, too. Here a task reads it from its files, and keeps
it for the batches that follow.
"""

from __future__ import annotations

from ....physical.basic import GenerateExec
from ....physical.exchange import BroadcastExchangeExec
from ....physical.joins import BroadcastHashJoinExec
from ....planner.model.expressions.core import Alias, Call, Expression, to_attribute
from ....planner.model.schemas.types import (
    STRING,
    ArrayType,
    DateType,
    DecimalType,
    IntegralType,
    MapType,
    TimestampNTZType,
    TimestampType,
)
from ....planner.model.tree import replace
from ..nodes import AsIs, ReadTable, RuntimeNode, Select
from ..reading_nodes import Explode, LookUp, LookUpType
from .merge_selects import combined

_KEPT: dict[tuple[str, str], LookUpType] = {
    ("Inner", "BuildRight"): "Inner",
    ("Inner", "BuildLeft"): "Inner",
    ("LeftOuter", "BuildRight"): "LeftOuter",
    ("RightOuter", "BuildLeft"): "LeftOuter",
    ("LeftSemi", "BuildRight"): "LeftSemi",
    ("LeftAnti", "BuildRight"): "LeftAnti",
}
"""What becomes of the stream's rows, by the join's type and the side that is the table."""
_KEYS = (IntegralType, DateType, TimestampType, TimestampNTZType, DecimalType)
"""The types, besides plain strings, whose values are equal where Arrow finds them equal."""


def over_lowest(select: Select) -> Select | None:
    """A select over what stands below the selects below it; None: they cannot be put together."""
    while isinstance(select.child, Select):
        one = combined(select, select.child)
        if one is None:
            return None
        select = one
    return select


def looked_up(rows: Select) -> tuple[LookUp, Select, Select] | None:
    """A select over a join with a table, taken apart; None: it is none, or the engine's to do.

    Returns:
        The look-up; the select that gives it its rows, over what stands below; what is selected of
        the joined rows.
    """
    node = rows.child
    if not isinstance(node, AsIs) or not isinstance(node.operator, BroadcastHashJoinExec):
        return None
    join = node.operator
    kept = _KEPT.get((join.join_type, join.build_side))
    if kept is None or join.null_aware or (join.condition is not None and kept != "Inner"):
        return None
    sides = list(zip(node.inputs, (join.left_keys, join.right_keys), strict=True))
    (built, table_keys), (stream, keys) = sides if join.build_side == "BuildLeft" else sides[::-1]
    table = _table(built)
    if table is None or not all(_compares_alike(key) for key in (*keys, *table_keys)):
        return None
    conditions = (*(() if join.condition is None else (join.condition,)), *rows.conditions)
    needed = {id_ for e in (*conditions, *rows.columns) for id_ in e.references}
    columns = tuple(a for a in stream.output if a.expr_id in needed)
    found = tuple(c for c in table.columns if to_attribute(c).expr_id in needed)
    below = over_lowest(Select(child=stream, columns=(*columns, *_named(keys))))
    keyed = combined(Select(child=table, columns=_named(table_keys)), table)
    if below is None or keyed is None:
        return None
    assert isinstance(table.child, ReadTable)
    width = len(columns)
    look_up = LookUp(
        name=table.child.name,
        attributes=table.child.attributes,
        given=table.conditions,
        found=found,
        table_keys=keyed.columns,
        join_type=kept,
        conditions=below.conditions,
        columns=below.columns[:width],
        keys=below.columns[width:],
    )
    return look_up, below, replace(rows, conditions=conditions)


def exploded(rows: Select) -> tuple[Explode, Select, Select] | None:
    """A select over `explode` or `posexplode` of an array or map, in parts; None: it is none.

    Returns:
        The step; the select below it, which gives it its rows; what is selected of its output.
    """
    node = rows.child
    if not isinstance(node, AsIs) or not isinstance(node.operator, GenerateExec):
        return None
    match node.operator:
        case GenerateExec(
            generator=Call(name="explode" | "posexplode", arguments=(elements,)) as call,
            required=required,
            generated=generated,
            outer=outer,
        ) if isinstance(elements.data_type, ArrayType | MapType):
            pass
        case _:
            return None
    used = {id_ for e in (*rows.conditions, *rows.columns) for id_ in e.references}
    columns = tuple(a for a in required if a.expr_id in used)
    named = Alias(child=elements, name=call.name)
    below = over_lowest(Select(child=node.inputs[0], columns=(*columns, named)))
    if below is None:
        return None
    step = Explode(
        conditions=below.conditions,
        columns=below.columns[:-1],
        elements=below.columns[-1],
        generated=generated,
        outer=outer,
    )
    return step, below, rows


def _table(node: RuntimeNode) -> Select | None:
    """The rows of a broadcast side as a select over a table; None: they are more than that."""
    if not isinstance(node, AsIs) or not isinstance(node.operator, BroadcastExchangeExec):
        return None
    (rows,) = node.inputs
    table = over_lowest(
        rows if isinstance(rows, Select) else Select(child=rows, columns=rows.output)
    )
    return table if table is not None and isinstance(table.child, ReadTable) else None


def _named(keys: tuple[Expression, ...]) -> tuple[Alias, ...]:
    return tuple(Alias(child=key, name="key") for key in keys)


def _compares_alike(key: Expression) -> bool:
    return key.data_type == STRING or isinstance(key.data_type, _KEYS)
