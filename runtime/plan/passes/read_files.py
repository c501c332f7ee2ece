"""Lets tasks compute by themselves what a kernel takes: rows never are rows of the engine's.

    Kernel                                   Kernel
    +- Select                                +- ReadFiles [columns] where conditions
       +- Exchange
          +- Select
             +- ObserveEventTime
                +- Select
                   +- ReadSource

Where nothing stands between a kernel and the files but conditions and columns that our own Arrow
code computes (`kernels/expressions`), an engine's scan, its exchange and the way into Python take
longer than all the rest of a batch. Each task reads all Parquet files and keeps its own rows. That
does not pay with many tasks, nor where reading or computing takes long or grouping leaves few rows,
and without keys there is one task for all rows: then each part of a file is read once, and its
rows, grouped where that leaves few, are dealt out (kernels/scans/dealt_rows.py). A union below the
kernel, such as the sides of a join, becomes one ReadFiles for each of its branches; joins with
tables become look-ups (look_ups.py), an Expand (sliding windows, grouping sets) becomes copies,
`explode` of a list a row for each element.

What stands between a kernel and another one below is computed in the same way, by the tasks of the
lower one, which deal the rows out: a DealOut, but where all tasks are in one process. Runs before
rows are grouped. Idempotent.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....physical.basic import UnionExec
from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Expression,
    to_attribute,
    without_alias,
)
from ....planner.model.registry import AggregateForms
from ....planner.model.schemas.types import AtomicType, DoubleType, FloatType
from ....planner.model.tree import replace
from ...kernels.expressions.programs.compile import compile_program, takes_long
from ..facts import TO_DEAL_OUT, BatchFacts
from ..nodes import (
    AsIs,
    Columns,
    Exchange,
    Expand,
    Kernel,
    ReadSource,
    RuntimeNode,
    Select,
    Union,
)
from ..observing_nodes import CountRows, ObserveEventTime
from ..reading_nodes import Copies, DealOut, LookUp, ReadFiles, TaskRows, rows_of_tasks
from ..specs import AggregateSpec, LimitSpec, SessionSpec
from .expand_once import with_select
from .group_first import leaves_few
from .keep_order import goes_by_order
from .look_ups import exploded, looked_up, over_lowest
from .merge_selects import combined

MOST_TASKS = 8
"""With more tasks than this it is quicker that rows are exchanged than that all tasks read all."""


def read_files(plan: RuntimeNode, facts: BatchFacts) -> RuntimeNode:
    """The plan whose kernels read the files that they can."""

    def reading(node: RuntimeNode) -> RuntimeNode:
        if not isinstance(node, Kernel) or node.placed or rows_of_tasks(node):
            return node
        if isinstance(node.spec, LimitSpec):
            return node  # needs few of the rows
        branches = _branches(node)
        if branches is None or (len(branches) > 1 and node.origin is not None):
            return node
        found = [_rows_of_tasks(node, rows, facts) for rows in branches]
        known = [one for one in found if one is not None]
        if len(known) < len(found) or _is_engines(node, known, facts):
            return node
        dealt = _are_dealt(node, known, facts)
        return replace(node, inputs=tuple(_dealt(one) if dealt else one for one in known))

    return plan.transform_up(reading)


def _are_dealt(kernel: Kernel, rows: Sequence[TaskRows], facts: BatchFacts) -> bool:
    """Whether other tasks compute rows and deal them out."""
    if facts.engine.reads_together:
        return False
    if any(isinstance(one, DealOut) for one in rows):
        return True
    # One task of several that there may be: the batch is a small one.
    if facts.tasks == 1 < facts.conf.shuffle_partitions:
        return False
    long = any(isinstance(one, ReadFiles) and _takes_long(one) for one in rows)
    few = leaves_few(kernel, facts, TO_DEAL_OUT)
    return kernel.single or facts.tasks > MOST_TASKS or long or few


def _dealt(rows: TaskRows) -> TaskRows:
    return replace(rows, dealt=True) if isinstance(rows, ReadFiles) else rows


def _is_engines(kernel: Kernel, rows: Sequence[TaskRows], facts: BatchFacts) -> bool:
    """Whether an engine brings all rows of Parquet files down to one row sooner than our code."""
    if not (kernel.single and facts.engine.groups_first and isinstance(kernel.spec, AggregateSpec)):
        return False
    few = all(_is_atomic(one.forms) for one in kernel.spec.functions)
    return few and all(isinstance(one, ReadFiles) and one.read is None for one in rows)


def _rows_of_tasks(kernel: Kernel, rows: Select, facts: BatchFacts) -> TaskRows | None:
    """What a select of a kernel's input makes of files or of another kernel's rows; None: an engine
    is to do it."""
    read = _read(rows, in_order=_sees_order(kernel))
    if read is None:
        return None
    count = len(rows.columns) - len(kernel.hashed)
    read = replace(read, columns=read.columns[:count], hashed=read.columns[count:])
    # Several rows of a table may match one: their order is the engine's.
    if goes_by_order(kernel) and any(isinstance(step, LookUp) for step in read.steps):
        return None
    if isinstance(read, DealOut):
        together = facts.engine.reads_together
        ours = facts.deals_out and kernel.origin is None and not together
    else:
        reader = facts.readers.get(read.name)
        if reader is None or reader.format == "parquet":
            if read.counted:
                return None
            read = replace(read, read=None, given=())
        read = replace(read, origins=kernel.origin is not None)
        ours = _known(read.name, read.used, facts)
    return read if ours and _tables_readable(read, facts) and _computable(read) else None


def _read(rows: Select, *, in_order: bool) -> ReadFiles | DealOut | None:
    """What a select reads from the files of a source, or takes of a kernel, and what becomes of it
    on the way."""
    taken_apart = looked_up(rows) or exploded(rows) or _copied(rows, in_order=in_order)
    if taken_apart is None:
        return _read_source(rows)
    step, below, above = taken_apart
    read = _read(below, in_order=in_order)
    if read is None:
        return None
    steps = (*read.steps, step.over(read.conditions, read.columns))
    return replace(read, steps=steps, conditions=above.conditions, columns=above.columns)


def _copied(rows: Select, *, in_order: bool) -> tuple[Copies, Select, Select] | None:
    """A select over an Expand, taken apart as `looked_up` does it; None: it is none."""
    expand = with_select(rows)
    above = Select(child=expand, columns=expand.output)
    if not isinstance(expand, Expand):
        if not isinstance(rows.child, Expand):
            return None
        expand, above = rows.child, rows
    used = {id_ for e in (*above.conditions, *above.columns) for id_ in e.references}
    places = {a.expr_id: i for i, a in enumerate(expand.attributes) if a.expr_id in used}
    output = tuple(expand.attributes[i] for i in places.values())
    values = [
        Alias(child=without_alias(projection[i]), name="copy")
        for projection in expand.projections
        for i in places.values()
    ]
    below = over_lowest(Select(child=expand.child, columns=tuple(values)))
    if below is None:
        return None
    copies = Copies(
        conditions=below.conditions, computed=below.columns, output=output, in_order=in_order
    )
    return copies, below, above


def _sees_order(kernel: Kernel) -> bool:
    """Whether a kernel may emit other values if its rows come in another order."""
    if goes_by_order(kernel) or not isinstance(kernel.spec, AggregateSpec | SessionSpec):
        return True
    return not all(_counts_alike(one.forms) for one in kernel.spec.functions)


def _counts_alike(forms: AggregateForms) -> bool:
    """Whether each buffer is one exact value that is merged by itself: a sum, a least value."""
    exact = not any(isinstance(b.data_type, DoubleType | FloatType) for b in forms.buffers)
    return exact and _is_atomic(forms) and all(len(m.buffers) == 1 for m in forms.merges)


def _is_atomic(forms: AggregateForms) -> bool:
    """Whether each buffer is one value, and none is made of all values of a batch."""
    return forms.start is None and all(isinstance(b.data_type, AtomicType) for b in forms.buffers)


def _read_source(rows: Select) -> ReadFiles | DealOut | None:
    """A select over a source, or over the observation of its event times, or over a kernel; None:
    it is none."""
    below = rows.child
    if isinstance(below, Kernel):
        return _dealt_out(below, rows)
    if not isinstance(below, ObserveEventTime):
        return _over_source(rows)
    if not isinstance(below.event_time, AttributeReference):
        return None
    seen = over_lowest(Select(child=below.child, columns=(below.event_time,)))
    over = over_lowest(replace(rows, child=below.child))
    found = None if over is None else _over_source(over)
    if seen is None or found is None or not isinstance(seen.columns[0], AttributeReference):
        return None
    return replace(
        found,
        before=seen.conditions,
        event_time=seen.columns[0],
        node_id=below.node_id,
        conditions=found.conditions[len(seen.conditions) :],
    )


def _dealt_out(kernel: Kernel, rows: Select) -> DealOut | None:
    if kernel.operator is None:
        return None
    return DealOut(child=kernel, conditions=rows.conditions, columns=rows.columns, hashed=())


def _over_source(rows: Select) -> ReadFiles | None:
    source = rows.child.child if isinstance(rows.child, CountRows) else rows.child
    if not isinstance(source, ReadSource):
        return None
    return ReadFiles(
        name=source.name,
        attributes=source.attributes,
        read=source.output,
        given=source.given,
        counted=source is not rows.child,
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


def _tables_readable(rows: TaskRows, facts: BatchFacts) -> bool:
    tables = (step for step in rows.steps if isinstance(step, LookUp))
    return all(_known(table.name, table.used, facts) for table in tables)


def _known(name: str, columns: Columns, facts: BatchFacts) -> bool:
    """Whether columns that are read mean the same to Spark and to Arrow."""
    types = facts.files.get(name)
    return types is not None and all(types.get(a.name) == a.data_type for a in columns)


def _takes_long(files: ReadFiles) -> bool:
    """Whether reading files takes long, or what is computed of their rows."""
    programs = (compile_program(*stage, untouched=True) for stage in files.stages)
    return files.read is not None or any(p is not None and takes_long(p) for p in programs)


def _computable(rows: TaskRows) -> bool:
    """Whether our own code computes all of it; what only travels may be of any type."""
    return all(compile_program(*stage, untouched=True) is not None for stage in rows.stages)
