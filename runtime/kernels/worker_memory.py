"""What a process that runs kernels keeps from one task to the next."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any
from zipimport import zipimporter

# Of glibc's mallopt. It takes no more than 32 MB as the largest piece that it keeps.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_FREE_BYTES_KEPT, _LARGEST_PIECE_KEPT = 256 << 20, 32 << 20
_modules = 0


@cache
def keep_freed_memory() -> None:
    """Keep what numpy frees for the next arrays: new pages cost up to a tenth of a batch's time.

    This is a setting of glibc's for the process: with another C library nothing changes.
    """
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        library.mallopt(_TRIM_THRESHOLD, _FREE_BYTES_KEPT)
        library.mallopt(_MMAP_THRESHOLD, _LARGEST_PIECE_KEPT)


def made_ready_behind(batches: Iterator[Any]) -> Iterator[Any]:
    """The batches of a task of Spark's; behind them its worker gets ready for the next task.

    What PySpark's workers do around each task takes longer than a small task itself. They look for
    garbage among the 100,000 objects of the modules that stay: these are frozen. And they read the
    directories of the zip files that they import from once for each package
    (`importlib.invalidate_caches`): what finds modules there is made again when it is needed.
    """
    global _modules
    keep_freed_memory()
    try:
        yield from batches
    finally:
        if len(sys.modules) != _modules:
            gc.freeze()
            _modules = len(sys.modules)
        for path, finder in list(sys.path_importer_cache.items()):
            if isinstance(finder, zipimporter):
                del sys.path_importer_cache[path]
