"""Lets the tasks of a kernel read Parquet files by themselves: rows never are rows of the engine's.

    Kernel                                   Kernel
    +- Select                                +- ReadFiles [columns] where conditions
       +- Exchange
          +- Select
             +- ObserveEventTime
                +- Select
                   +- ReadSource

Where nothing stands between a kernel and the files but conditions and columns that our own Arrow
code computes (`kernels/expressions`), an engine's scan, its exchange and the way into Python take
longer than all the rest of a batch. Each task reads all files and keeps its own rows, so it does
not pay with many tasks. A union below the kernel, such as the sides of a join, becomes one
ReadFiles for each of its branches; joins with tables become look-ups (look_ups.py). Runs before
rows are grouped. Idempotent.
"""

from __future__ import annotations

from ....physical.basic import UnionExec
from ....planner.model.expressions.core import Alias, AttributeReference, Expression, to_attribute
from ....planner.model.tree import replace
from ...kernels.expressions.compile import compile_program
from ..facts import BatchFacts
from ..nodes import (
    AsIs,
    Columns,
    Exchange,
    Kernel,
    ReadFiles,
    ReadSource,
    RuntimeNode,
    Select,
    Union,
)
from ..observing_nodes import ObserveEventTime
from .keep_order import goes_by_order
from .look_ups import looked_up, over_lowest
from .merge_selects import combined

MOST_TASKS = 8
"""With more tasks than this it is quicker that the engine exchanges rows."""


def read_files(plan: RuntimeNode, facts: BatchFacts) -> RuntimeNode:
    """The plan whose kernels read the files that they can."""
    if facts.tasks > MOST_TASKS or not facts.files:
        return plan

    def reading(node: RuntimeNode) -> RuntimeNode:
        if not isinstance(node, Kernel) or node.single or node.placed or node.reads_files:
            return node
        branches = _branches(node)
        if branches is None or (len(branches) > 1 and node.origin is not None):
            return node
        files = [_files(node, rows, facts) for rows in branches]
        read = tuple(one for one in files if one is not None)
        return replace(node, inputs=read) if len(read) == len(files) else node

    return plan.transform_up(reading)


def _files(kernel: Kernel, rows: Select, facts: BatchFacts) -> ReadFiles | None:
    """The files that a select of a kernel's input is over; None: the engine is to read them."""
    read = _read(rows)
    # Several rows of a table may match one: their order is the engine's.
    if read is None or (read.lookups and goes_by_order(kernel)):
        return None
    count = len(rows.columns) - len(kernel.hashed)
    found = replace(
        read,
        columns=read.columns[:count],
        hashed=read.columns[count:],
        origins=kernel.origin is not None,
    )
    return found if _readable(found, facts) and _computable(found, facts) else None


def _read(rows: Select) -> ReadFiles | None:
    """What a select reads from the files of a source and of the tables that are joined to it."""
    joined = looked_up(rows)
    if joined is None:
        return _read_source(rows)
    look_up, below, conditions = joined
    read = _read(below)
    if read is None:
        return None
    width = len(look_up.columns)
    look_up = replace(
        look_up,
        conditions=read.conditions,
        columns=read.columns[:width],
        keys=read.columns[width:],
    )
    lookups = (*read.lookups, look_up)
    return replace(read, lookups=lookups, conditions=conditions, columns=rows.columns)


def _read_source(rows: Select) -> ReadFiles | None:
    """A select over a source, or over the observation of its event times; None: it is none."""
    below = rows.child
    if isinstance(below, ReadSource):
        return _over_source(below, rows)
    if not isinstance(below, ObserveEventTime):
        return None
    if not isinstance(below.event_time, AttributeReference):
        return None
    seen = over_lowest(Select(child=below.child, columns=(below.event_time,)))
    over = over_lowest(replace(rows, child=below.child))
    if over is None or seen is None or not isinstance(over.child, ReadSource):
        return None
    (time,) = seen.columns
    if not isinstance(time, AttributeReference):
        return None
    found = _over_source(over.child, over)
    return replace(
        found,
        before=seen.conditions,
        event_time=time,
        node_id=below.node_id,
        conditions=found.conditions[len(seen.conditions) :],
    )


def _over_source(source: ReadSource, rows: Select) -> ReadFiles:
    return ReadFiles(
        name=source.name,
        attributes=source.attributes,
        conditions=rows.conditions,
        columns=rows.columns,
        hashed=(),
    )


def _branches(kernel: Kernel) -> list[Select] | None:
    """What a kernel takes, and behind it what is hashed: a select over what has none, per branch of
    the unions below. None if selects cannot be put together."""
    (top,) = kernel.inputs
    origin = None if kernel.origin is None else kernel.origin.expr_id
    taken = tuple(a for a in top.output if a.expr_id != origin)
    named = tuple(map(_named, kernel.hashed))

    def found(rows: Select) -> list[Select] | None:
        below = rows.child
        if isinstance(below, Exchange):
            return found(replace(rows, child=below.child))
        if isinstance(below, Select):
            # A value that is used twice is computed once: programs share their steps.
            one = combined(rows, _without(below, origin))
            return None if one is None else found(one)
        if isinstance(below, Union | AsIs) and _is_union(below):
            parts = [found(replace(rows, child=_branch(below, one))) for one in below.inputs]
            known = [part for part in parts if part is not None]
            together = [branch for part in known for branch in part]
            return together if len(known) == len(parts) else None
        return [rows]

    return found(Select(child=top, columns=(*taken, *named)))


def _is_union(node: Union | AsIs) -> bool:
    return isinstance(node, Union) or isinstance(node.operator, UnionExec)


def _branch(union: Union | AsIs, rows: RuntimeNode) -> Select:
    """An input of a union, under the names of its columns."""
    pairs = zip(rows.output, union.output, strict=True)
    columns = (Alias(child=own, name=a.name, expr_id=a.expr_id) for own, a in pairs)
    return Select(child=rows, columns=tuple(columns))


def _without(select: Select, origin: int | None) -> Select:
    columns = tuple(c for c in select.columns if to_attribute(c).expr_id != origin)
    return select if len(columns) == len(select.columns) else replace(select, columns=columns)


def _named(expression: Expression) -> Expression:
    if isinstance(expression, AttributeReference):
        return expression
    return Alias(child=expression, name="key")


def _readable(files: ReadFiles, facts: BatchFacts) -> bool:
    """Whether the columns that are read mean the same to Spark and to Arrow."""
    return _known(files.name, files.used, facts) and all(
        _known(one.name, one.used, facts) for one in files.lookups
    )


def _known(name: str, columns: Columns, facts: BatchFacts) -> bool:
    types = facts.files.get(name)
    return types is not None and all(types.get(a.name) == a.data_type for a in columns)


def _computable(files: ReadFiles, facts: BatchFacts) -> bool:
    return all(
        program is not None and (facts.engine.exactness is not None or not program.refuses_values)
        for program in (compile_program(*stage) for stage in files.stages)
    )
