"""The runtime plan as text and as JSON: one line a node, children below, as Spark draws trees."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from ...physical.plan import StateStoreWriter
from ...physical.streaming_join import StreamingSymmetricHashJoinExec
from ...planner.model.expressions.core import Expression, to_attribute
from ...planner.model.text.fields_shown import cut, fields_shown
from ...planner.model.text.text import plan_text as expression_text
from ...planner.model.text.trees import tree_lines
from .carried import Carried
from .nodes import (
    Aggregate,
    Apart,
    AsIs,
    CallPython,
    CallPythonOnGroups,
    Exchange,
    Expand,
    Kernel,
    PassingLimit,
    ReadSource,
    ReadTable,
    RuntimeNode,
    Select,
    Union,
)
from .observing_nodes import CountRows, ObserveBuffers, Observed, ObserveEventTime, ObserveMetrics
from .reading_nodes import Copies, DealOut, Explode, ReadFiles, ReadStep
from .specs import (
    AggregateSpec,
    DeduplicateSpec,
    GroupStateSpec,
    JoinSideSpec,
    JoinSpec,
    KernelSpec,
    LimitSpec,
    ProcessorSpec,
    SessionSpec,
    UserStateSpec,
    evictions_of,
    watermarks_of,
)

if TYPE_CHECKING:
    from .make import RuntimePlan

FORMAT_VERSION = 1


def runtime_text(plan: RuntimePlan, max_fields: int = 25) -> str:
    """A runtime plan in full: what runs it, its subqueries, its tree."""
    with fields_shown(max_fields):
        parts = [f"Subquery {view}\n{plan_text(root)}" for view, root in plan.subqueries.items()]
        return "\n".join(
            [f"== Runtime Plan ({plan.facts.engine.name}) ==", *parts, plan_text(plan.root)]
        )


def plan_text(node: RuntimeNode) -> str:
    """A node and all below it as a tree."""

    def line(one: RuntimeNode) -> str:
        return f"{one.node_name} {arguments(one)}".rstrip()

    return "\n".join(tree_lines(node, line, lambda one: one.children))


def runtime_json(plan: RuntimePlan) -> str:
    """A runtime plan as JSON: `version`, `engine`, `subqueries` by view, `plan`.

    A node has `node`, `arguments` (its text), `output` (columns with id and type) and `children`.
    """
    return json.dumps(
        {
            "version": FORMAT_VERSION,
            "engine": plan.facts.engine.name,
            "subqueries": {view: _json(root) for view, root in plan.subqueries.items()},
            "plan": _json(plan.root),
        },
        indent=2,
    )


def _json(node: RuntimeNode) -> dict[str, Any]:
    return {
        "node": node.node_name,
        "arguments": arguments(node),
        "output": [
            {"name": a.name, "id": a.expr_id, "type": a.data_type.simple} for a in node.output
        ],
        "children": [_json(child) for child in node.children],
    }


def _list(expressions: Iterable[Expression]) -> str:
    return f"[{cut(list(map(expression_text, expressions)), 25)}]"


def _where(conditions: Sequence[Expression]) -> str:
    return f" where {' AND '.join(map(expression_text, conditions))}" if conditions else ""


@singledispatch
def arguments(node: RuntimeNode) -> str:
    """What stands behind a node's name on its line."""
    return ""


@arguments.register(ReadSource)
@arguments.register(ReadTable)
def _(node: ReadSource | ReadTable) -> str:
    given = f", given {_list(node.given)}" if node.given else ""
    return f"{node.name} {_list(node.output)}{given}"


@arguments.register
def _(node: Apart) -> str:
    return ""


@arguments.register
def _(node: ObserveBuffers) -> str:
    return f"{node.name} {_list(node.made)}"


@arguments.register
def _(node: Observed) -> str:
    return f"{node.name} {_list(node.attributes)}"


@arguments.register
def _(node: ReadFiles) -> str:
    observed = "" if node.event_time is None else f", observing {expression_text(node.event_time)}"
    steps = "".join(map(_step, node.steps))
    conditions = node.conditions if node.steps else (*node.before, *node.conditions)
    given = f", given {_list(node.given)}" if node.given else ""
    counted = ", counted" if node.counted else ""
    shown = f"{node.name} {_list(node.columns)}{_where(conditions)}{given}{counted}"
    dealt = " and dealt" if node.dealt else ""
    return f"{shown}{observed}{steps}, placed{dealt} by {_list(node.hashed)}"


@arguments.register
def _(node: DealOut) -> str:
    steps = "".join(map(_step, node.steps))
    return f"{_list(node.columns)}{_where(node.conditions)}{steps}, by {_list(node.hashed)}"


def _step(step: ReadStep) -> str:
    """What becomes of rows on the way, as it stands behind what is read."""
    if isinstance(step, Explode):
        outer = " outer" if step.outer else ""
        lists = f"{expression_text(step.elements)}{_where(step.conditions)}"
        return f", exploding{outer} {lists} AS {_list(step.generated)}"
    if isinstance(step, Copies):
        copies = ", ".join(map(_list, step.copies))
        return f", copied{_where(step.conditions)} as {copies} AS {_list(step.output)}"
    rows = f"{_list(step.keys)}{_where(step.conditions)}"
    table = f"{step.name} {_list(step.table_keys)}{_where(step.given)}"
    return f", looking up {rows} in {table} for {_list(step.found)}, {step.join_type}"


@arguments.register
def _(node: Select) -> str:
    where = "(in Arrow) " if node.in_arrow else ""
    return f"{where}{_list(node.columns)}{_where(node.conditions)}"


