"""Tests of streaming queries, with or without pytest.

`StreamTest` leads a query step by step; `stateplan test` and the pytest plugin run scenario files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stateplan.runtime.testing.stream_test import StreamTest

__all__ = ["StreamTest"]


def __getattr__(name: str) -> object:
    """The runtime is imported when it is first asked for."""
    if name != "StreamTest":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from stateplan.runtime.testing.stream_test import StreamTest

    return StreamTest
