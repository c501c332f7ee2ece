"""What a row of each stateful operator's state means, one fact at a time.

A fact is what the operator depends on, as a value to compare and as words to show: two plans agree
on the state of an operator if they agree on its facts. One handler per operator.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from ...physical.aggregate import AggregationStep
from ...physical.basic import EventTimeWatermarkExec
from ...physical.explain import stateful as stateful  # its handlers of joins
from ...physical.explain.state_facts import Never, NoneLate, eviction, late_rows
from ...physical.join_state import event_time
from ...physical.plan import SparkPlan, StateStoreWriter
from ...physical.python_state import (
    FlatMapGroupsInPandasWithStateExec,
    PythonStatefulExec,
    TransformWithStateInPySparkExec,
)
from ...physical.state import STATE_KINDS, Family, StateStoreSchema, StateVariable, families_of
from ...physical.stateful import (
    BaseStreamingDeduplicateExec,
    SessionWindowStateStoreSaveExec,
    StateStoreSaveExec,
    StreamingDeduplicateWithinWatermarkExec,
    StreamingGlobalLimitExec,
)
from ...physical.streaming_join import StreamingSymmetricHashJoinExec
from ..model.expressions.core import Origin
from ..model.frozen import dataclass
from ..model.text.text import pretty
from .processor_init import variables_of
from .python_code import code_of, mentions
from .relations import Relation, Watermark, relation_of
from .spelling import Symbol
from .stored_meaning import nameless
from .symbols import conjuncts
from .words import columns_text, key_text, rows_text


@dataclass(frozen=True)
class Fact:
    """One thing that the state depends on: its value, and the same in words."""

    value: Any
    text: str


@dataclass(frozen=True, kw_only=True)
class OperatorMeaning:
    """One stateful operator.

    Attributes:
        id: counts from the sink, 0 first.
        name: Spark's name in checkpoints.
        origin: the user's code or SQL that it comes from.
        stores: the columns of its keys and values.
        facts: by name, in the order of their importance.
        evicts: whether the watermark lets rows of state go.
        hears_watermark: whether the watermark decides about its rows or its state.
        event_times: delays of watermarks by the columns that have one, milliseconds; columns of
            the two sides of a join may have one name.
        fixed: settings of it that Spark keeps, and lets no restart change.
        variables: what kind each state variable is of, as Spark calls it.
    """

    id: int
    name: str
    origin: Origin | None
    stores: tuple[StateStoreSchema, ...]
    facts: dict[str, Fact]
    evicts: bool
    hears_watermark: bool
    event_times: dict[str, set[int]]
    fixed: dict[str, str]
    variables: dict[str, str]


def stateful_operators(plan: SparkPlan) -> tuple[OperatorMeaning, ...]:
    """The operators with state, those nearest the sink first."""
    found = []
    marks = _watermarks(plan)
    for writer in plan.collect(StateStoreWriter):
        assert writer.state_info is not None
        hears = hears_watermark(writer)
        facts = meaning(writer)
        if hears:
            facts["watermark"] = marks
        found.append(
            OperatorMeaning(
                id=writer.state_info.operator_id,
                name=writer.operator_name,
                origin=writer.origin or writer.place,
                stores=(*writer.state_stores, *families(writer)),
                facts=facts,
                evicts=evicts(writer),
                hears_watermark=hears,
                event_times=_event_times(writer),
                fixed=fixed(writer),
                variables={v.name: STATE_KINDS[v.kind] for v in variables(writer)},
            )
        )
    return tuple(sorted(found, key=lambda operator: operator.id))


def _event_times(writer: StateStoreWriter) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for column in (c for child in writer.children for c in child.output):
        if column.delay_ms is not None:
            found.setdefault(column.name.lower(), set()).add(column.delay_ms)
    return found


def _watermarks(plan: SparkPlan) -> Fact:
    """The query has one watermark, which all of its event times move."""
    marks: set[Watermark] = set()
    texts: list[str] = []
    for node in plan.collect(EventTimeWatermarkExec):
        marks |= relation_of(node).watermarks
        texts.append(f"{node.event_time.name} with a delay of {node.delay_text}")
    return Fact(frozenset(marks), "; ".join(sorted(texts)) or "none")


@singledispatch
def meaning(writer: StateStoreWriter) -> dict[str, Fact]:
    """The facts of an operator without a handler: everything that its rows are made of."""
    relation = relation_of(writer)
    return {"input": Fact(relation.rows, type(writer).__name__)}


def fixed(writer: StateStoreWriter) -> dict[str, str]:
    """Settings of the operator that Spark keeps, by its names, in the order in which it looks."""
    if not isinstance(writer, TransformWithStateInPySparkExec):
        return {}
    return {"timeMode": writer.time_mode, "outputMode": writer.function_mode.capitalize()}


def variables(writer: StateStoreWriter) -> tuple[StateVariable, ...]:
    """The state variables that a processor of the user's declares, as far as that is known."""
    if not isinstance(writer, TransformWithStateInPySparkExec):
        return ()
    return variables_of(writer.function) or ()


