"""What the server that runs are forked from imports, and plans, once."""

from __future__ import annotations

from importlib import import_module

MODULES = (
    *("numpy", "pandas", "pyarrow.compute", "pyarrow.fs", "pyspark.sql.functions"),
    *("pyspark.sql.conversion", "pyspark.sql.types", "pyspark.sql.pandas.types"),
    *("stateplan.planner.builder", "stateplan.planner.sql", "stateplan.runtime.streaming"),
    *("stateplan.runtime.engines.batch", "stateplan.runtime.sinks", "stateplan.runtime.sources"),
    *("faults.cases", "faults.driver", "faults.sinks", "faults.sparks", "faults.tasks"),
)

for name in MODULES:
    import_module(name)

from .cases import KINDS, make_case  # noqa: E402
from .user_state import USER_STATE  # noqa: E402

for seed, kind in enumerate(KINDS):  # fills the caches of the planner
    if kind not in USER_STATE:  # these are PySpark's, whose client looks for a main module first
        _ = make_case(seed).query().execution.executed_plan
