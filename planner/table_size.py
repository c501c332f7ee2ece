"""How large a table's files are: what Spark chooses joins by."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit


def files_size(path: str | None) -> int:
    """The bytes of the files that a table is read from, as Spark's InMemoryFileIndex sums them up.

    Files and directories whose names begin with `_` or `.` do not count. What cannot be listed
    without Spark (nothing there, another file system) counts as nothing.

    Args:
        path: a file, a directory or a pattern; a path or a `file:` URI.
    """
    if not path:
        return 0
    parts = urlsplit(path)
    if parts.scheme not in ("", "file"):
        return 0
    local = unquote(parts.path) if parts.scheme else path
    roots = [local] if os.path.exists(local) else glob.glob(local)
    return sum(_size(file) for root in roots for file in _files(root))


def _files(root: str) -> Iterator[str]:
    if not os.path.isdir(root):
        yield root
    for folder, folders, names in os.walk(root):
        folders[:] = filter(_visible, folders)
        yield from (os.path.join(folder, name) for name in filter(_visible, names))


def _visible(name: str) -> bool:
    return not name.startswith(("_", "."))


def _size(file: str) -> int:
    try:
        return os.path.getsize(file)
    except OSError:  # gone meanwhile, or a link to nothing
        return 0
