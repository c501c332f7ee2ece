"""The log of an output directory: which files readers are to see (Spark's `_spark_metadata`)."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from .compactible_log import CompactibleLog, Entry
from .files import corrupt, file_uri
from .listing import FoundFile, is_glob, list_files
from .state.storage import Location

SINK_LOG = "_spark_metadata"
_BLOCK_SIZE = 32 * 1024 * 1024


def output_log(directory: Path) -> CompactibleLog:
    """The log of an output directory."""
    return CompactibleLog(directory / SINK_LOG)


def visible_files(directory: Path) -> list[FoundFile]:
    """The files of an output directory that are part of committed batches, oldest batch first.

    Raises:
        RuntimeFailure: the log is corrupt.
    """
    log = output_log(directory)
    latest = log.latest()
    if latest is None:
        return []
    files: dict[str, FoundFile] = {}
    for entry in log.entries_up_to(latest):
        file = _from_entry(entry, log.directory / str(latest))
        if entry.get("action") == "delete":
            files.pop(file.path, None)
        else:
            files[file.path] = file
    return list(files.values())


def found_files(
    location: str, *, recursive: bool = False, name_glob: str | None = None
) -> list[FoundFile]:
    """The files below a location (`list_files`); of an output directory those its log has.

    Raises:
        RuntimeFailure: the log is corrupt.
    """
    if not is_glob(location) and (Path(location) / SINK_LOG).is_dir():
        return visible_files(Path(location))
    return list_files(location, recursive=recursive, name_glob=name_glob)


def entry_of(path: Path, place: Path) -> Entry:
    """The log's entry for a file that is going to be at another place."""
    status = path.stat()
    return {
        "path": file_uri(place),
        "size": status.st_size,
        "isDir": False,
        "modificationTime": status.st_mtime_ns // 1_000_000,
        "blockReplication": 1,
        "blockSize": _BLOCK_SIZE,
        "action": "add",
    }


def _from_entry(entry: Entry, log_file: Location) -> FoundFile:
    path, size, modified = entry.get("path"), entry.get("size"), entry.get("modificationTime")
    if not isinstance(path, str) or not isinstance(size, int) or not isinstance(modified, int):
        raise corrupt(log_file, "an entry lacks its path, size or time")
    return FoundFile(path=unquote(urlsplit(path).path), modified_ms=modified, size=size)
