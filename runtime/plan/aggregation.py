"""Aggregations: the steps of the executed plan become one exchange and one kernel.

    executed plan                    runtime plan
    HashAggregate (final)            Select (results)
    StateStoreSave                   Kernel
    HashAggregate (merge)            |
    StateStoreRestore                |
    HashAggregate (merge)            |
    Exchange                         Select (buffers of single rows), Exchange
    HashAggregate (partial)          Select (keys)

Rows go to the kernel as they are, each with buffers of its own; a pass lets the engine group them
first where the batch before showed that this pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from ...physical.aggregate import BaseAggregateExec, MergingSessionsExec
from ...physical.basic import ExpandExec, ProjectExec
from ...physical.exchange import ShuffleExchangeExec, SortExec
from ...physical.plan import SparkPlan, StateStoreWriter
from ...physical.stateful import SessionWindowStateStoreSaveExec, StateStoreSaveExec
from ...planner.model.errors import InternalError
from ...planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Call,
    Expression,
    Literal,
    to_attribute,
    without_alias,
)
from ...planner.model.functions.aggregate_forms import row_over
from ...planner.model.output_modes import OutputMode
from ...planner.model.schemas.types import LONG, ArrayType
from ...planner.model.tree import replace
from .carried import Carried, constant_length, key, plain, window
from .event_times import check_aggregation
from .facts import BatchFacts
from .nodes import Aggregate, Exchange, Kernel, RuntimeNode, Select, travelling, used_by
from .specs import (
    AggregateSpec,
    BufferedFunction,
    SessionSpec,
    event_time_position,
    functions_of,
    merged_forms,
)
from .translate import translate

E = TypeVar("E", bound=Expression)


def partial_of(save: SparkPlan) -> BaseAggregateExec:
    """The first step of an aggregation, from its save.

    Merges stand between them in an aggregation, none in a session aggregation. The first step takes
    rows from anywhere, merges take those of their keys.
    """
    merges = isinstance(save, StateStoreSaveExec)
    node: SparkPlan = save
    while True:
        if len(node.children) != 1:
            raise InternalError(f"{save.node_name} stands over no partial aggregation")
        node = node.children[0]
        if isinstance(node, BaseAggregateExec) and not (merges and node.required_keys is not None):
            return node


@translate.register(StateStoreSaveExec)
def _(node: StateStoreSaveExec, facts: BatchFacts) -> RuntimeNode:
    mode = mode_of(node)
    check_aggregation(node, mode, node.keys, "aggregations", facts)
    groups = _groups(partial_of(node), mode, facts)
    (kernel,) = groups.children
    assert isinstance(kernel, Kernel) and isinstance(kernel.spec, AggregateSpec)
    spec = replace(kernel.spec, time=event_time_position(node.keys))
    return replace(groups, child=replace(kernel, operator=node, spec=spec))


def _groups(partial: BaseAggregateExec, mode: OutputMode, facts: BatchFacts) -> Select:
    """The rows that the first step of an aggregation takes, and a kernel that has no state yet."""
    partial = _with_copies(partial)
    functions = functions_of(partial)
    keys = [key(a, window_size(a, partial.child)) for a in partial.key_attributes]
    made, sources = row_buffers(functions)
    rows: RuntimeNode = _keyed_rows(partial, keys, facts, made)
    if keys:
        rows = Exchange(child=rows, to="keys", keys=hashed(keys))
    rows = Select(child=rows, columns=(*travelling(keys), *made))
    spec = AggregateSpec(
        keys=tuple(k.seen for k in keys), functions=functions, mode=mode, sources=sources
    )
    emitted = (*keys, *(plain(a) for f in functions for a in f.emitted))
    kernel = Kernel(
        inputs=(rows,),
        operator=None,
        spec=spec,
        taken=(*keys, *(plain(to_attribute(e)) for e in made)),
        emitted=emitted,
        hashed=hashed(keys),
        single=not keys,
    )
    return Select(child=kernel, columns=tuple(c.restored for c in emitted))


@translate.register(SessionWindowStateStoreSaveExec)
def _(node: SessionWindowStateStoreSaveExec, facts: BatchFacts) -> RuntimeNode:
    mode = mode_of(node)
    check_aggregation(node, mode, [node.session], "session window aggregations", facts)
    first = partial_of(node)
    partial = _with_copies(first)
    functions = functions_of(partial)
    keys = [plain(a) for a in node.keys]
    session = window(node.session, window_size(node.session, partial.child))
    made, sources = row_buffers(functions)
    rows = _keyed_rows(partial, [*keys, session], facts, made)
    origin = AttributeReference(name="origin", type_=LONG)
    # Our own readers of files know it with every engine.
    known = facts.engine.numbers_partitions
    partition = Call(name="spark_partition_id") if known else Literal(value=0, type_=LONG)
    number = Alias(child=partition, name="origin", expr_id=origin.expr_id)
    rows = replace(rows, columns=(*rows.columns, number))
    moved = Exchange(child=rows, to="keys", keys=hashed(keys))
    taken = [*keys, session]
    ids = [a.expr_id for a in partial.key_attributes]
    spec = SessionSpec(
        keys=tuple(k.seen for k in keys),
        session=session.seen,
        position=ids.index(node.session.expr_id),
        gap=session.size,
        functions=functions,
        mode=mode,
        sources=sources,
        merge_first=_merges_first(node, first),
    )
    given = [key(a) for a in partial.key_attributes]
    emitted = (*given, *(plain(a) for f in functions for a in f.emitted))
    kernel = Kernel(
        inputs=(Select(child=moved, columns=(*travelling(taken), *made, origin)),),
        operator=node,
        spec=spec,
        taken=(*taken, *(plain(to_attribute(e)) for e in made)),
        emitted=emitted,
        hashed=hashed(keys),
        origin=origin,
    )
    return Select(child=kernel, columns=tuple(c.restored for c in emitted))


@translate.register(BaseAggregateExec)
def _(node: BaseAggregateExec, facts: BatchFacts) -> RuntimeNode:
    """The last step: the functions' results, then the select list over them."""
    below = _below(node)
    groups: RuntimeNode | None
    if isinstance(below, StateStoreSaveExec | SessionWindowStateStoreSaveExec):
        groups = translate(below, facts)
    else:
        groups = _groups_here(node, facts)
    if groups is not None:
        functions = _saved_functions(groups)
        results = tuple(
            _result(last.result_id, f.forms.final_over(f.emitted), f)
            for last, f in zip(node.aggregates, functions, strict=True)
        )
        groups = Select(child=groups, columns=(*node.key_attributes, *results))
    else:
        groups = _at_once(node, facts)
    return Select(child=groups, columns=node.results)


