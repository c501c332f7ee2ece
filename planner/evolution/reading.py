"""Reads a checkpoint's own files: Spark's of 2.4 to 4.3, and our runtime's, which are the same.

Text files and Java's modified UTF only: no row of state, no Arrow, no JVM.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from ..model.errors import DescriptionError
from ..model.frozen import dataclass
from .names import NAMES_FILE, names_from
from .stored import StoredCheckpoint, StoredOperator, StoredSchema, StoredSource

_MOST_PIECES = 1000


def schemas_in(data: bytes, path: str, store: str) -> Iterator[tuple[str, StoredSchema]]:
    """A schema file of version 1 (a text each), 2 (in chunks) or 3 (one schema a column family)."""
    reader = _Java(data)
    try:
        version = reader.utf()
        if version == "v1":
            yield store, _stored_schema(reader.utf(), reader.utf())
        elif version == "v2":
            yield store, _stored_schema(reader.chunks(), reader.chunks())
        elif version == "v3":
            for _ in range(reader.integer()):
                name = reader.utf()
                key, value = reader.numbered(), reader.numbered()
                reader.chunks()  # how keys are encoded
                reader.chunks()  # the type of a map's keys
                yield name, _stored_schema(key, value)
        else:
            raise unreadable(path, f"its version is '{version[:20]}'")
    except (ValueError, KeyError, TypeError):
        raise unreadable(path, "it holds no schema") from None


def _stored_schema(key: str, value: str) -> StoredSchema:
    return StoredSchema(tuple(json.loads(key)["fields"]), tuple(json.loads(value)["fields"]))


class _Java:
    """Reads what Java's DataOutputStream wrote."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def _bytes(self, size: int) -> bytes:
        found = self._data.read(size)
        if len(found) < size:
            raise ValueError("it ends early")
        return found

    def integer(self) -> int:
        """A whole number of four bytes."""
        return int.from_bytes(self._bytes(4), "big", signed=True)

    def utf(self) -> str:
        """A text with its length in two bytes before it."""
        length = int.from_bytes(self._bytes(2), "big")
        return self._bytes(length).decode("utf-8", "surrogatepass")

    def chunks(self) -> str:
        """A long text in pieces."""
        return "".join(self.utf() for _ in range(self.integer()))

    def numbered(self) -> str:
        """A long text with, in later versions, the schema's number in two bytes before it."""
        start = self._data.tell()
        known = 0 < self.integer() < _MOST_PIECES
        # Else what was read as the number of pieces begins with another one.
        self._data.seek(start if known else start + 2)
        return self.chunks()


def unreadable(path: str, reason: str) -> DescriptionError:
    return DescriptionError.of("STATEPLAN_CHECKPOINT_UNREADABLE", path=path, reason=reason)


DOCUMENT = "query.json"
"""The file in which our runtime keeps the plan of the query."""
_LOGS = ("v1", "v2")


class Folder(Protocol):
    """A directory of any file system."""

    def read(self, path: str) -> bytes | None:
        """A file's bytes; None if there is none."""

    def names(self, path: str) -> list[str]:
        """What is in a directory; empty if there is none."""


