"""What Delta's source and sink share: a table, and the actions of its log, through delta-rs."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..planner.model.errors import RuntimeFailure
from ..planner.model.schemas.schema_json import type_from_json
from ..planner.model.schemas.types import StructType
from .files import local_path


def client() -> Any:
    """The module `deltalake`.

    Raises:
        RuntimeFailure: it is not installed.
    """
    try:
        import deltalake
    except ImportError:
        raise RuntimeFailure(
            "STATEPLAN_PACKAGE_MISSING",
            "Delta tables need the package 'deltalake', which is not installed here.",
            hint="Install it: pip install 'stateplan[delta]'.",
        ) from None
    return deltalake


def table_uri(path: str) -> str:
    """Where a table is: a local path, or a URI that delta-rs knows."""
    if "://" in path and not path.startswith("file:"):
        return path
    return str(local_path(path, "the table"))


def opened(uri: str, version: int | None = None) -> Any:
    """A `DeltaTable`, as it is now or was at a version.

    Raises:
        RuntimeFailure: there is none, or not this version any more.
    """
    package = client()
    from deltalake.exceptions import DeltaError

    try:
        return package.DeltaTable(uri, version=version)
    except DeltaError as problem:
        what = "" if version is None else f" of version {version}"
        raise RuntimeFailure(
            "DELTA_TABLE_NOT_FOUND" if version is None else "DELTA_VERSION_NOT_FOUND",
            f"There is no Delta table{what} at '{uri}': {str(problem).splitlines()[0]}",
            hint="Check the path; a version goes when the table's log is cleaned up.",
        ) from None


@dataclass(frozen=True, kw_only=True)
class AddedFile:
    """A file that a version adds.

    Attributes:
        path: relative to the table, or a URI, as the log has it.
        partition: the values of partition columns, as text.
        size: in bytes.
        modified_ms: when it was written.
        rows: how many rows it has, where its statistics say so.
        deletes: whether some of its rows are deleted by a vector beside it.
    """

    path: str
    partition: Mapping[str, str | None]
    size: int
    modified_ms: int
    rows: int | None
    deletes: bool

    @classmethod
    def of(cls, action: Mapping[str, Any]) -> AddedFile:
        """That of the log's action `add`."""
        statistics = json.loads(action.get("stats") or "{}")
        return cls(
            path=unquote(action["path"]),
            partition=action.get("partitionValues") or {},
            size=int(action.get("size") or 0),
            modified_ms=int(action.get("modificationTime") or 0),
            rows=statistics.get("numRecords"),
            deletes=action.get("deletionVector") is not None,
        )


@dataclass(frozen=True, kw_only=True)
class Version:
    """What a version changes.

    Attributes:
        added: files with new data; those that were only rewritten are none.
        removed: a file whose data is gone, if there is one.
        metadata: the table's, where the version changes it.
        time_ms: when it was committed; 0: it does not say.
    """

    added: Sequence[AddedFile] = ()
    removed: str | None = None
    metadata: Mapping[str, Any] | None = None
    time_ms: int = 0


class DeltaLog:
    """The log of a table, version by version; what was read is kept.

    Args:
        uri: where the table is.
    """

    def __init__(self, uri: str) -> None:
        import pyarrow.fs as pa_fs

        client()
        from deltalake.fs import DeltaStorageHandler

        self.uri = uri
        self._files = pa_fs.PyFileSystem(DeltaStorageHandler(uri))
        self._versions: dict[int, Version | None] = {}

    def latest(self) -> int:
        """The table's version now."""
        return int(opened(self.uri).version())

    def earliest(self) -> int:
        """The oldest version whose changes are there."""
        import pyarrow.fs as pa_fs

        found = self._files.get_file_info(pa_fs.FileSelector("_delta_log"))
        names = (Path(file.path).name for file in found)
        numbers = [int(name[:20]) for name in names if name[20:] == ".json" and name[:20].isdigit()]
        return min(numbers, default=0)

    def version(self, number: int) -> Version | None:
        """What a version changes; None: its file is gone."""
        if number not in self._versions:
            try:
                with self._files.open_input_stream(f"_delta_log/{number:020}.json") as stream:
                    self._versions[number] = _version(stream.read())
            except FileNotFoundError:
                return None
        return self._versions[number]

    def forget(self, before: int) -> None:
        """Forget versions that are not asked for again."""
        self._versions = {n: one for n, one in self._versions.items() if n >= before}

    def snapshot(self, number: int) -> list[AddedFile]:
        """All files of the table at a version, in the order in which Delta's own source has them.

        Raises:
            RuntimeFailure: the version is not there any more.
        """
        import pyarrow as pa

        table = opened(self.uri, number)
        actions = pa.table(table.get_add_actions(flatten=False)).to_pylist()
        with_vectors = {
            unquote(str(one.get("filepath", one.get("path", "")))).rsplit("/", 1)[-1]
            for one in _rows(table.deletion_vectors())
        }
        found = [_of_snapshot(action, with_vectors) for action in actions]
        return sorted(found, key=lambda file: (file.modified_ms, file.path))


def _rows(found: Any) -> list[Any]:
    import pyarrow as pa

    return pa.table(found).to_pylist() if hasattr(found, "__arrow_c_stream__") else list(found)


def _of_snapshot(action: Mapping[str, Any], with_vectors: set[str]) -> AddedFile:
    path = unquote(str(action["path"]))
    modified = action.get("modification_time") or 0
    return AddedFile(
        path=path,
        partition={k: _text(v) for k, v in (action.get("partition") or {}).items()},
        size=int(action.get("size_bytes") or 0),
        modified_ms=modified if isinstance(modified, int) else int(modified.timestamp() * 1000),
        rows=action.get("num_records"),
        deletes=path.rsplit("/", 1)[-1] in with_vectors,
    )


def _text(value: object) -> str | None:
    """A partition's value as the log writes it."""
    if value is None:
        return None
    if isinstance(value, dt.datetime):
        plain = value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
        return plain.isoformat(sep=" ")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _version(content: bytes) -> Version:
    actions = [json.loads(line) for line in content.decode().splitlines() if line.strip()]

    def of(kind: str) -> list[Any]:
        return [action[kind] for action in actions if action.get(kind) is not None]

    changes = [one for one in of("remove") if one.get("dataChange", True)]
    information: dict[str, Any] = next(iter(of("commitInfo")), {})
    return Version(
        added=[AddedFile.of(one) for one in of("add") if one.get("dataChange", True)],
        removed=unquote(changes[0]["path"]) if changes else None,
        metadata=next(iter(of("metaData")), None),
        time_ms=int(information.get("inCommitTimestamp") or information.get("timestamp") or 0),
    )


def schema_of(uri: str) -> StructType:
    """A table's columns now.

    Raises:
        RuntimeFailure: there is no table.
    """
    return read_schema(opened(uri).schema().to_json())


def read_schema(text: str) -> StructType:
    """The columns of the log's schema in JSON."""
    found = type_from_json(json.loads(text))
    assert isinstance(found, StructType)
    return found
