"""The state of `transformWithState` as Spark keeps it: column families of RocksDB.

A variable has a family of its own, and some that Spark keeps for itself: how many elements a list
has, and by which time what expires. Timers are there twice, by key and by time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...physical.python_state import TransformWithStateInPySparkExec
from ...planner.model.schemas.schema_json import type_from_json
from ...planner.model.schemas.types import LONG, NULL, StructField, StructType
from ..kernels.user_state.processor import ProcessorKernel
from ..kernels.user_state.variables import Variable
from ..state import StateRows
from ..state.parts import TIMERS
from .operators import Parts, RunningState, StoreRows, fit, key_columns
from .rocksdb_files import KeyForm
from .unsafe_reading import stored_type
from .unsafe_writing import write_rows

_TTL_MS = StructField("ttlExpirationMs", LONG)
_COUNT = StructType((StructField("count", LONG),))
_EXPIRATION = StructField("expirationMs", LONG)
_EXPIRY = StructField("expiryTimestampMs", LONG, False)
_NOTHING = StructType((StructField("__empty__", NULL),))
_DUMMY = StructType((StructField("__dummy__", NULL),))
_PLAIN, _BY_KEY, _BY_TIME = KeyForm(), KeyForm(prefix=1), KeyForm(prefix=1, ranged=True)


@dataclass(frozen=True, kw_only=True)
class Family:
    """A column family.

    Attributes:
        name: its name; those of Spark's own begin with `$`.
        key, value: what its rows hold.
        form: how its keys stand in the store.
        merged: whether a key may have several values, one behind the other.
        user_key: what the keys of a map hold.
    """

    name: str
    key: StructType
    value: StructType
    form: KeyForm = _PLAIN
    merged: bool = False
    user_key: StructType | None = None


def families_of(operator: TransformWithStateInPySparkExec, kernel: ProcessorKernel) -> list[Family]:
    """The column families of a processor's variables and timers."""
    key = operator.state_key_schema
    return [
        *(family for v in kernel.variables for family in _of_variable(v, key)),
        *(_of_timers(kernel.time_mode, key) if TIMERS in kernel.layouts else ()),
    ]


def _of_variable(variable: Variable, key: StructType) -> Iterator[Family]:
    name, value, user_key, entry = variable.name, _type(variable.value), None, key
    form = _PLAIN
    if variable.ttl_ms is not None:
        value = StructType((StructField("value", value), _TTL_MS))
    if variable.kind == "map":
        user_key, form = _type(variable.key), _BY_KEY
        entry = StructType((StructField("key", key), StructField("userKey", user_key)))
    yield Family(
        name=name,
        key=entry,
        value=value,
        form=form,
        merged=variable.kind == "list",
        user_key=user_key,
    )
    if variable.kind == "list":
        yield Family(name=f"$rowCounter_{name}", key=key, value=_COUNT)
    if variable.ttl_ms is not None:
        expiring = StructType((_EXPIRATION, StructField("elementKey", entry)))
        yield Family(name=f"$ttl_{name}", key=expiring, value=_NOTHING, form=_BY_TIME)
        if variable.kind == "list":
            yield Family(name=f"$min_{name}", key=key, value=StructType((_EXPIRATION,)))
            yield Family(name=f"$count_{name}", key=key, value=_COUNT)


def timers_prefix(time_mode: str) -> str:
    """How the names of the families of timers begin."""
    return f"${'proc' if time_mode == 'ProcessingTime' else 'event'}Timers_"


def _of_timers(time_mode: str, key: StructType) -> Iterator[Family]:
    prefix, own = timers_prefix(time_mode), StructField("key", key)
    by_key, by_time = StructType((own, _EXPIRY)), StructType((_EXPIRY, own))
    yield Family(name=f"{prefix}keyToTimestamp", key=by_key, value=_DUMMY, form=_BY_KEY)
    yield Family(name=f"{prefix}timestampToKey", key=by_time, value=_DUMMY, form=_BY_TIME)


# ------------------------------------------------------------------------------------------- rows


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
    values = _parts(value) if expiries is None else [value, expiries]
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


def _parts(structs: Any) -> list[Any]:
    return [pc.struct_field(structs, [i]) for i in range(structs.type.num_fields)]