@dataclass(frozen=True)
class LocalFolder:
    """A directory of this machine."""

    root: Path

    def read(self, path: str) -> bytes | None:
        """See Folder."""
        try:
            return (self.root / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def names(self, path: str) -> list[str]:
        """See Folder."""
        try:
            return sorted(os.listdir(self.root / path))
        except (FileNotFoundError, NotADirectoryError):
            return []


def read_checkpoint(place: str | Path) -> StoredCheckpoint:
    """What the files of a checkpoint directory of this machine say.

    Raises:
        DescriptionError: there is no checkpoint, or a file of it is not usable.
    """
    path = (
        Path(unquote(urlsplit(str(place)).path)) if str(place).startswith("file:") else Path(place)
    )
    if not path.is_dir():
        raise DescriptionError.of("STATEPLAN_NO_CHECKPOINT", place=place)
    try:
        return read_folder(LocalFolder(path), str(place))
    except OSError as error:
        raise unreadable(str(place), error.strerror or "it cannot be read") from None


def read_folder(folder: Folder, place: str) -> StoredCheckpoint:
    """What the files in a directory say.

    Args:
        folder: the checkpoint's directory.
        place: its name, for messages.

    Raises:
        DescriptionError: it is no checkpoint, or a file of it is not usable.
    """
    if folder.read("metadata") is None and not folder.names("offsets"):
        raise unreadable(place, "it has neither 'metadata' nor 'offsets'")
    batches = _batches(folder, "offsets")
    last = max(batches, default=None)
    conf: dict[str, str] = {}
    sources: tuple[StoredSource, ...] = ()
    named = False
    if last is not None:
        conf, ends, named = _offsets(folder, place, last)
        starts: Mapping[str, str | None] = {}
        if last - 1 in batches:
            _, starts, _ = _offsets(folder, place, last - 1)
        sources = tuple(
            StoredSource(key, end, starts.get(key), _directories(folder, key))
            for key, end in ends.items()
        )
    document = folder.read(DOCUMENT)
    committed = max(_batches(folder, "commits"), default=last - 1 if last else None)
    names = _names(folder, place, committed)
    operators = {o.id: o for o in _operators(folder, place)}
    if names is not None:
        operators = {i: o for i, o in operators.items() if i in names.values()}
    return StoredCheckpoint(
        place=place,
        last_batch=last,
        committed=committed,
        conf=conf,
        sources=sources,
        named=named,
        operators=operators,
        names=names,
        has_state=bool([name for name in folder.names("state") if name.isdigit()]),
        document=None if document is None else _json(document, f"{place}/{DOCUMENT}"),
    )


def _names(folder: Folder, place: str, committed: int | None) -> dict[str, int] | None:
    """The ids of named operators; without those that no committed batch has."""
    data = folder.read(NAMES_FILE)
    if data is None:
        return None
    names = names_from(_json(data, f"{place}/{NAMES_FILE}"))
    if names is None:
        raise unreadable(f"{place}/{NAMES_FILE}", "it has another form")
    last = -1 if committed is None else committed
    return {name: one.id for name, one in names.items() if one.since <= last}


def _batches(folder: Folder, log: str) -> set[int]:
    return {int(name) for name in folder.names(log) if name.isdigit()}


def _lines(folder: Folder, place: str, path: str) -> tuple[str, list[str]]:
    """A log file's version, and the lines behind it."""
    data = folder.read(path)
    if data is None:
        raise unreadable(f"{place}/{path}", "it is missing")
    try:
        version, *lines = data.decode().split("\n")
    except UnicodeDecodeError:
        raise unreadable(f"{place}/{path}", "it is no text") from None
    if version not in _LOGS:
        raise unreadable(f"{place}/{path}", f"it starts with '{version[:20]}', not with a version")
    return version, lines


def _offsets(
    folder: Folder, place: str, batch: int
) -> tuple[dict[str, str], dict[str, str | None], bool]:
    """A batch's settings, the ends of its sources, and whether these go by name."""
    path = f"offsets/{batch}"
    version, lines = _lines(folder, place, path)
    if not lines:
        raise unreadable(f"{place}/{path}", "its lines are missing")
    settings = _json(lines[0].encode(), f"{place}/{path}").get("conf", {})
    conf = {str(k): str(v) for k, v in settings.items()}
    if version == "v2":
        return conf, dict(_named_offsets(lines[1:], f"{place}/{path}")), True
    ends = {str(i): None if text == "-" else text for i, text in enumerate(lines[1:])}
    return conf, ends, False


def _named_offsets(lines: list[str], path: str) -> Iterator[tuple[str, str | None]]:
    """Offsets of version 2: each line is a source's name, a colon and its offset."""
    for line in lines:
        if not line:
            continue
        name, colon, offset = line.partition(":")
        if not colon:
            raise unreadable(path, f"'{line[:60]}' names no source")
        yield name, None if offset == "-" else offset


def _directories(folder: Folder, key: str) -> tuple[str, ...]:
    """The directories of the files that a file source has read, latest log entries last."""
    found: dict[str, None] = {}
    log = f"sources/{key}"
    batches = [n for n in folder.names(log) if n.removesuffix(".compact").isdigit()]
    for name in sorted(batches, key=lambda n: int(n.removesuffix(".compact"))):
        data = folder.read(f"{log}/{name}") or b""
        for line in data.decode(errors="replace").split("\n")[1:]:
            try:
                path = json.loads(line)["path"]
            except (ValueError, TypeError, KeyError):
                continue
            found[str(path).rpartition("/")[0]] = None
    return tuple(found)


# ------------------------------------------------------------------------------------- state


def _operators(folder: Folder, place: str) -> Iterator[StoredOperator]:
    for name in folder.names("state"):
        if not name.isdigit():
            continue
        operator, info = int(name), _operator_metadata(folder, place, name)
        stores = dict(_schemas(folder, place, name))
        known = info.get("operatorInfo", {}).get("operatorName") if info else None
        partitions = (
            [s.get("numPartitions") for s in info.get("stateStoreInfo", [])] if info else []
        )
        if info is None and not stores and not folder.names(f"state/{name}"):
            continue
        stores_known = partitions[0] if partitions else None
        properties = _properties(info or {}, f"{place}/state/{name}/_metadata")
        yield StoredOperator(operator, known, stores, stores_known, properties)


def _properties(info: Mapping[str, Any], path: str) -> dict[str, Any]:
    written = info.get("operatorPropertiesJson")
    return _json(str(written).encode(), path) if written else {}


def _operator_metadata(folder: Folder, place: str, operator: str) -> dict[str, Any] | None:
    """The newest description of an operator: one file in version 1, one a batch in version 2."""
    base = f"state/{operator}/_metadata"
    newest = sorted(int(n) for n in folder.names(f"{base}/v2") if n.isdigit())
    path = f"{base}/v2/{newest[-1]}" if newest else f"{base}/metadata"
    if folder.read(path) is None:
        return None
    _, lines = _lines(folder, place, path)
    return _json("\n".join(lines).encode(), f"{place}/{path}")


def _schemas(folder: Folder, place: str, operator: str) -> Iterator[tuple[str, StoredSchema]]:
    """The schemas of an operator's stores: under partition 0, or in version 3 under its state."""
    first = f"state/{operator}/0"
    for path, store in (
        (f"{first}/_metadata/schema", "default"),
        *((f"{first}/{n}/_metadata/schema", n) for n in folder.names(first) if n[0].isalpha()),
    ):
        data = folder.read(path)
        if data is not None:
            yield from schemas_in(data, f"{place}/{path}", store)
    for base in (f"state/{operator}/_stateSchema", f"state/{operator}/_metadata/schema"):
        for store in folder.names(base):
            files = [n for n in folder.names(f"{base}/{store}") if n[0].isdigit()]
            if files:
                newest = sorted(files, key=lambda n: int(n.split("_")[0]))[-1]
                path = f"{base}/{store}/{newest}"
                yield from schemas_in(folder.read(path) or b"", f"{place}/{path}", store)


def _json(data: bytes, path: str) -> dict[str, Any]:
    try:
        content = json.loads(data)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise unreadable(path, "it holds no JSON object")
    return content
