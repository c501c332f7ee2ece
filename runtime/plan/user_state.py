"""Operators of the executed plan whose state a Python function keeps.

    FlatMapGroupsInPandasWithState      Select (columns)
    +- Sort                             +- Kernel
       +- Exchange                         +- Exchange
          +- rows                             +- Select [keys, columns]
                                                 +- rows

The kernel brings the rows of a key together: no sort is needed. In a query's first batch the rows
of a processor's initial state travel with the others, as one stream of rows that say which they
are; the columns of either are null in the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...physical.plan import SparkPlan
from ...physical.python_operators import UpdateEventTimeColumnExec
from ...physical.python_state import (
    FlatMapGroupsInPandasWithStateExec,
    PythonStatefulExec,
    TransformWithStateInPySparkExec,
)
from ...planner.model.errors import InternalError
from ...planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Cast,
    Expression,
    Literal,
    lit,
)
from ...planner.model.schemas.types import BOOLEAN, as_nullable
from ...planner.model.tree import replace
from .aggregation import hashed, unsorted
from .carried import Carried, plain
from .event_times import check_event_times
from .facts import BatchFacts
from .nodes import Exchange, Kernel, RuntimeNode, Select, Union
from .specs import GroupStateSpec, ProcessorSpec, UserStateSpec, event_time_position
from .translate import translate


@translate.register(FlatMapGroupsInPandasWithStateExec)
def _(node: FlatMapGroupsInPandasWithStateExec, facts: BatchFacts) -> RuntimeNode:
    check_event_times(node.child, facts)
    columns = tuple(map(plain, node.child.output))
    spec = GroupStateSpec(
        rows=tuple(c.seen for c in columns),
        keys=_places(node.keys, columns),
        function=node.function,
        given=_places(node.function.arguments, columns),
        emitted=node.attributes,
        state=node.state_type,
        timeout=node.timeout,
        time=event_time_position(node.child.output),
    )
    return _with_kernel(node, node.child, columns, spec, facts)


@translate.register(TransformWithStateInPySparkExec)
def _(node: TransformWithStateInPySparkExec, facts: BatchFacts) -> RuntimeNode:
    check_event_times(node.child, facts)
    first = node.has_initial_state and facts.batch_id == 0
    columns = tuple(map(plain, _once(node.child.output)))
    spec = ProcessorSpec(
        rows=tuple(c.seen for c in columns),
        keys=_places(node.keys, columns),
        function=node.function,
        given=_places(node.function.arguments, columns),
        emitted=node.attributes,
        rows_as=node.rows,
        time_mode=node.time_mode,
        time=event_time_position([c.column for c in columns]),
    )
    if first:
        return _with_initial_state(node, columns, spec, facts)
    return _with_kernel(node, node.child, columns, spec, facts)


@translate.register(UpdateEventTimeColumnExec)
def _(node: UpdateEventTimeColumnExec, facts: BatchFacts) -> RuntimeNode:
    """The kernel below looks at the event times that it emits."""
    below = translate(node.child, facts)
    match below:
        case Select(child=Kernel(spec=ProcessorSpec() as spec) as kernel):
            ids = [column.expr_id for column in node.child.output]
            (time,) = node.event_time.references
            spec = replace(spec, emitted_time=ids.index(time))
            return replace(below, child=replace(kernel, spec=spec))
    raise InternalError(f"{node.node_name} stands over {below.node_name}")


def _with_initial_state(
    node: TransformWithStateInPySparkExec,
    columns: tuple[Carried, ...],
    spec: ProcessorSpec,
    facts: BatchFacts,
) -> RuntimeNode:
    """The rows of both: keys and columns, whether a row is initial state, that one's columns."""
    given = node.initial_state.output[len(node.initial_keys) :]
    slots = [
        *(c.seen for c in columns),
        AttributeReference(name="initial", type_=BOOLEAN),
        *(AttributeReference(name=a.name, type_=plain(a).seen.data_type) for a in given),
    ]
    taken = tuple(map(plain, slots))
    keys = dict(zip(spec.keys, node.initial_keys, strict=True))
    data: list[Expression | None] = [c.column for c in columns]
    rows: list[tuple[SparkPlan, list[Expression | None]]] = [
        (node.child, [*data, lit(False), *(None for _ in given)]),
        (node.initial_state, [*(keys.get(i) for i in range(len(columns))), lit(True), *given]),
    ]
    inputs = tuple(
        Select(child=translate(unsorted(plan), facts), columns=tuple(map(_into, values, slots)))
        for plan, values in rows
    )
    count = len(columns)
    whole = replace(
        spec,
        rows=tuple(c.seen for c in taken),
        tag=count,
        initial=tuple(range(count + 1, len(slots))),
        initial_names=tuple(a.name for a in given),
    )
    attributes = tuple(part for column in taken for part in column.parts)
    return _kernel_over(node, Union(inputs=inputs, attributes=attributes), taken, whole)


def _into(value: Expression | None, slot: AttributeReference) -> Expression:
    """A value of a row in the one stream of rows."""
    found: Expression = Literal(value=None, type_=slot.data_type) if value is None else value
    if as_nullable(found.data_type) != slot.data_type:
        found = Cast(child=found, type_=slot.data_type)
    return Alias(child=found, name=slot.name)


def _once(columns: Sequence[AttributeReference]) -> tuple[AttributeReference, ...]:
    """Columns without those that were there before: keys come before all columns."""
    return tuple({column.expr_id: column for column in columns}.values())


def _with_kernel(
    node: PythonStatefulExec,
    child: SparkPlan,
    columns: Sequence[Carried],
    spec: UserStateSpec,
    facts: BatchFacts,
) -> RuntimeNode:
    parts = tuple(part for column in columns for part in column.split(column.column))
    sent = Select(child=translate(unsorted(child), facts), columns=parts)
    return _kernel_over(node, sent, columns, spec)


def _kernel_over(
    node: PythonStatefulExec,
    rows: RuntimeNode,
    taken: Sequence[Carried],
    spec: UserStateSpec,
) -> RuntimeNode:
    placing = hashed([taken[i] for i in spec.keys])
    emitted = tuple(map(plain, node.attributes))
    kernel = Kernel(
        inputs=(Exchange(child=rows, to="keys", keys=placing),),
        operator=node,
        spec=spec,
        taken=tuple(taken),
        emitted=emitted,
        hashed=placing,
    )
    return Select(child=kernel, columns=tuple(column.restored for column in emitted))


def _places(wanted: Sequence[object], columns: Sequence[Carried]) -> tuple[int, ...]:
    """Where some columns stand among all."""
    known = {column.column.expr_id: i for i, column in enumerate(columns)}
    return tuple(known[c.expr_id] for c in wanted if isinstance(c, AttributeReference))