def families(writer: StateStoreWriter) -> tuple[Family, ...]:
    """The column families in which they are."""
    if not isinstance(writer, TransformWithStateInPySparkExec):
        return ()
    return families_of(variables(writer), writer.state_key_schema, writer.time_mode)


@singledispatch
def evicts(writer: StateStoreWriter) -> bool:
    """Whether the watermark lets rows of the operator's state go, or says that they are due."""
    return not isinstance(eviction(writer), Never)


@singledispatch
def hears_watermark(writer: StateStoreWriter) -> bool:
    """Whether the watermark decides about the operator's rows or its state.

    It drops late rows also where it lets no state go.
    """
    return not isinstance(late_rows(writer), NoneLate)


def _input(relation: Relation) -> Fact:
    return Fact(relation.rows, rows_text(relation.rows))


# -------------------------------------------------------------------------------- aggregation


@meaning.register
def _(writer: StateStoreSaveExec) -> dict[str, Fact]:
    below = relation_of(writer.child)
    keys = below.all_of(writer.keys)
    text = ", ".join(map(key_text, keys)) or "nothing: there is one group"
    return {
        "keys": Fact(tuple(map(nameless, keys)), text),
        "aggregates": _buffers(writer, below),
        "input": _input_of_groups(writer),
    }


@meaning.register
def _(writer: SessionWindowStateStoreSaveExec) -> dict[str, Fact]:
    below = relation_of(writer.child)
    keys = below.all_of(writer.keys)
    session = below.of(writer.session)
    return {
        "keys": Fact(tuple(map(nameless, keys)), ", ".join(map(key_text, keys))),
        "session": Fact(session, key_text(session)),
        "aggregates": _buffers(writer, below),
        "input": _input_of_groups(writer),
    }


def _buffers(writer: StateStoreSaveExec | SessionWindowStateStoreSaveExec, below: Relation) -> Fact:
    """The buffer columns by their place, and the functions that they are of."""
    known = {k.expr_id for k in writer.keys}
    if isinstance(writer, SessionWindowStateStoreSaveExec):
        known.add(writer.session.expr_id)
    columns = tuple(a for a in writer.child.output if a.expr_id not in known)
    steps = writer.collect(AggregationStep)
    names = [pretty(a.function) for a in steps[0].aggregates] if steps else []
    buffers = tuple(map(nameless, below.all_of(columns)))
    return Fact(buffers, ", ".join(names) or "none")


def _input_of_groups(writer: StateStoreSaveExec | SessionWindowStateStoreSaveExec) -> Fact:
    """The rows that are grouped, not the groups."""
    base = relation_of(writer.child).base
    assert isinstance(base, tuple) and base[0] == "groups"
    return Fact(base[1], rows_text(base[1]))


# ------------------------------------------------------------------------ deduplication, limit


