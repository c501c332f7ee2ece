"""The front end for PySpark code: Spark Connect's plans become unresolved logical plans.

PySpark's own Connect client turns DataFrame code into protobuf without a JVM. This package answers
that client, in this process (`local.py`, for descriptions with `python:`) or over a loopback port
(`server.py`, for scripts). It is the only part of the planner that imports pyspark, pyarrow or
grpc, and nothing outside it imports it before PySpark code is to be planned.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..model.errors import DescriptionError


@contextmanager
def needed(what: str) -> Iterator[None]:
    """Around imports of this package's modules: says what to install where the client is missing.

    Raises:
        DescriptionError: PySpark's Connect client, or something it needs, is not installed.
    """
    try:
        yield
    except ImportError as error:
        reason = str(error).rstrip(".")
        raise DescriptionError.of("STATEPLAN_CLIENT_MISSING", what=what, error=reason) from None
