"""What a Python worker of Spark holds from one task to the next."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

_modules = 0


def frozen_behind(batches: Iterator[Any]) -> Iterator[Any]:
    """The batches of a task; behind them its process has less to look through for garbage.

    PySpark's workers do that after each task. Among the 100,000 objects of the modules that stay
    it takes 40 ms, as long as a small task itself, and the next one waits for it.
    """
    global _modules
    try:
        yield from batches
    finally:
        if len(sys.modules) != _modules:
            gc.freeze()
            _modules = len(sys.modules)
