"""Files with the columns of a store of state, in Spark's three versions."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator

from ..model.errors import DescriptionError
from .stored import StoredSchema

_MOST_PIECES = 1000


def schemas_in(data: bytes, path: str, store: str) -> Iterator[tuple[str, StoredSchema]]:
    """A schema file of version 1 (a text each), 2 (in chunks) or 3 (one schema a column family)."""
    reader = _Java(data)
    try:
        version = reader.utf()
        if version == "v1":
            yield store, _schema(reader.utf(), reader.utf())
        elif version == "v2":
            yield store, _schema(reader.chunks(), reader.chunks())
        elif version == "v3":
            for _ in range(reader.integer()):
                name = reader.utf()
                key, value = reader.numbered(), reader.numbered()
                reader.chunks()  # how keys are encoded
                reader.chunks()  # the type of a map's keys
                yield name, _schema(key, value)
        else:
            raise unreadable(path, f"its version is '{version[:20]}'")
    except (struct.error, ValueError, KeyError, TypeError):
        raise unreadable(path, "it holds no schema") from None


def _schema(key: str, value: str) -> StoredSchema:
    return StoredSchema(tuple(json.loads(key)["fields"]), tuple(json.loads(value)["fields"]))


class _Java:
    """Reads what Java's DataOutputStream wrote."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        """The number of bytes not yet read."""
        return len(self._data) - self._at

    def integer(self, size: int = 4) -> int:
        """A whole number of so many bytes."""
        if self.left < size:
            raise ValueError("it ends early")
        found = int.from_bytes(self._data[self._at : self._at + size], "big", signed=True)
        self._at += size
        return found

    def utf(self) -> str:
        """A text with its length in two bytes before it."""
        (length,) = struct.unpack_from(">H", self._data, self._at)
        start = self._at + 2
        if start + length > len(self._data):
            raise ValueError("it ends early")
        self._at = start + length
        return self._data[start : self._at].decode("utf-8", "surrogatepass")

    def chunks(self) -> str:
        """A long text in pieces."""
        return "".join(self.utf() for _ in range(self.integer()))

    def numbered(self) -> str:
        """A long text with, in later versions, the schema's number in two bytes before it."""
        (pieces,) = struct.unpack_from(">I", self._data, self._at)
        if not 0 < pieces < _MOST_PIECES:  # what was read as their number begins with another one
            self._at += 2
        return self.chunks()


def unreadable(path: str, reason: str) -> DescriptionError:
    return DescriptionError.of("STATEPLAN_CHECKPOINT_UNREADABLE", path=path, reason=reason)
