"""What a user calls a place, as a location: on the local disk, or on a file system behind a URI."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from .storage import Location, Place
from .storage_local import LocalStorage
from .storage_remote import RemoteStorage

_registered: dict[str, Any] = {}
_URI_SAFE = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@/"
)
"""What java.net.URI leaves as it is in a path, beside letters that are not ASCII."""


def register_file_system(scheme: str, system: Any) -> None:
    """Let URIs of a scheme name files on this file system, in this process.

    Args:
        scheme: what stands before `://`.
        system: a `pyarrow.fs.FileSystem`, or a `pyarrow.fs.FileSystemHandler` of one's own. It
            travels to the executors, so it must pickle; its paths are what follows `://`.
    """
    _registered[scheme] = file_system_of(system)


def file_system_of(system: Any) -> Any:
    """A file system, also of a handler."""
    return pafs.PyFileSystem(system) if isinstance(system, pafs.FileSystemHandler) else system


def uri_path(path: str) -> str:
    """A path as java.net.URI writes it: `/a/b%20c`."""
    return "".join(c if _stays(c) else "".join(f"%{b:02X}" for b in c.encode()) for c in path)


def _stays(letter: str) -> bool:
    if ord(letter) < 128:
        return letter in _URI_SAFE
    # Neither blanks, nor what separates lines, nor control characters.
    return unicodedata.category(letter) not in ("Zs", "Zl", "Zp", "Cc")


def located(place: Place, system: Any = None) -> Location:
    """The location of `/a/b`, `a/b`, `file:/a/b`, `s3://bucket/b` or another URI.

    Args:
        place: as the user wrote it.
        system: the file system or handler to use, whatever the scheme.

    Raises:
        ValueError: no file system is known for the URI, or it cannot be reached.
    """
    if isinstance(place, Location):
        return place
    text = str(place)
    scheme, separator, rest = text.partition("://")
    if system is None and separator:
        system = _registered.get(scheme)
    if system is not None:
        prefix = f"{scheme}://" if separator else ""
        path = (rest if separator else text).rstrip("/")
        return Location(RemoteStorage(file_system_of(system), prefix), path)
    parts = urlsplit(text)
    if len(parts.scheme) < 2 or isinstance(place, Path):
        return Location(LocalStorage(), os.path.abspath(text))
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return Location(LocalStorage(), os.path.abspath(unquote(parts.path)))
    # Hadoop's name for S3, which people write in Spark.
    known = f"s3://{rest}" if scheme in ("s3a", "s3n") else text
    try:
        system, path = pafs.FileSystem.from_uri(known)
    except (OSError, ValueError, pa.ArrowException) as problem:
        raise ValueError(str(problem)) from None
    return Location(RemoteStorage(system, text[: len(text) - len(path)]), path.rstrip("/"))
