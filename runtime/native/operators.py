"""The state of each stateful operator: from the rows of Spark's stores to those of ours, and back.

Spark keeps a key and a value per row, in one store an operator and partition (a join in four); we
keep keys with their hashes, event times and values, by parts. What they mean is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import pyarrow as pa

from ...physical.plan import StateStoreWriter
from ...physical.python_state import FlatMapGroupsInPandasWithStateExec
from ...physical.stateful import (
    BaseStreamingDeduplicateExec,
    SessionWindowStateStoreSaveExec,
    StateStoreSaveExec,
    StreamingDeduplicateWithinWatermarkExec,
    StreamingGlobalLimitExec,
)
from ...planner.model.errors import RuntimeFailure
from ...planner.model.schemas.types import StructType
from ..kernels.columns.floats import normalised
from ..kernels.columns.nested import rebuilt
from ..kernels.hashes.rows import places_and_hashes
from ..kernels.kernel import Kernel, event_times
from ..kernels.user_state.group_state import times_of_timeouts
from ..plan.nodes import Kernel as KernelNode
from ..plan.specs import AggregateSpec, DeduplicateSpec, SessionSpec
from ..state import Keys, StateRows
from ..state.rows import Int32, columns_of, never
from .buffers import given_buffers, taken_buffers
from .unsafe_reading import stored_type

DEFAULT = "default"
"""The name of an operator's only store."""


@dataclass(frozen=True)
class StoreRows:
    """Rows of one of Spark's stores, all partitions together.

    Attributes:
        keys, values: the columns of keys and values, in the Arrow types of `stored_type`.
        count: how many rows there are.
        places: per row Spark's `hash` of what places it; None: all rows are in partition 0.
    """

    keys: Sequence[Any]
    values: Sequence[Any]
    count: int
    places: Int32 | None = None


@dataclass(frozen=True)
class RunningState:
    """A stateful operator with what runs it.

    Attributes:
        operator: the physical operator, as the next batch has it.
        node: its node in the runtime plan.
        kernel: its kernel.
    """

    operator: StateStoreWriter
    node: KernelNode
    kernel: Kernel


Stores = Mapping[str, StoreRows]
Parts = Mapping[str, StateRows]


@singledispatch
def take_state(operator: StateStoreWriter, state: RunningState, stores: Stores) -> Parts:
    """Our state of an operator, by part, from the rows of Spark's stores by name.

    Raises:
        RuntimeFailure: the operator's state, or one of its columns, is not converted.
    """
    raise _not_converted(operator)


@singledispatch
def give_state(operator: StateStoreWriter, state: RunningState, parts: Parts) -> Stores:
    """The rows of Spark's stores by name, from our state by part; see `take_state`."""
    raise _not_converted(operator)


def check_converted(operator: StateStoreWriter) -> None:
    """Refuse an operator whose state is not converted.

    Raises:
        RuntimeFailure: it is one.
    """
    if take_state.dispatch(type(operator)) is take_state.dispatch(object):
        raise _not_converted(operator)


def _not_converted(operator: StateStoreWriter) -> RuntimeFailure:
    return RuntimeFailure(
        "STATEPLAN_STATE_NOT_CONVERTED",
        f"State of the operator {operator.operator_name} is not converted between Spark and "
        "stateplan.",
        hint="Start the query with a new checkpoint.",
    )


# ---------------------------------------------------------------------------------- aggregations


@take_state.register
def _(operator: StateStoreSaveExec, state: RunningState, stores: Stores) -> Parts:
    spec, rows = state.node.spec, stores[DEFAULT]
    assert isinstance(spec, AggregateSpec)
    keys = keys_of(rows.keys, state.kernel.layouts[""].keys, rows.count)
    buffers = rows.values[-_width(spec) :] if _width(spec) else []
    values = taken_buffers(spec.functions, buffers)
    times = never(rows.count) if spec.time is None else event_times(keys.columns[spec.time])
    return {"": state_rows(state, keys, times, values)}


def _width(spec: AggregateSpec | SessionSpec) -> int:
    """How many columns Spark's buffers are."""
    return sum(len(function.forms.plan_buffers) for function in spec.functions)


@give_state.register
def _(operator: StateStoreSaveExec, state: RunningState, parts: Parts) -> Stores:
    spec, rows = state.node.spec, parts[""]
    assert isinstance(spec, AggregateSpec)
    keys = key_columns(rows.keys, operator.state_key_schema)
    values = given_buffers(spec.functions, rows.values.columns)
    if operator.state_format_version == 1:
        values = [*keys, *values]
    places = rows.keys.places if keys else None
    return {DEFAULT: StoreRows(keys, values, len(rows), places)}


@take_state.register
def _(operator: SessionWindowStateStoreSaveExec, state: RunningState, stores: Stores) -> Parts:
    spec, rows = state.node.spec, stores[DEFAULT]
    assert isinstance(spec, SessionSpec)
    keys = keys_of(rows.keys[:-1], state.kernel.layouts[""].keys, rows.count)
    ids = [column.expr_id for column in operator.child.output]
    session = rows.values[ids.index(operator.session.expr_id)]
    bounds = [bound.cast(pa.int64()) for bound in session.flatten()]
    buffers = rows.values[len(rows.values) - _width(spec) :]
    values = [*bounds, *taken_buffers(spec.functions, buffers)]
    return {"": state_rows(state, keys, event_times(bounds[1]), values)}


