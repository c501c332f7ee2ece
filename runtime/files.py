"""Files of checkpoints and logs: written whole or not at all, never over another one."""

from __future__ import annotations

import errno
import os
import struct
import uuid
import zlib
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..planner.model.errors import RuntimeFailure

# Hadoop's checksum side files: "crc" and a zero byte, the chunk size, one CRC-32 per chunk.
_CRC_MAGIC = b"crc\x00"
_CRC_CHUNK = 512
# What java.net.URI leaves as it is in a path; all other ASCII is percent-encoded.
_URI_SAFE = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@/"
)


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
    return "file://" + "".join(
        c if c in _URI_SAFE or ord(c) > 127 else "".join(f"%{b:02X}" for b in c.encode())
        for c in str(path)
    )


def checksum_path(path: Path) -> Path:
    """Where Hadoop's local file system keeps a file's checksums: `.name.crc` beside it."""
    return path.with_name(f".{path.name}.crc")


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


def write_new(path: Path, data: bytes) -> None:
    """Write a file that does not exist yet, whole or not at all, with its checksum file.

    Raises:
        FileExistsError: the file is there already; it is left as it is.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = _stage(path, data)
    try:
        _link(staged, path)
    finally:
        staged.unlink(missing_ok=True)
    # After the file: a crash in between leaves a file without checksums, which readers accept,
    # and a loser of a race never touches the winner's.
    _stage(checksum_path(path), checksums(data)).replace(checksum_path(path))
    _sync_directory(path.parent)


def remove(path: Path) -> None:
    """Remove a file and its checksum file, if they are there."""
    checksum_path(path).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def read_whole(path: Path) -> bytes:
    """Read a file, comparing it with its checksum file where there is one.

    Raises:
        FileNotFoundError: there is no such file.
        RuntimeFailure: the content is not what was written.
    """
    data = path.read_bytes()
    try:
        expected = checksum_path(path).read_bytes()
    except FileNotFoundError:
        return data
    if expected.startswith(_CRC_MAGIC) and expected != checksums(data):
        raise corrupt(path, "its content does not match its checksum")
    return data


def corrupt(path: Path, why: str) -> RuntimeFailure:
    """The error for a checkpoint or log file that cannot be used."""
    return RuntimeFailure(
        "STATEPLAN_CHECKPOINT_CORRUPT",
        f"The checkpoint file '{path}' is corrupt: {why}.",
        hint="Restore the file from a copy, or start with a new checkpoint directory.",
    )


def _stage(path: Path, data: bytes) -> Path:
    staged = path.with_name(f".{path.name.lstrip('.')}.{uuid.uuid4()}.tmp")
    with open(staged, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return staged


def _link(staged: Path, path: Path) -> None:
    try:
        os.link(staged, path)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
        # A file system without hard links: not safe against a second query at the same instant.
        if path.exists():
            raise FileExistsError(errno.EEXIST, "exists", str(path)) from None
        os.rename(staged, path)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