@meaning.register
def _(writer: BaseStreamingDeduplicateExec) -> dict[str, Fact]:
    below = relation_of(writer.child)
    keys = below.all_of(writer.keys)
    text = ", ".join(map(key_text, keys))
    facts = {"keys": Fact(tuple(map(nameless, keys)), text), "input": _input(below)}
    if isinstance(writer, StreamingDeduplicateWithinWatermarkExec):
        time = event_time(writer.child.output)
        if time is not None:
            facts["event time"] = Fact((below.of(time), time.delay_ms), time.name)
    return facts


@meaning.register
def _(writer: StreamingGlobalLimitExec) -> dict[str, Fact]:
    below = relation_of(writer.child)
    return {"limit": Fact(writer.limit, str(writer.limit)), "input": _input(below)}


# ---------------------------------------------------------------------------------------- join


@meaning.register
def _(writer: StreamingSymmetricHashJoinExec) -> dict[str, Fact]:
    left, right = relation_of(writer.left), relation_of(writer.right)
    parts = writer.parts
    facts = {
        "join type": Fact(writer.join_type, writer.join_type),
        "keys": Fact(
            (left.all_of(writer.left_keys), right.all_of(writer.right_keys)),
            ", ".join(
                f"{key_text(left.of(a))} = {key_text(right.of(b))}"
                for a, b in zip(writer.left_keys, writer.right_keys, strict=True)
            ),
        ),
    }
    limits = writer.state_watermarks(0)
    sides = (
        ("left", left, writer.left, parts.left_only),
        ("right", right, writer.right, parts.right_only),
    )
    for (name, side, plan, own), limit in zip(sides, limits, strict=True):
        stored = side.filters | conjuncts(own, side.columns)
        facts[f"{name} rows"] = Fact((side.base, stored), rows_text((side.base, stored)))
        facts[f"{name} columns"] = Fact(side.outputs(plan), columns_text(plan.output))
        # How far behind the watermark a row is kept; None: for ever.
        kept = None if limit is None else -limit
        facts[f"{name} kept"] = Fact(kept, "for ever" if kept is None else f"{kept} ms")
    both = {**_tagged("first", left), **_tagged("second", right)}
    facts["condition"] = Fact(
        conjuncts(parts.both, both), "none" if parts.both is None else pretty(parts.both)
    )
    return facts


def _tagged(name: str, side: Relation) -> dict[int, Symbol]:
    return {i: (name, inner) for i, inner in side.columns.items()}


@evicts.register
def _(writer: StreamingSymmetricHashJoinExec) -> bool:
    return any(limit is not None for limit in writer.state_watermarks(0))


# ------------------------------------------------------------------------------ Python functions


@meaning.register
def _(writer: PythonStatefulExec) -> dict[str, Fact]:
    child = writer.children[0]
    below = relation_of(child)
    function = writer.function
    facts = {
        "keys": Fact(below.all_of(writer.keys), ", ".join(map(pretty, writer.keys)) or "nothing"),
        "function": Fact(code_of(function), function.function_name),
        "input": _input(below),
        "columns": Fact(below.outputs(child), columns_text(child.output)),
    }
    if isinstance(writer, FlatMapGroupsInPandasWithStateExec):
        facts["timeout"] = Fact(writer.timeout, writer.timeout)
    if isinstance(writer, TransformWithStateInPySparkExec):
        facts["time mode"] = Fact(writer.time_mode, writer.time_mode)
    return facts


@evicts.register
def _(writer: PythonStatefulExec) -> bool:
    """In event time late rows are dropped, and timeouts and timers come with the watermark."""
    return not isinstance(late_rows(writer), NoneLate)


@hears_watermark.register
def _(writer: PythonStatefulExec) -> bool:
    """The watermark reaches a function through its timers, or where its code asks for it."""
    asks = mentions(writer.function, "getCurrentWatermarkMs")
    return evicts(writer) or (asks and event_time(writer.children[0].output) is not None)