@arguments.register
def _(node: Expand) -> str:
    where = "(in Arrow) " if node.in_arrow else ""
    return f"{where}{', '.join(map(_list, node.projections))} AS {_list(node.attributes)}"


@arguments.register
def _(node: ObserveEventTime) -> str:
    return expression_text(node.event_time)


@arguments.register
def _(node: ObserveMetrics) -> str:
    return f"{node.name} {_list(node.metrics)}"


@arguments.register
def _(node: CountRows) -> str:
    return node.source


@arguments.register
def _(node: Exchange) -> str:
    return f"by {_list(node.keys)}" if node.to == "keys" else f"to {node.to} task"


@arguments.register
def _(node: Union) -> str:
    return _list(node.attributes)


@arguments.register
def _(node: Aggregate) -> str:
    return f"{_list(node.keys)}, {_list(node.aggregates)}"


@arguments.register
def _(node: Kernel) -> str:
    where = "in one task" if node.single else f"placed by {_list(node.hashed)}"
    what = kernel_text(node.spec, node.operator)
    return f"{_operator(node)}: {what}, {where}, emits {_carried(node.emitted)}"


@arguments.register
def _(node: PassingLimit) -> str:
    what = "all rows pass" if node.passes else "no row passes"
    count = "counted" if node.rows is None else f"{node.rows} rows"
    return f"{_operator(node)}: {what} ({count})"


@arguments.register
def _(node: CallPython) -> str:
    where = " over partitions" if node.over_partitions else ""
    return f"{_list(node.functions)}, {_list(node.results)}{where}"


@arguments.register
def _(node: CallPythonOnGroups) -> str:
    keys = " and ".join(map(_list, node.keys))
    return f"{_list([node.function])}, {_list(node.results)}, by {keys}"


@arguments.register
def _(node: AsIs) -> str:
    return node.operator.arguments(25) + (", in Spark's order" if node.in_order else "")


def _operator(node: Kernel | PassingLimit) -> str:
    if node.operator is None:
        return "without state"
    info = node.operator.state_info
    name = node.operator.node_name
    return name if info is None else f"{name} {info.operator_id} ({info.num_partitions} stores)"


def _carried(columns: Sequence[Carried]) -> str:
    shown = []
    for column in columns:
        text = expression_text(column.column)
        if column.is_window:
            text += " as its start" if column.size is not None else " as its bounds"
        shown.append(text)
    return f"[{cut(shown, 25)}]"


@singledispatch
def kernel_text(spec: KernelSpec, operator: StateStoreWriter | None) -> str:
    """What a kernel does."""
    return type(spec).__name__


@kernel_text.register
def _(spec: AggregateSpec, operator: StateStoreWriter | None) -> str:
    functions = _list(f.aggregate for f in spec.functions)
    rows = "groups" if spec.sources is None else "rows"
    return f"aggregates {functions} of {rows} by {_list(spec.keys)}, {spec.mode}{_times(operator)}"


@kernel_text.register
def _(spec: SessionSpec, operator: StateStoreWriter | None) -> str:
    functions = _list(f.aggregate for f in spec.functions)
    gap = "" if spec.gap is None else f" of rows of {spec.gap} microseconds each"
    keys = _list(spec.keys)
    return f"merges sessions{gap}, {functions} by {keys}, {spec.mode}{_times(operator)}"


@kernel_text.register
def _(spec: DeduplicateSpec, operator: StateStoreWriter | None) -> str:
    within = "" if spec.within is None else f" within {spec.within} microseconds"
    keys = _list(to_attribute(spec.rows[i]) for i in spec.keys)
    return f"keeps the first row of {keys}{within}{_times(operator)}"


@kernel_text.register
def _(spec: JoinSpec, operator: StateStoreWriter | None) -> str:
    where = "" if spec.condition is None else f" where {expression_text(spec.condition)}"
    assert isinstance(operator, StreamingSymmetricHashJoinExec)
    sides = "; ".join(
        f"{_list(side.columns)}{_late(side, operator)}{_evicts(micros)}"
        for side, micros in zip(spec.sides, evictions_of(operator), strict=True)
    )
    return f"{spec.join_type} join by {_list(spec.keys)}{where} of {sides}"


@kernel_text.register
def _(spec: GroupStateSpec, operator: StateStoreWriter | None) -> str:
    keys, state = _list(to_attribute(spec.rows[i]) for i in spec.keys), spec.state.simple
    timeout = "" if spec.timeout == "NoTimeout" else f", {spec.timeout}"
    called = f"calls {spec.function.function_name} by {keys}"
    return f"{called} with {state}{timeout}{_late(spec, operator)}"


@kernel_text.register
def _(spec: ProcessorSpec, operator: StateStoreWriter | None) -> str:
    keys = _list(to_attribute(spec.rows[i]) for i in spec.keys)
    initial = "" if spec.tag is None else ", with its initial state"
    name = spec.function.function_name
    return f"runs {name} by {keys}, {spec.time_mode}{_late(spec, operator)}{initial}"


@kernel_text.register
def _(spec: LimitSpec, operator: StateStoreWriter | None) -> str:
    return f"at most {spec.limit} rows over the life of the query"


def _late(spec: UserStateSpec | JoinSideSpec, operator: StateStoreWriter | None) -> str:
    late = watermarks_of(operator).late
    return "" if late is None or spec.time is None else f", late at {late}"


def _times(operator: StateStoreWriter | None) -> str:
    times = watermarks_of(operator)
    late = "" if times.late is None else f", late at {times.late}"
    return f"{late}{_evicts(times.evict)}"


def _evicts(micros: int | None) -> str:
    return "" if micros is None else f", evicts at {micros}"
