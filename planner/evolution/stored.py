"""What a checkpoint says of the query that wrote it, without a row of its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from ..model.frozen import dataclass
from ..model.settings.pinned import PROVIDER

Field = dict[str, Any]
"""A column in Spark's schema JSON: name, type, nullable, metadata."""


@dataclass(frozen=True)
class StoredSchema:
    """The columns of one store's keys and values."""

    key: tuple[Field, ...]
    value: tuple[Field, ...]


@dataclass(frozen=True)
class StoredOperator:
    """One stateful operator.

    Attributes:
        id: its id.
        name: Spark's name for it; None where an old Spark wrote no metadata.
        stores: by store (or column family) name.
        partitions: the number of stores.
        properties: what else Spark keeps of it, such as the time mode of a processor.
    """

    id: int
    name: str | None
    stores: Mapping[str, StoredSchema]
    partitions: int | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StoredSource:
    """One source, by its place among the query's or, where sources are named, by its name.

    Attributes:
        key: the place or the name.
        end: where the last planned batch ends, as the offset log has it; None: nothing read.
        start: where that batch starts.
        directories: the directories of the files in its log; those of other sources have none.
    """

    key: str
    end: str | None
    start: str | None
    directories: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StoredCheckpoint:
    """A checkpoint.

    Attributes:
        place: the directory, for messages.
        last_batch: the last planned batch; None before the first.
        committed: the last batch that is done.
        conf: the settings that it pins.
        sources: in the order of the offset log.
        named: whether the offset log has the sources by name.
        operators: by id.
        has_state: whether there is any directory of state.
        document: what our runtime stored of the query.
        names: the ids of its stateful operators by the user's names, if it knows them by these.
    """

    place: str
    last_batch: int | None
    committed: int | None
    conf: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[StoredSource, ...] = ()
    named: bool = False
    operators: Mapping[int, StoredOperator] = field(default_factory=dict)
    has_state: bool = False
    document: Mapping[str, Any] | None = None
    names: Mapping[str, int] | None = None

    @property
    def by_stateplan(self) -> bool:
        """Whether our runtime wrote it."""
        return self.conf.get(PROVIDER, "").startswith("stateplan")


def shape(value: Any) -> Any:
    """A type of schema JSON without names, nullability and metadata."""
    match value:
        case {"type": "struct", "fields": list(fields)}:
            return ["struct", [shape(f["type"]) for f in fields]]
        case {"type": "array", "elementType": element}:
            return ["array", shape(element)]
        case {"type": "map", "keyType": key, "valueType": item}:
            return ["map", shape(key), shape(item)]
        case _:
            return value


_WIDER = {
    "integer": ("long", "float", "double"),
    "byte": ("short", "integer", "long", "float", "double"),
    "short": ("byte", "integer", "long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("binary",),
    "binary": ("string",),
}
"""What Avro reads of each type beside itself, by Spark's names."""


def reads(old: Sequence[Field], new: Sequence[Field]) -> bool:
    """Whether values that were written as Avro can be read with other columns: these go by name."""
    before = {f["name"]: f["type"] for f in old}
    return all(f["name"] not in before or _reads(before[f["name"]], f["type"]) for f in new)


def _reads(old: Any, new: Any) -> bool:
    match old, new:
        case {"type": "struct", "fields": list(before)}, {"type": "struct", "fields": list(after)}:
            return reads(before, after)
        case {"type": "array", "elementType": before}, {"type": "array", "elementType": after}:
            return _reads(before, after)
        case {"type": "map", "valueType": before}, {"type": "map", "valueType": after}:
            return _reads(before, after)
        case str(), str():
            return old == new or new in _WIDER.get(old, ())
        case _:
            return False