def _saved_functions(groups: RuntimeNode) -> tuple[BufferedFunction, ...]:
    (kernel,) = groups.children
    assert isinstance(kernel, Kernel)
    assert isinstance(kernel.spec, AggregateSpec | SessionSpec)
    return kernel.spec.functions


def _result(result_id: int, value: Expression, function: BufferedFunction) -> Alias:
    return Alias(child=value, name=function.aggregate.function.name, expr_id=result_id)


def _groups_here(node: BaseAggregateExec, facts: BatchFacts) -> Select | None:
    """An aggregation without state by the kernel of those with state; None: it is the engine's.

    That kernel is exact, and the engine may not be.
    """
    whole = any(a.distinct or merged_forms(a) is None for a in node.aggregates)
    if whole or facts.engine.exactness is None:
        return None
    return _groups(_first_step(node), "update", facts)


def _at_once(node: BaseAggregateExec, facts: BatchFacts) -> RuntimeNode:
    """An aggregation without state, over all its rows: the engine's own."""
    first = _first_step(node)
    plain_ones = iter([a for a in first.aggregates if not a.distinct])
    results = []
    for aggregate in node.aggregates:
        # A FILTER stands at the first step alone.
        whole = aggregate if aggregate.distinct else next(plain_ones)
        value = replace(whole, mode="Complete")
        name = aggregate.function.name
        results.append(Alias(child=value, name=name, expr_id=aggregate.result_id))
    rows, keys = translate(first.child, facts), first.keys
    if _ids(first) != _ids(node):
        # The first step over distinct values has these among its keys: they are columns here.
        made = tuple(key for key in keys if isinstance(key, Alias))
        own = {key.expr_id for key in made}
        others = (a for a in first.child.output if a.expr_id not in own)
        rows, keys = Select(child=rows, columns=(*others, *made)), node.key_attributes
    return Aggregate(child=rows, keys=keys, aggregates=tuple(results))


def mode_of(node: StateStoreWriter) -> OutputMode:
    """Its output mode."""
    if node.output_mode is None:
        raise InternalError(f"{node.node_name} has no output mode")
    return node.output_mode


def hashed(keys: Sequence[Carried]) -> tuple[Expression, ...]:
    """What places rows by some keys, over their parts."""
    return tuple(e for k in keys for e in k.hashed)


def _with_copies(partial: BaseAggregateExec) -> BaseAggregateExec:
    """The first step, with copies of columns that keys are made of, for its functions.

    A key's floats come in one form of zero and NaN under its column's id; functions take all forms.
    """
    made = {key.expr_id for key in partial.keys if isinstance(key, Alias)}
    made &= frozenset[int]().union(*(a.references for a in partial.aggregates))
    columns = partial.child.output
    copies = {a.expr_id: Alias(child=a, name=a.name) for a in columns if a.expr_id in made}

    def copied(node: E) -> E:
        known = isinstance(node, AttributeReference) and copies.get(node.expr_id)
        return cast(E, known.to_attribute()) if known else node

    below = ProjectExec(project_list=(*columns, *copies.values()), child=unsorted(partial.child))
    aggregates = tuple(a.transform_up(copied) for a in partial.aggregates)
    return replace(partial, child=below, aggregates=aggregates) if copies else partial


