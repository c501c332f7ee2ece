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
    return sum(size for root in roots for size in _sizes(root))


def _sizes(path: str) -> Iterator[int]:
    if not os.path.isdir(path):
        yield os.path.getsize(path)
        return
    for entry in os.scandir(path):
        if not entry.name.startswith(("_", ".")):
            yield from _sizes(entry.path)
