"""Names and types of an operator's state, beside Spark's files of its checkpoint.

`state/<operator>/_metadata/columns` says what each stored column is, under the names of Spark's
state schema. Where our buffers differ from Spark's (lists instead of serialised objects, one
column of registers instead of fifty numbers) the types are our own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...physical.plan import StateStoreWriter
from ...physical.python_state import (
    FlatMapGroupsInPandasWithStateExec,
    TransformWithStateInPySparkExec,
)
from ...physical.stateful import (
    BaseStreamingDeduplicateExec,
    SessionWindowStateStoreSaveExec,
    StateStoreSaveExec,
    StreamingGlobalLimitExec,
)
from ...physical.streaming_join import StreamingSymmetricHashJoinExec
from ...planner.model.errors import StateplanError
from ...planner.model.schemas.ddl import parse_type
from ...planner.model.schemas.types import (
    BOOLEAN,
    LONG,
    NULL,
    STRING,
    DataType,
    StructField,
    StructType,
    as_nullable,
)
from ...planner.model.text.spark_sql import type_sql
from ..arrow_types import arrow_type
from ..engines.user_state import declared_by
from ..failures import cannot_run
from ..plan.aggregation import partial_of
from ..plan.carried import Carried, carrier
from ..plan.joins import joined_stream
from ..plan.specs import functions_of
from ..state.parts import TIMERS
from ..state.scan import EVENT_TIME, OF_PART, PARTITION, SIDE, Part, ShownColumn

FORMAT = 1


@dataclass(frozen=True)
class StateColumn:
    """A column of an operator's state.

    Attributes:
        part: whether it is a part of the key or of the value.
        name: its name, unlike those of all others in key and value.
        data_type: its type.
        source: see `ShownColumn`.
    """

    part: Part
    name: str
    data_type: DataType
    source: str

    @property
    def shown(self) -> ShownColumn:
        """The column in Arrow: intervals of months are numbers there."""
        return ShownColumn(self.part, self.name, arrow_type(carrier(self.data_type)), self.source)


def columns_of(operator: StateStoreWriter) -> tuple[StateColumn, ...]:
    """What the rows of an operator's state hold, as its kernel lays them out."""
    return tuple(unique_columns(_columns(operator)))


def _columns(operator: StateStoreWriter) -> Iterator[StateColumn]:
    key, value = operator.state_key_schema.fields, operator.state_value_schema.fields
    match operator:
        case StateStoreSaveExec():
            yield from _numbered("key", key)
            yield from _numbered("value", _buffers(operator))
        case SessionWindowStateStoreSaveExec():
            yield from _numbered("key", key[:-1])
            yield StateColumn("key", key[-1].name, key[-1].data_type, "v0")
            window = operator.session
            yield StateColumn("value", window.name, window.data_type, "v0:v1")
            yield from _numbered("value", _buffers(operator), first=2)
        case BaseStreamingDeduplicateExec():
            yield from _numbered("key", key)
            for field in value:
                source = "" if field.data_type == NULL else "time"
                yield StateColumn("value", field.name, field.data_type, source)
        case StreamingSymmetricHashJoinExec():
            yield from _joined(operator)
        case FlatMapGroupsInPandasWithStateExec():
            yield from _numbered("key", key)
            state = StructType(
                tuple(StructField(f.name, f.data_type) for f in operator.state_type.fields)
            )
            yield StateColumn("value", "groupState", state, "v0")
            if operator.timeout != "NoTimeout":
                yield StateColumn("value", "timeoutTimestamp", LONG, "v1")
        case TransformWithStateInPySparkExec():
            yield StateColumn("key", "variable", STRING, SIDE)
            yield from _numbered("key", key)
            yield from _variables(operator)
        case StreamingGlobalLimitExec():
            yield from (StateColumn("key", f.name, f.data_type, "") for f in key)
            yield from _numbered("value", value)
        case _:
            raise cannot_run(operator.node_name)


