"""Files of checkpoints and logs: written whole or not at all, never over another one."""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..planner.model.errors import RuntimeFailure
from .state.locations import located, uri_path
from .state.storage import Location, Place

AnyPath = Path | Location
FILE_SYSTEM_HINT = (
    "Mend the file system (space, rights, connection) and start the query again: it goes on from "
    "the last commit."
)

# Hadoop's checksum side files: "crc" and a zero byte, the chunk size, one CRC-32 per chunk.
_CRC_MAGIC = b"crc\x00"
_CRC_CHUNK = 512


def local_path(location: str, what: str) -> Path:
    """The absolute local path of `/a/b`, `a/b`, `file:/a/b` or `file:///a/b`.

    Args:
        location: as the user wrote it.
        what: names the thing in the error: `the checkpoint`.

    Raises:
        RuntimeFailure: the location is on another file system.
    """
    parts = urlsplit(location)
    if not parts.scheme or len(parts.scheme) == 1:
        return Path(os.path.abspath(location))
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        raise RuntimeFailure(
            "STATEPLAN_FILE_SYSTEM_NOT_SUPPORTED",
            f"{what[0].upper()}{what[1:]} is at '{location}', which is not a local file system.",
            hint="Use a path of a local or mounted file system that all workers see.",
        )
    return Path(os.path.abspath(unquote(parts.path)))


def file_uri(path: Path | str) -> str:
    """`file:///a/b%20c`, as Spark's file logs write a local path."""
    return f"file://{uri_path(str(path))}"


def location_of(place: Place, what: str) -> Location:
    """Where a path or URI leads, on any file system.

    Args:
        place: as the user wrote it.
        what: names the thing in the error: `the checkpoint`.

    Raises:
        RuntimeFailure: no file system is known for the URI.
    """
    try:
        return located(place)
    except ValueError as problem:
        raise RuntimeFailure(
            "STATEPLAN_FILE_SYSTEM_NOT_SUPPORTED",
            f"{what[0].upper()}{what[1:]} is at '{place}', on a file system that is not known or "
            f"not reached: {problem}.",
            hint="Use a path, a URI that pyarrow.fs knows (s3, gs, abfss, hdfs), or register the "
            "scheme with register_file_system.",
        ) from None


def checksum_path(path: Place) -> Location:
    """Where Hadoop's local file system keeps a file's checksums: `.name.crc` beside it."""
    location = located(path)
    return location.with_name(f".{location.name}.crc")


def checksums(data: bytes) -> bytes:
    """The content of the checksum file for this content."""
    chunks = (data[i : i + _CRC_CHUNK] for i in range(0, len(data), _CRC_CHUNK))
    return b"".join(
        (
            _CRC_MAGIC,
            struct.pack(">I", _CRC_CHUNK),
            *(struct.pack(">I", zlib.crc32(c)) for c in chunks),
        )
    )


def write_new(path: Place, data: bytes) -> None:
    """Write a file that does not exist yet, whole or not at all, with its checksum file.

    Raises:
        FileExistsError: the file is there already; it is left as it is.
        RuntimeFailure: it cannot be written.
    """
    location = located(path)
    with _writing(location):
        location.create(data)
        # After the file: a crash in between leaves a file without checksums, which readers accept,
        # and a loser of a race never touches the winner's.
        _write_checksums(location, data)


def link_new(file: Path, path: Place, data: bytes) -> None:
    """Let a file on a local disk that holds this have a second name, with a checksum file.

    Raises:
        FileExistsError: there is something under that name, which is left as it is; or somebody
            has taken the file away.
        RuntimeFailure: the file system fails.
    """
    location = located(path)
    with _writing(location):
        try:
            location.storage.link(str(file), location.path)
        except FileNotFoundError as problem:
            raise FileExistsError(f"'{file}' was taken away") from problem
        _write_checksums(location, data)


def replace(path: Place, data: bytes) -> None:
    """Write a file in the place of another one, whole or not at all, with its checksum file.

    Raises:
        RuntimeFailure: it cannot be written.
    """
    location = located(path)
    with _writing(location):
        if location.storage.local:  # the old checksums must not meet the new content
            checksum_path(location).delete()
        location.put(data)
        _write_checksums(location, data)
        # Of two drivers at once: checksums of one never stay beside the content of the other.
        if location.storage.local and location.read() != data:
            checksum_path(location).delete()


def remove(path: Place) -> None:
    """Remove a file and its checksum file, if they are there."""
    location = located(path)
    with _writing(location):
        if location.storage.local:
            checksum_path(location).delete()
        location.delete()


def read_whole(path: Place) -> bytes:
    """Read a file, comparing it with its checksum file where there is one.

    Raises:
        FileNotFoundError: there is no such file.
        RuntimeFailure: the content is not what was written, or cannot be read.
    """
    location = located(path)
    try:
        data = location.read()
        expected = checksum_path(location).read() if location.storage.local else b""
    except FileNotFoundError as problem:
        if problem.filename is None or not str(problem.filename).endswith(".crc"):
            raise
        return data
    except OSError as problem:
        raise not_usable(location, "read", problem) from problem
    # Checksums that a loss of power cut short say nothing.
    if expected.startswith(_CRC_MAGIC) and not checksums(data).startswith(expected):
        raise corrupt(location, "its content does not match its checksum")
    return data


def corrupt(path: Place, why: str) -> RuntimeFailure:
    """The error for a checkpoint or log file that cannot be used."""
    return RuntimeFailure(
        "STATEPLAN_CHECKPOINT_CORRUPT",
        f"The checkpoint file '{path}' is corrupt: {why}.",
        hint="Restore the file from a copy, or start with a new checkpoint directory.",
    )


def not_usable(path: Place, what: str, problem: OSError) -> RuntimeFailure:
    """The error for a file system that fails under a checkpoint; `what`: written, read."""
    return RuntimeFailure(
        "STATEPLAN_FILE_SYSTEM_FAILED",
        f"The file '{path}' cannot be {what}: {problem.strerror or problem}.",
        hint=FILE_SYSTEM_HINT,
    )


def _write_checksums(location: Location, data: bytes) -> None:
    if location.storage.local:
        # Not durable: readers pass over an empty one, and one that is missing.
        checksum_path(location).put(checksums(data), durable=False)


@contextlib.contextmanager
def failing(place: Place) -> Iterator[None]:
    """What a file system reports becomes an error for people."""
    try:
        yield
    except OSError as problem:
        path = problem.filename or str(place)
        raise not_usable(path, "used", problem) from problem


@contextlib.contextmanager
def _writing(location: Location) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise
    except OSError as problem:
        raise not_usable(problem.filename or location, "written", problem) from problem
