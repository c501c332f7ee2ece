"""Spark's daemon of Python workers, with what they import loaded before it forks them.

Each worker would take a second of a core to import Arrow, pandas and the kernels, and the tests
start some eighty. PySpark's own daemon leaves the imports to the workers, since a fork takes no
threads along: those of these modules are idle when the daemon forks.
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
