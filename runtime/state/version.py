"""Versions of an operator's state: which runs make it up, in one checksummed file a version."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow.fs as pafs

from .rows import Int32, Mask

FORMAT = 1
_RUN = re.compile(r"r\d{10}-.*\.arrow")


class StateError(Exception):
    """State cannot be read or written; `condition` names why, the text names the file."""

    def __init__(self, condition: str, message: str) -> None:
        super().__init__(f"[{condition}] {message}")
        self.condition = condition
        self.message = message


def file_system(location: str) -> tuple[Any, str]:
    """The file system of a path or URI, local files mapped into memory, and the path on it."""
    if "://" in location or location.startswith("file:"):
        system, path = pafs.FileSystem.from_uri(location)
        if not isinstance(system, pafs.LocalFileSystem):
            return system, path
        location = path
    return pafs.LocalFileSystem(use_mmap=True), location


@dataclass(frozen=True)
class RunInfo:
    """One immutable run of state rows, sorted by hash.

    Attributes:
        file: its name in the operator's directory.
        sequence: the version that wrote it; a key's newest run holds all its rows.
        rows, size: row count, and bytes of the file.
        tasks, task: it holds stores `s` with `s % tasks == task`.
        stores: which of these are still read from here; None: all of them.
        low, high: the least and the greatest event time in it, microseconds.
        evicted: rows with an event time at or below it are gone.
    """

    file: str
    sequence: int
    rows: int
    size: int
    tasks: int
    task: int
    low: int
    high: int
    evicted: int | None = None
    stores: tuple[int, ...] | None = None

    @property
    def empty(self) -> bool:
        """Whether the watermark has passed every row."""
        return self.evicted is not None and self.high <= self.evicted

    def owned(self, places: Int32, stores: int, tasks: int, task: int) -> Mask:
        """Which rows, by their place, a task of `tasks` reads from this run."""
        store = np.mod(places.astype(np.int64), stores)
        mine: Mask = (store % tasks) == task
        if self.stores is not None:
            mine &= np.isin(store, np.array(self.stores, dtype=np.int64))
        return mine

    def serves(self, stores: int, tasks: int, task: int) -> bool:
        """Whether any store of that task is read from this run."""
        return any(s % tasks == task for s in self.remaining(stores))

    def wholly(self, tasks: int, task: int) -> bool:
        """Whether the run holds exactly the stores of that task."""
        return self.stores is None and (self.tasks, self.task) == (tasks, task)

    def remaining(self, stores: int) -> tuple[int, ...]:
        """The stores that are read from this run."""
        if self.stores is not None:
            return self.stores
        return tuple(range(self.task, stores, self.tasks))

    def without(self, stores: int, tasks: int, task: int) -> RunInfo | None:
        """The run once a task has taken its stores out of it; None when nothing is left."""
        left = tuple(s for s in self.remaining(stores) if s % tasks != task)
        return replace(self, stores=left) if left else None


@dataclass(frozen=True)
class Writes:
    """What one task wrote in one batch."""

    tasks: int
    task: int
    written: tuple[RunInfo, ...] = ()
    absorbed: tuple[str, ...] = ()


@dataclass(frozen=True)
class StateVersion:
    """One version of one operator's state.

    Attributes:
        version: 0 is the empty state before the first batch.
        stores: the number of logical stores.
        schema: the key and value types as text, to refuse another query's state.
        total: how many rows the state holds.
        runs: newest first.
        dropped: files no longer in use, with the version that stopped using them.
    """

    version: int
    stores: int
    schema: str = ""
    total: int = 0
    runs: tuple[RunInfo, ...] = ()
    dropped: tuple[tuple[str, int], ...] = ()
    extra: Mapping[str, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of all its runs."""
        return sum(run.size for run in self.runs)

    def runs_for(self, tasks: int, task: int) -> tuple[RunInfo, ...]:
        """The runs that a task has to read, newest first."""
        return tuple(run for run in self.runs if run.serves(self.stores, tasks, task))

    def next(
        self, writes: Iterable[Writes], *, schema: str, added: int, evicted: int | None
    ) -> StateVersion:
        """The version after a batch in which the tasks wrote this.

        Args:
            writes: one per task.
            schema: the key and value types as text.
            added: by how much the number of rows grew.
            evicted: up to which event time this batch evicted, None if it does not evict.
        """
        runs = {run.file: run for run in self.runs}
        new: list[RunInfo] = []
        for one in writes:
            new.extend(one.written)
            for file in one.absorbed:
                left = runs[file].without(self.stores, one.tasks, one.task)
                if left is None:
                    del runs[file]
                else:
                    runs[file] = left
        kept = [run for run in (_evict(r, evicted) for r in runs.values()) if not run.empty]
        gone = {run.file for run in self.runs} - {run.file for run in kept}
        return StateVersion(
            version=self.version + 1,
            stores=self.stores,
            schema=schema,
            total=self.total + added,
            runs=tuple(sorted(new + kept, key=lambda r: (-r.sequence, r.task))),
            dropped=self.dropped + tuple((file, self.version + 1) for file in sorted(gone)),
        )


