"""What a Python worker of Spark keeps from one task to the next."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any
from zipimport import zipimporter

_modules = 0


def made_ready_behind(batches: Iterator[Any]) -> Iterator[Any]:
    """The batches of a task; behind them its process gets ready for the next task.

    What PySpark's workers do around each task takes longer than a small task itself. They look for
    garbage among the 100,000 objects of the modules that stay: these are frozen. And they read the
    directories of the zip files that they import from once for each package
    (`importlib.invalidate_caches`): what finds modules there is made again when it is needed.
    """
    global _modules
    try:
        yield from batches
    finally:
        if len(sys.modules) != _modules:
            gc.freeze()
            _modules = len(sys.modules)
        for path, finder in list(sys.path_importer_cache.items()):
            if isinstance(finder, zipimporter):
                del sys.path_importer_cache[path]
