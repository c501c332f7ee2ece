"""The state of a join of two streams, between Spark's four stores and our parts.

Spark keeps, for each side, how many rows a key has, and the rows by key and number. We keep the
rows of a side as they travel: a column that is a key once, a window as its bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...physical.streaming_join import StreamingSymmetricHashJoinExec
from ...planner.model.errors import RuntimeFailure
from ...planner.model.schemas.types import StructType
from ..kernels.columns.floats import normalised
from ..kernels.hashes.rows import places_and_hashes
from ..kernels.joins.join import JoinKernel
from ..kernels.kernel import event_times
from ..plan.carried import Carried
from ..plan.joins import JoinedStream, joined_stream
from ..plan.specs import JoinSideSpec, JoinSpec
from ..state import NEVER, Keys, StateRows, first_rows
from ..state.marks import flags
from ..state.rows import Int64, columns_of, never, ranges
from ..state.sorting import stable_order
from .operators import (
    Parts,
    RunningState,
    StoreRows,
    Stores,
    fit,
    give_state,
    state_rows,
    take_state,
)
from .unsafe_reading import stored_type

NUMBERS, ROWS = "keyToNumValues", "keyWithIndexToValue"
SIDES = ("left", "right")


@take_state.register
def _(operator: StreamingSymmetricHashJoinExec, state: RunningState, stores: Stores) -> Parts:
    assert isinstance(state.kernel, JoinKernel)
    found: dict[str, StateRows] = {}
    for side in _sides(operator, state):
        flagged = side.name in state.kernel.flagged
        rows = stores[f"{side.name}-{ROWS}"]
        if flagged and len(rows.values) == len(side.columns):
            raise _without_matches()
        made = _taken(side, state, rows, flagged=flagged)
        if flagged and state.kernel.semi:
            # Rows of a left semi join that have come out take no part any more.
            made = made.take(~made.values.column(len(made.values.schema) - 1).to_numpy(False))
        found[side.name] = made
    return found


@dataclass(frozen=True)
class _Side:
    """A side of a join.

    Attributes:
        name: left or right.
        spec: what the kernel knows of it.
        keys: how the keys travel.
        columns: how its columns travel.
        sources: where the state has the parts of each: `k0`, `v1`.
        places: where these stand in a row as it travels.
    """

    name: str
    spec: JoinSideSpec
    keys: Sequence[Carried]
    columns: Sequence[Carried]
    sources: Sequence[Sequence[str]]
    places: Sequence[int]


def _sides(operator: StreamingSymmetricHashJoinExec, state: RunningState) -> Iterator[_Side]:
    spec = state.node.spec
    assert isinstance(spec, JoinSpec)
    joined: JoinedStream = joined_stream(operator)
    for name, own, side in zip(SIDES, spec.sides, joined.sides, strict=True):
        columns = [column for column, _ in side.sources]
        sources = [parts for _, parts in side.sources]
        yield _Side(name, own, joined.keys, columns, sources, side.places)


def _taken(side: _Side, state: RunningState, rows: StoreRows, *, flagged: bool) -> StateRows:
    width = len(side.keys)
    key_parts = [p for k, c in zip(side.keys, rows.keys, strict=False) for p in _split(k, c)]
    parts = [list(_split(k, c)) for k, c in zip(side.columns, rows.values, strict=False)]
    travelling = dict(enumerate(key_parts, 1))
    travelling |= dict(zip(side.places, (p for one in parts for p in one), strict=True))
    kept: dict[int, Any] = {}
    for names, own in zip(side.sources, parts, strict=True):
        for name, part in zip(names, own, strict=True):
            if name[0] == "v":
                kept[int(name[1:])] = part
            else:
                key_parts[int(name[1:])] = part  # it has its own zeros; a key's are all one
    places, hashes = places_and_hashes(list(rows.keys[:width]), rows.count)
    schema = state.kernel.layouts[side.name].keys
    fitted = [fit(part, field.type) for part, field in zip(key_parts, schema, strict=True)]
    keys = Keys(hashes, places, columns_of(fitted, schema, rows.count))
    values = [kept[i] for i in sorted(kept)]
    if flagged:
        matched = rows.values[-1].to_numpy(zero_copy_only=False)
        info = state.operator.state_info
        assert info is not None
        values += flags(info.version, matched)
    return state_rows(state, keys, _times(side.spec, travelling, rows.count), values, side.name)


def _times(spec: JoinSideSpec, travelling: dict[int, Any], count: int) -> Int64:
    """When rows leave the state."""
    if spec.kept_time is None:
        return never(count)
    times = event_times(travelling[spec.kept_time.place])
    return np.where(times == NEVER, NEVER, times + spec.kept_time.later)


def _split(column: Carried, values: Any) -> Iterator[Any]:
    if not column.is_window:
        yield values
        return
    yield from values.flatten()[: len(column.parts)]


def _whole(column: Carried, parts: Sequence[Any]) -> Any:
    """The column of which these are the parts."""
    kind = stored_type(column.column.data_type)
    if not column.is_window:
        return fit(parts[0], kind)
    start = parts[0]
    end = parts[1] if column.size is None else pc.add(start.cast(pa.int64()), column.size)
    bounds = [bound.cast(kind.field(i).type) for i, bound in enumerate((start, end))]
    return pa.StructArray.from_arrays(bounds, fields=list(kind))


@give_state.register
def _(operator: StreamingSymmetricHashJoinExec, state: RunningState, parts: Parts) -> Stores:
    assert isinstance(state.kernel, JoinKernel)
    schemas = {store.name: store for store in operator.state_stores}
    found: dict[str, StoreRows] = {}
    for side in _sides(operator, state):
        rows = parts[side.name]
        keys = _given_keys(side, rows, schemas[f"{side.name}-{NUMBERS}"].key)
        leaders = first_rows(rows.keys)
        order = stable_order(leaders)
        first, counts = np.unique(leaders, return_counts=True)
        numbers = np.empty(len(rows), np.int64)
        numbers[order] = ranges(counts)
        columns = _given_columns(side, rows)
        matched = pa.repeat(False, len(rows))
        if side.name in state.kernel.flagged:
            matched = rows.values.column(rows.values.num_columns - 1)
        places, at = rows.keys.places, pa.array(first)
        of_keys = [key.take(at) for key in keys]
        found[f"{side.name}-{NUMBERS}"] = StoreRows(
            of_keys, [pa.array(counts.astype(np.int64))], len(first), places[first]
        )
        found[f"{side.name}-{ROWS}"] = StoreRows(
            [*keys, pa.array(numbers)], [*columns, matched], len(rows), places
        )
    return found


def _given_keys(side: _Side, rows: StateRows, schema: StructType) -> list[Any]:
    parts, found = list(rows.keys.columns.columns), []
    for key, field in zip(side.keys, schema.fields, strict=True):
        own, parts = parts[: len(key.parts)], parts[len(key.parts) :]
        found.append(normalised(fit(_whole(key, own), stored_type(field.data_type))))
    return found


def _given_columns(side: _Side, rows: StateRows) -> list[Any]:
    batches = {"k": rows.keys.columns, "v": rows.values}
    return [
        _whole(column, [batches[name[0]].column(int(name[1:])) for name in names])
        for column, names in zip(side.columns, side.sources, strict=True)
    ]


def _without_matches() -> RuntimeFailure:
    return RuntimeFailure(
        "STATEPLAN_STATE_NOT_CONVERTED",
        "The state of the join is of Spark's format 1, which does not say which rows have had a "
        "match.",
        hint="Start the query with a new checkpoint.",
    )