def _joined(operator: StreamingSymmetricHashJoinExec) -> Iterator[StateColumn]:
    """The keys of a join, and what is kept of the rows of each side."""
    yield StateColumn("key", "side", STRING, SIDE)
    joined, first = joined_stream(operator), 0
    for i, column in enumerate(joined.keys):
        parts = [f"k{first + n}" for n in range(len(column.parts))]
        kind = operator.left_keys[i].data_type
        yield StateColumn("key", f"field{i}", kind, _source(column, parts))
        first += len(parts)
    for side, name in zip(joined.sides, ("left", "right"), strict=True):
        for column, parts in side.sources:
            source = f"{name}{OF_PART}{_source(column, parts)}"
            kept = column.column
            yield StateColumn("value", kept.name, kept.data_type, source)
        if name in operator.padded_sides:
            source = f"{name}{OF_PART}v{side.kept + 1}"
            yield StateColumn("value", f"{name}_matched", BOOLEAN, source)


def _variables(operator: TransformWithStateInPySparkExec) -> Iterator[StateColumn]:
    """The values of a processor's variables, and its timers."""
    from ...planner.connect.types import read_schema  # whoever has a processor has the client

    for variable in declared_by(operator.function, operator.time_mode).variables.values():
        of_part, place = f"{variable.part}{OF_PART}", 0
        if variable.kind == "map":
            name = f"{variable.name}_key"
            yield StateColumn("value", name, read_schema(variable.key), f"{of_part}v0")
            place = 1
        value = read_schema(variable.value)
        yield StateColumn("value", variable.name, value, f"{of_part}v{place}")
    if operator.time_mode != "NoTime":
        yield StateColumn("value", "expiryTimestampMs", LONG, f"{TIMERS}{OF_PART}v0")


def _buffers(operator: StateStoreWriter) -> list[StructField]:
    functions = functions_of(partial_of(operator))
    return [StructField(b.name, b.data_type) for f in functions for b in f.forms.buffers]


def _source(column: Carried, parts: Sequence[str]) -> str:
    """What a column is made of that is kept in parts."""
    if not column.is_window:
        return parts[0]
    end = parts[0] + f"+{column.size}" if column.size is not None else parts[1]
    return f"{parts[0]}:{end}"


def _numbered(part: Part, fields: Iterable[StructField], first: int = 0) -> Iterator[StateColumn]:
    for i, field in enumerate(fields, first):
        yield StateColumn(part, field.name, field.data_type, f"{part[0]}{i}")


def unique_columns(columns: Iterable[StateColumn]) -> Iterator[StateColumn]:
    """The columns; a name that was there before, in any spelling, gets a number: `count_2`."""
    seen = {PARTITION, EVENT_TIME}
    for column in columns:
        name, number = column.name, 2
        while name.lower() in seen:
            name, number = f"{column.name}_{number}", number + 1
        seen.add(name.lower())
        yield StateColumn(column.part, name, as_nullable(column.data_type), column.source)


def columns_text(columns: Sequence[StateColumn]) -> str:
    """The content of the file."""
    described = [
        {"part": c.part, "name": c.name, "type": type_sql(c.data_type), "source": c.source}
        for c in columns
    ]
    return f"v{FORMAT}\n" + json.dumps(described, ensure_ascii=False, separators=(",", ":"))


def read_columns(text: str) -> tuple[StateColumn, ...]:
    """The columns that a file describes.

    Raises:
        ValueError: it describes none.
    """
    version, _, body = text.partition("\n")
    if version != f"v{FORMAT}":
        raise ValueError(f"it starts with '{version[:20]}' instead of 'v{FORMAT}'")
    try:
        return tuple(
            StateColumn(c["part"], c["name"], parse_type(c["type"]), c["source"])
            for c in json.loads(body)
        )
    except (KeyError, TypeError, StateplanError):
        raise ValueError("it describes no columns") from None
