"""Spark's daemon of Python workers, with what they import loaded before it forks them.

Each worker would take a second of a core to import Arrow, pandas and the kernels, and the tests
start a hundred. PySpark's own daemon leaves the imports to the workers for fear of threads: those
of these modules wait for work, hold no lock, and start again in a process that was forked.
"""

from __future__ import annotations

import gc
import importlib
from pathlib import Path
from types import MappingProxyType

SETTINGS = MappingProxyType(
    {
        "spark.python.daemon.module": Path(__file__).stem,
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parent),
    }
)
_IMPORTED = ("pandas", "pyarrow.dataset", "pyspark.worker", "stateplan.runtime.kernels.task")


if __name__ == "__main__":
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.freeze()
    importlib.import_module("pyspark.daemon").manager()
