"""The rows of `transformWithState` in Spark's column families, from our state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from ...physical.python_state import TransformWithStateInPySparkExec
from ...physical.state import Family, StateVariable, families_of, timers_prefix
from ...planner.model.schemas.schema_json import type_from_json
from ...planner.model.schemas.types import StructType
from ..kernels.user_state.processor import ProcessorKernel
from ..kernels.user_state.variables import Variable
from ..state import StateRows
from ..state.parts import TIMERS
from .operators import Parts, RunningState, StoreRows, fit, key_columns
from .unsafe_reading import stored_type
from .unsafe_writing import write_rows

# ------------------------------------------------------------------------------------------- rows


def families(operator: TransformWithStateInPySparkExec, kernel: ProcessorKernel) -> list[Family]:
    """The column families of a processor's variables and timers."""
    declared = (
        StateVariable(
            name=v.name,
            kind=v.kind,
            value=_type(v.value),
            user_key=_type(v.key) if v.key else None,
            expires=v.ttl_ms is not None,
        )
        for v in kernel.variables
    )
    return list(families_of(declared, operator.state_key_schema, kernel.time_mode))


def family_rows(state: RunningState, parts: Parts) -> Mapping[str, StoreRows]:
    """The rows of column families by name, from our state by part."""
    operator, kernel = state.operator, state.kernel
    assert isinstance(operator, TransformWithStateInPySparkExec)
    assert isinstance(kernel, ProcessorKernel)
    found: dict[str, StoreRows] = {}
    for variable in kernel.variables:
        found |= _rows_of_variable(variable, operator.state_key_schema, parts[variable.part])
    if TIMERS in kernel.layouts:
        rows, prefix = parts[TIMERS], timers_prefix(kernel.time_mode)
        key, times = (
            _struct(key_columns(rows.keys, operator.state_key_schema)),
            rows.values.column(0),
        )
        nothing, places = [pa.nulls(len(rows))], rows.keys.places
        by_key = StoreRows([key, times], nothing, len(rows), places)
        found[f"{prefix}keyToTimestamp"] = by_key
        found[f"{prefix}timestampToKey"] = StoreRows([times, key], nothing, len(rows), places)
    return found


def _rows_of_variable(
    variable: Variable, schema: StructType, rows: StateRows
) -> dict[str, StoreRows]:
    name, places = variable.name, rows.keys.places
    keys = key_columns(rows.keys, schema)
    columns = list(rows.values.columns)
    expiries = columns.pop() if variable.ttl_ms is not None else None
    value = fit(columns.pop(), stored_type(_type(variable.value)))
    entry = keys
    if variable.kind == "map":
        entry = [_struct(keys), fit(columns.pop(), stored_type(_type(variable.key)))]
    values = value.flatten() if expiries is None else [value, expiries]
    found = {name: StoreRows(entry, values, len(rows), places)}
    nothing = [pa.nulls(len(rows))]
    if variable.kind != "list":
        if expiries is not None:
            expiring = [expiries, _struct(entry)]
            found[f"$ttl_{name}"] = StoreRows(expiring, nothing, len(rows), places)
        return found
    # A list has no row of its own: its key has one for each of its elements.
    written = pa.array(write_rows(keys, schema, len(rows)), pa.binary())
    lists = written.dictionary_encode().indices.to_numpy()
    first = np.unique(lists, return_index=True)[1].astype(np.int64)
    keys = [column.take(pa.array(first)) for column in keys]
    count, places = len(first), places[first]
    lengths = pa.array(np.bincount(lists, minlength=count), pa.int64())
    if expiries is None:
        found[f"$rowCounter_{name}"] = StoreRows(keys, [lengths], count, places)
        return found
    # Spark keeps one time for a list: that of the element that expires first.
    least = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(least, lists, expiries.to_numpy())
    times = pa.array(least)
    found[f"$ttl_{name}"] = StoreRows([times, _struct(keys)], [pa.nulls(count)], count, places)
    found[f"$min_{name}"] = StoreRows(keys, [times], count, places)
    found[f"$count_{name}"] = StoreRows(keys, [lengths], count, places)
    return found


def _type(text: str) -> StructType:
    found = type_from_json(json.loads(text))
    assert isinstance(found, StructType)
    return found


def _struct(columns: list[Any]) -> Any:
    fields = [pa.field(f"f{i}", column.type) for i, column in enumerate(columns)]
    return pa.StructArray.from_arrays(columns, fields=fields)