def row_buffers(
    functions: Sequence[BufferedFunction],
) -> tuple[tuple[Alias, ...], tuple[int | None, ...]]:
    """The columns that make the buffers of single rows, each once; per buffer, which it is.

    None for a buffer that is 1 for every row: it needs no column. Of a list of one element or none
    the column is the element (`RowBuffers.make`).
    """
    found: dict[tuple[Expression, object], Alias] = {}
    sources: list[int | None] = []
    for function in functions:
        values = row_over(function.forms, function.aggregate.filter)
        for value, buffer in zip(values, function.travelling, strict=True):
            if isinstance(value, Literal) and value.value == 1 and buffer.data_type == LONG:
                sources.append(None)
                continue
            element: Expression | None = None
            if isinstance(buffer.data_type, ArrayType) and not buffer.data_type.contains_null:
                element = _element(value)
            made = Alias(child=value if element is None else element, name=buffer.name)
            known = found.setdefault((made.child, buffer.data_type), made)
            sources.append(list(found.values()).index(known))
    return tuple(found.values()), tuple(sources)


def _element(value: Expression) -> Expression | None:
    """The one element of a list, null where the list has none; None: it may have several."""
    match value:
        case Call(name="array", arguments=(element,)):
            return element
        case Call(name="if", arguments=(used, chosen, Literal(value=()))):
            inner = _element(chosen)
            if inner is None:
                return None
            none = Literal(value=None, type_=inner.data_type)
            return replace(value, arguments=(used, inner, none))
    return None


def _keyed_rows(
    partial: BaseAggregateExec,
    keys: Sequence[Carried],
    facts: BatchFacts,
    made: Sequence[Expression],
) -> Select:
    """An aggregation's rows: the parts of its keys, and the columns that `made` is made of."""
    values = {to_attribute(e).expr_id: e for e in partial.keys}
    parts = [p for k in keys for p in k.split(without_alias(values[k.column.expr_id]))]
    own = {to_attribute(part).expr_id for part in parts}
    others = [a for a in used_by(made, partial.child.output) if a.expr_id not in own]
    below = unsorted(partial.child)
    # A key may be used by a function as well: under its own id it is a part, unless it is split.
    return Select(child=translate(below, facts), columns=(*parts, *others))


def unsorted(plan: SparkPlan) -> SparkPlan:
    """The plan without the sort that a SortAggregate asks for: the kernel needs none."""
    return plan.child if isinstance(plan, SortExec) and not plan.is_global else plan


def _merges_first(save: SparkPlan, partial: SparkPlan) -> bool:
    """Whether sessions merge within the partition before they meet their state."""
    node, merging = save, 0
    while node is not partial:
        node = node.children[0]
        merging += isinstance(node, MergingSessionsExec)
    return merging > 1


def window_size(column: AttributeReference, node: SparkPlan) -> int | None:
    """The one length of all windows of a column, if the operators below say so."""
    if column.metadata.window is None:
        return None
    match node:
        case ProjectExec():
            aliases = (e for e in node.project_list if isinstance(e, Alias))
            made = [alias.child for alias in aliases if alias.expr_id == column.expr_id]
            if made:
                return constant_length(made[0])
        case ExpandExec() if column in node.attributes:
            place = node.attributes.index(column)
            lengths = {constant_length(projection[place]) for projection in node.projections}
            return lengths.pop() if len(lengths) == 1 else None
    if len(node.children) != 1 or column.expr_id not in node.output_ids:
        return None
    return window_size(column, node.children[0])


def _below(node: BaseAggregateExec) -> SparkPlan:
    """What the last step reads, past the sort that a SortAggregate asks for."""
    return node.child.child if isinstance(node.child, SortExec) else node.child


def _first_step(final: BaseAggregateExec) -> BaseAggregateExec:
    """The step of an aggregation without state that reads its rows.

    Where rows lie in one place all steps are one. Over distinct values two steps come first that
    leave one row of each.
    """
    if not final.aggregates:
        below = _next_step(final)
        alike = below is not None and not below.aggregates and _ids(below) == _ids(final)
        return below if below is not None and alike else final
    if all(aggregate.mode == "Complete" for aggregate in final.aggregates):
        return final
    step = _next_step(final)
    if step is None:
        raise InternalError(f"{final.node_name} stands over no partial aggregation")
    if not any(aggregate.distinct for aggregate in final.aggregates):
        return step
    if any(aggregate.distinct for aggregate in step.aggregates):
        step = _next_step(step) or step
    below = _next_step(step)
    same = below is not None and _ids(below) == _ids(step)
    return below if below is not None and same else step


def _next_step(node: BaseAggregateExec) -> BaseAggregateExec | None:
    below = node.child
    while isinstance(below, ShuffleExchangeExec | SortExec):
        below = below.child
    return below if isinstance(below, BaseAggregateExec) else None


def _ids(node: BaseAggregateExec) -> list[int]:
    return [key.expr_id for key in node.key_attributes]
