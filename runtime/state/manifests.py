"""Versions of an operator's state as files: one checksummed manifest a version, and cleaning up."""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from collections.abc import Iterable
from dataclasses import replace

from .errors import StateError, cannot_read, cannot_write
from .locations import located
from .storage import Location, Place
from .version import RunInfo, StateVersion, manifest_name

FORMAT = 2
_OURS = re.compile(r"(?:r|v)(\d{10})-.*\.(?:arrow|json)")


def load_version(
    location: Place, version: int, stores: int, attempt: str | None = None
) -> StateVersion:
    """Read a version of the state in a directory; version 0 needs no file.

    Args:
        location: the operator's directory.
        version: the number of the version.
        stores: the store count, for version 0.
        attempt: who made it, as the commit of batch `version - 1` says; None: the only one there.

    Raises:
        StateError: the version is missing, truncated or does not match its checksum, or several
            attempts made it and none is named.
    """
    if version == 0:
        return StateVersion(0, stores)
    root = located(location)
    path = root / manifest_name(version, attempt or _only_attempt(root, version))
    try:
        text = path.read().decode()
    except FileNotFoundError:
        raise _missing(version, path) from None
    except OSError as problem:
        raise cannot_read(path, problem) from problem
    except UnicodeDecodeError as problem:
        raise _corrupt(path, str(problem)) from problem
    return _parse(path, text, version)


def _only_attempt(root: Location, version: int) -> str:
    start = manifest_name(version, "").removesuffix(".json")
    found = [n for n in root.names() if n.startswith(start) and n.endswith(".json")]
    if not found:
        raise _missing(version, root / f"{start}*.json")
    if len(found) > 1:
        raise StateError(
            "STATEPLAN_CORRUPT_STATE",
            f"Version {version} of the state in {root} was written by {len(found)} attempts, and "
            "the checkpoint's commit does not say which of them counts.",
        )
    return found[0].removeprefix(start).removesuffix(".json")


def _missing(version: int, path: Location) -> StateError:
    return StateError(
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_MISSING_STATE_FILE",
        f"Version {version} of the state is missing: there is no file {path}.",
    )


def _parse(path: Location, text: str, version: int) -> StateVersion:
    body, _, check = text.rstrip("\n").rpartition("\n")
    if check != f"crc32 {zlib.crc32(body.encode()):08x}":
        raise _corrupt(path, "its checksum does not match its content")
    data = json.loads(body)
    if data.pop("format") != FORMAT or data["version"] != version:
        raise _corrupt(path, f"it holds version {data['version']} in another format")
    data["runs"] = tuple(
        RunInfo(**{**run, "taken": tuple((tasks, task) for tasks, task in run["taken"])})
        for run in data["runs"]
    )
    data["dropped"] = tuple((file, gone) for file, gone in data["dropped"])
    return StateVersion(**data)


def _corrupt(path: Location, why: str) -> StateError:
    return StateError("STATEPLAN_CORRUPT_STATE", f"The state file {path} cannot be used: {why}.")


def save_version(location: Place, version: StateVersion, attempt: str, retain: int) -> None:
    """Write an attempt's version, durable with the names of all runs in the directory.

    It counts once the checkpoint's commit names the attempt. Nothing is deleted: a restart may
    still need what the version no longer uses.

    Args:
        location: the operator's directory.
        version: the version.
        attempt: who makes it; no other attempt at any batch has the name.
        retain: how many versions are kept; files that fall out are no longer listed.

    Raises:
        StateError: the file cannot be written.
    """
    root = located(location)
    due = version.due(retain)
    dropped = tuple(d for d in version.dropped if d[0] not in due)
    version = replace(version, dropped=dropped, attempt=attempt)
    fields = {**vars(version), "runs": [vars(run) for run in version.runs]}
    body = json.dumps({"format": FORMAT, **fields}, separators=(",", ":"))
    text = f"{body}\ncrc32 {zlib.crc32(body.encode()):08x}\n"
    path = root / manifest_name(version.version, attempt)
    try:
        path.put(text.encode())
    except OSError as problem:
        raise cannot_write(f"Version {version.version} of the state", path, problem) from problem


def delete_files(location: Place, files: Iterable[str]) -> None:
    """Delete files of a directory; what is missing or cannot be deleted is left."""
    root = located(location)
    for file in files:
        with contextlib.suppress(OSError):
            (root / file).delete()


def delete_attempt(location: Place, attempt: str) -> None:
    """Delete whatever an attempt wrote that was not committed; never raises."""
    root = located(location)
    with contextlib.suppress(OSError):
        delete_files(root, [name for name in root.names() if attempt in name])


def delete_orphans(location: Place, version: StateVersion) -> None:
    """Delete what failed attempts left, as seen from a committed version; never raises.

    Runs and manifests of no later version that neither it nor a kept one before it uses.
    """
    root = located(location)
    used = {run.file for run in version.runs} | {file for file, _ in version.dropped}
    used.add(manifest_name(version.version, version.attempt))
    with contextlib.suppress(OSError):
        found = [match for match in map(_OURS.fullmatch, root.names()) if match]
        old = [m[0] for m in found if int(m[1]) <= version.version and m[0] not in used]
        delete_files(root, old)