def _evict(run: RunInfo, evicted: int | None) -> RunInfo:
    if evicted is None or (run.evicted is not None and run.evicted >= evicted):
        return run
    return replace(run, evicted=evicted)


# ----------------------------------------------------------------------------------------- files


def manifest_name(version: int) -> str:
    """The file of a version in the operator's directory."""
    return f"v{version:010d}.json"


def load_version(location: str, version: int, stores: int) -> StateVersion:
    """Read a version of the state in a directory; version 0 needs no file.

    Raises:
        StateError: the version is missing, truncated or does not match its checksum.
    """
    if version == 0:
        return StateVersion(0, stores)
    system, root = file_system(location)
    path = f"{root}/{manifest_name(version)}"
    try:
        with system.open_input_stream(path) as stream:
            text = stream.read().decode()
    except FileNotFoundError:
        raise StateError(
            "CANNOT_LOAD_STATE_STORE.CANNOT_READ_MISSING_STATE_FILE",
            f"Version {version} of the state is missing: there is no file {path}.",
        ) from None
    except (OSError, UnicodeDecodeError) as problem:
        raise _corrupt(path, str(problem)) from problem
    return _parse(path, text, version)


def _parse(path: str, text: str, version: int) -> StateVersion:
    body, _, check = text.rstrip("\n").rpartition("\n")
    if check != f"crc32 {zlib.crc32(body.encode()):08x}":
        raise _corrupt(path, "its checksum does not match its content")
    data = json.loads(body)
    if data["format"] != FORMAT or data["version"] != version:
        raise _corrupt(path, f"it holds version {data['version']} in format {data['format']}")
    runs = tuple(
        RunInfo(**{**run, "stores": None if run["stores"] is None else tuple(run["stores"])})
        for run in data["runs"]
    )
    dropped = tuple((file, gone) for file, gone in data["dropped"])
    return StateVersion(
        version, data["stores"], data["schema"], data["total"], runs, dropped, data["extra"]
    )


def _corrupt(path: str, why: str) -> StateError:
    return StateError("STATEPLAN_CORRUPT_STATE", f"The state file {path} cannot be used: {why}.")


def save_version(location: str, version: StateVersion, attempt: str, retain: int) -> None:
    """Make a version visible, whole or not at all, then delete what is too old to be read again.

    Raises:
        StateError: the file cannot be written.
    """
    system, root = file_system(location)
    due = {file for file, gone in version.dropped if gone <= version.version - retain}
    version = replace(version, dropped=tuple(d for d in version.dropped if d[0] not in due))
    body = json.dumps({"format": FORMAT, **asdict(version)}, separators=(",", ":"))
    text = f"{body}\ncrc32 {zlib.crc32(body.encode()):08x}\n"
    path = f"{root}/{manifest_name(version.version)}"
    scratch = f"{root}/.{manifest_name(version.version)}.{attempt}"
    try:
        system.create_dir(root, recursive=True)
        with system.open_output_stream(scratch) as stream:
            stream.write(text.encode())
        system.move(scratch, path)
    except OSError as problem:
        raise StateError(
            "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT",
            f"Version {version.version} of the state cannot be written to {path}: {problem}.",
        ) from problem
    old = manifest_name(version.version - retain) if version.version > retain else None
    delete_files(location, [*due, *([old] if old else [])])


def delete_files(location: str, files: Iterable[str]) -> None:
    """Delete files of a directory; what is missing or cannot be deleted is left."""
    system, root = file_system(location)
    for file in files:
        try:
            system.delete_file(f"{root}/{file}")
        except OSError:
            continue


def delete_attempt(location: str, attempt: str) -> None:
    """Delete whatever an attempt wrote that no version names; never raises."""
    system, root = file_system(location)
    try:
        files = system.get_file_info(pafs.FileSelector(root, allow_not_found=True))
    except OSError:
        return
    delete_files(location, [f.base_name for f in files if attempt in f.base_name])


def delete_orphans(location: str, version: StateVersion) -> None:
    """Delete runs that no version up to this one names: what failed attempts left; never raises."""
    system, root = file_system(location)
    try:
        files = system.get_file_info(pafs.FileSelector(root, allow_not_found=True))
    except OSError:
        return
    used = {run.file for run in version.runs} | {file for file, _ in version.dropped}
    names = {f.base_name for f in files if _RUN.fullmatch(f.base_name)}
    delete_files(location, [n for n in names - used if int(n[1:11]) <= version.version])
