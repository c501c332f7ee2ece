"""Which files of a directory, glob or file path belong to a stream."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_GLOB = re.compile(r"[*?\[{]")


@dataclass(frozen=True, kw_only=True)
class FoundFile:
    """A file: absolute path, modification time in milliseconds since 1970, bytes."""

    path: str
    modified_ms: int
    size: int


def is_glob(location: str) -> bool:
    """Whether Hadoop would read the path as a pattern: `*`, `?`, `[a-c]`, `{a,b}`."""
    return _GLOB.search(location) is not None


def list_files(
    location: str, *, recursive: bool = False, name_glob: str | None = None
) -> list[FoundFile]:
    """The stream's files now, oldest first, then by path.

    As Spark lists them: what a directory holds itself and, where there are partition directories
    (`day=1`), all that lies in these; with `recursive` every file below. Names that start with `_`
    or `.` are hidden, and so is everything in such directories, unless a pattern or the location
    itself names them.

    Args:
        location: an absolute path, or a pattern of such.
        recursive: the option recursiveFileLookup.
        name_glob: the option pathGlobFilter, on the file's name.
    """
    matches = name_pattern(name_glob) if name_glob is not None else None
    found: list[FoundFile] = []
    for root in _roots(location):
        for path in _walk(root, recursive):
            if matches is not None and not matches.fullmatch(os.path.basename(path)):
                continue
            try:
                status = os.stat(path)
            except FileNotFoundError:  # removed since it was listed
                continue
            found.append(
                FoundFile(
                    path=path, modified_ms=status.st_mtime_ns // 1_000_000, size=status.st_size
                )
            )
    return sorted(found, key=lambda file: (file.modified_ms, file.path))


def hidden(name: str) -> bool:
    """Whether Spark passes over a file or directory of this name."""
    return (
        name.startswith(".") or name.endswith("._COPYING_") or (name[:1] == "_" and "=" not in name)
    )


@lru_cache(maxsize=64)
def name_pattern(pattern: str) -> re.Pattern[str]:
    """A Hadoop glob over one name as a regular expression."""
    out, depth, position = "", 0, 0
    while position < len(pattern):
        c = pattern[position]
        position += 1
        if c == "\\" and position < len(pattern):
            out += re.escape(pattern[position])
            position += 1
        elif c == "*":
            out += "[^/]*"
        elif c == "?":
            out += "[^/]"
        elif c == "[" and (end := pattern.find("]", position + 1)) > 0:
            body = pattern[position:end]
            negated = body[0] in "!^"
            out += "[" + ("^" if negated else "") + body[negated:].replace("\\", "\\\\") + "]"
            position = end + 1
        elif c == "{":
            out, depth = out + "(?:", depth + 1
        elif c == "}" and depth:
            out, depth = out + ")", depth - 1
        elif c == "," and depth:
            out += "|"
        else:
            out += re.escape(c)
    return re.compile(out + ")" * depth)


def _roots(location: str) -> list[str]:
    if not is_glob(location):
        return [location] if os.path.exists(location) else []
    return sorted(
        {p for text in _alternatives(location) for p in glob.glob(text, include_hidden=True)}
    )


def _alternatives(text: str) -> list[str]:
    """`a{b,c}d` as `abd`, `acd`: Python's glob knows no braces."""
    found = re.search(r"\{([^{}]*)\}", text)
    if found is None:
        return [text]
    parts = found.group(1).split(",")
    return [
        whole
        for part in parts
        for whole in _alternatives(text[: found.start()] + part + text[found.end() :])
    ]


def _walk(root: str, recursive: bool) -> Iterator[str]:
    if not os.path.isdir(root):
        if not hidden(os.path.basename(root)):
            yield root
        return
    try:
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    for entry in entries:
        if hidden(entry.name):
            continue
        if not entry.is_dir():
            yield entry.path
        elif recursive or "=" in entry.name:
            yield from _walk(entry.path, recursive)


def base_path(location: str, *, recursive: bool = False, given: str | None = None) -> Path | None:
    """Where partition directories of a stream begin: the directory itself, whatever is given.

    None for a file, for a pattern of which nothing is given, and with recursiveFileLookup.

    Args:
        location: a path, or a pattern.
        recursive: the option recursiveFileLookup.
        given: the option basePath.
    """
    if not recursive and is_glob(location):
        return None if given is None else Path(given)
    path = Path(location)
    return None if recursive or not path.is_dir() else path
