"""Functions in Python ask PySpark which session they are for: in here it is a Connect one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import utils
from pyspark.sql.pandas import functions

_HERE = threading.local()
_NAME = "is_remote"


@contextmanager
def remote_functions() -> Iterator[None]:
    """`udf` and `pandas_udf` make Connect's functions in this thread while this lasts.

    PySpark decides by a variable of the whole process; other threads may use a classic session.
    """
    asked: Callable[[], bool] = getattr(utils, _NAME)

    def is_remote() -> bool:
        return getattr(_HERE, "depth", 0) > 0 or asked()

    before = getattr(functions, _NAME)
    _HERE.depth = getattr(_HERE, "depth", 0) + 1
    for module in (utils, functions):
        setattr(module, _NAME, is_remote)
    try:
        yield
    finally:
        setattr(utils, _NAME, asked)
        setattr(functions, _NAME, before)
        _HERE.depth -= 1
