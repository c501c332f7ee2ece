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
ReadFiles for each of its branches. Runs before rows are grouped. Idempotent.
"""

from __future__ import annotations

from ....physical.basic import UnionExec
from ....planner.model.expressions.core import Alias, AttributeReference, Expression, to_attribute
from ....planner.model.tree import replace
from ...kernels.expressions.compile import compile_program
from ..facts import BatchFacts
from ..nodes import AsIs, Exchange, Kernel, ReadFiles, ReadSource, RuntimeNode, Select, Union
from ..observing_nodes import ObserveEventTime
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
    below, observed = rows.child, None
    before: tuple[Expression, ...] = ()
    event_time: AttributeReference | None = None
    if isinstance(below, ObserveEventTime):
        observed = below
        if not isinstance(observed.event_time, AttributeReference):
            return None
        above = Select(child=below.child, columns=(observed.event_time,))
        seen = _over_source(above)
        over = _over_source(replace(rows, child=below.child))
        if over is None or seen is None:
            return None
        (time,) = seen.columns
        if not isinstance(time, AttributeReference):
            return None
        rows, before, event_time, below = over, seen.conditions, time, over.child
    if not isinstance(below, ReadSource):
        return None
    count = len(rows.columns) - len(kernel.hashed)
    found = ReadFiles(
        name=below.name,
        attributes=below.attributes,
        before=before,
        event_time=event_time,
        node_id=None if observed is None else observed.node_id,
        conditions=rows.conditions[len(before) :],
        columns=rows.columns[:count],
        hashed=rows.columns[count:],
        origins=kernel.origin is not None,
    )
    return found if _readable(found, facts) and _computable(found, facts) else None


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


def _over_source(select: Select) -> Select | None:
    """A select over what stands below the selects below it."""
    while isinstance(select.child, Select):
        one = combined(select, select.child)
        if one is None:
            return None
        select = one
    return select


def _without(select: Select, origin: int | None) -> Select:
    columns = tuple(c for c in select.columns if to_attribute(c).expr_id != origin)
    return select if len(columns) == len(select.columns) else replace(select, columns=columns)


def _named(expression: Expression) -> Expression:
    if isinstance(expression, AttributeReference):
        return expression
    return Alias(child=expression, name="key")


def _readable(files: ReadFiles, facts: BatchFacts) -> bool:
    """Whether the columns that are read mean the same to Spark and to Arrow."""
    types = facts.files.get(files.name)
    if types is None:
        return False
    used = {id_ for e in files.expressions for id_ in e.references}
    return all(types.get(a.name) == a.data_type for a in files.attributes if a.expr_id in used)


def _computable(files: ReadFiles, facts: BatchFacts) -> bool:
    program = compile_program(files.expressions, files.attributes)
    if program is None:
        return False
    return facts.engine.exactness is not None or not program.refuses_values