@give_state.register
def _(operator: SessionWindowStateStoreSaveExec, state: RunningState, parts: Parts) -> Stores:
    spec, rows = state.node.spec, parts[""]
    assert isinstance(spec, SessionSpec)
    keys = key_columns(rows.keys, operator.state_key_schema)
    kind = stored_type(operator.session.data_type)
    start, end, *own = rows.values.columns
    bounds = [c.cast(kind.field(i).type) for i, c in enumerate((start, end))]
    session = pa.StructArray.from_arrays(bounds, fields=list(kind))
    columns = {k.expr_id: c for k, c in zip(operator.keys, keys, strict=True)}
    columns[operator.session.expr_id] = session
    grouping = [columns[a.expr_id] for a in operator.child.output if a.expr_id in columns]
    values = [*grouping, *given_buffers(spec.functions, own)]
    return {DEFAULT: StoreRows([*keys, bounds[0]], values, len(rows), rows.keys.places)}


# ---------------------------------------------------------------------- deduplication and limits


@take_state.register
def _(operator: BaseStreamingDeduplicateExec, state: RunningState, stores: Stores) -> Parts:
    spec, rows = state.node.spec, stores[DEFAULT]
    assert isinstance(spec, DeduplicateSpec)
    keys = keys_of(rows.keys, state.kernel.layouts[""].keys, rows.count)
    times = never(rows.count)
    if spec.within is not None:
        times = rows.values[0].to_numpy()
    elif spec.time in spec.keys:
        times = event_times(keys.columns[spec.keys.index(spec.time)])
    return {"": state_rows(state, keys, times, [])}


@give_state.register
def _(operator: BaseStreamingDeduplicateExec, state: RunningState, parts: Parts) -> Stores:
    rows = parts[""]
    keys = key_columns(rows.keys, operator.state_key_schema)
    within = isinstance(operator, StreamingDeduplicateWithinWatermarkExec)
    value = pa.array(rows.times) if within else pa.nulls(len(rows))
    return {DEFAULT: StoreRows(keys, [value], len(rows), rows.keys.places)}


@take_state.register
def _(operator: StreamingGlobalLimitExec, state: RunningState, stores: Stores) -> Parts:
    rows = stores[DEFAULT]
    nothing = columns_of([], pa.schema([]), rows.count)
    keys = Keys(np.zeros(rows.count, np.int64), np.zeros(rows.count, np.int32), nothing)
    return {"": state_rows(state, keys, never(rows.count), list(rows.values))}


@give_state.register
def _(operator: StreamingGlobalLimitExec, state: RunningState, parts: Parts) -> Stores:
    rows = parts[""]
    return {DEFAULT: StoreRows([pa.nulls(len(rows))], rows.values.columns, len(rows))}


# ------------------------------------------------------------------------------- one state a key


@take_state.register
def _(operator: FlatMapGroupsInPandasWithStateExec, state: RunningState, stores: Stores) -> Parts:
    _check_one_column(operator)
    rows = stores[DEFAULT]
    keys = keys_of(rows.keys, state.kernel.layouts[""].keys, rows.count)
    times = never(rows.count)
    if operator.timeout != "NoTimeout":
        times = times_of_timeouts(rows.values[1].to_numpy())
    return {"": state_rows(state, keys, times, rows.values)}


@give_state.register
def _(operator: FlatMapGroupsInPandasWithStateExec, state: RunningState, parts: Parts) -> Stores:
    _check_one_column(operator)
    rows = parts[""]
    kinds = [stored_type(field.data_type) for field in operator.state_value_schema.fields]
    values = [fit(c, kind) for c, kind in zip(rows.values.columns, kinds, strict=True)]
    keys = key_columns(rows.keys, operator.state_key_schema)
    return {DEFAULT: StoreRows(keys, values, len(rows), rows.keys.places)}


def _check_one_column(operator: FlatMapGroupsInPandasWithStateExec) -> None:
    """In format 1 the state is no column of its own: nobody can know whether there is one."""
    if operator.state_format_version < 2:
        raise _not_converted(operator)


# ----------------------------------------------------------------------------------------- columns


def keys_of(columns: Sequence[Any], schema: Any, count: int) -> Keys:
    """Keys of some columns with their hashes; without columns those of the group of all rows."""
    if not columns:
        empty = columns_of([], schema, count)
        return Keys(np.zeros(count, np.int64), np.zeros(count, np.int32), empty)
    places, hashes = places_and_hashes(columns, count)
    fitted = [fit(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return Keys(hashes, places, columns_of(fitted, schema, count))


def key_columns(keys: Keys, schema: StructType) -> list[Any]:
    """The columns of keys as Spark has them: one zero and one NaN, for they are found by bytes."""
    kinds = [stored_type(field.data_type) for field in schema.fields]
    return [normalised(fit(c, kind)) for c, kind in zip(keys.columns.columns, kinds, strict=False)]


def state_rows(
    state: RunningState, keys: Keys, times: Any, values: Sequence[Any], part: str = ""
) -> StateRows:
    """Rows of a part of the state, the values under its types."""
    schema = state.kernel.layouts[part].values
    fitted = [fit(column, field.type) for column, field in zip(values, schema, strict=True)]
    return StateRows(keys, times, columns_of(fitted, schema, len(keys)))


def fit(column: Any, kind: Any) -> Any:
    """A column under a type that differs in names of fields, zones or nullability alone."""
    if column.type == kind:
        return column
    return rebuilt(column, kind, fit) if pa.types.is_nested(kind) else column.cast(kind)
