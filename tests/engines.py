"""Which engine's session the fixture `session` of conftest.py gives to a test."""

from __future__ import annotations

from typing import Any

import pytest

EMBEDDED = pytest.param("embedded", marks=pytest.mark.embedded)

on_embedded = pytest.mark.parametrize("session", [EMBEDDED], indirect=True)


def some_on_spark(names: str, embedded: Any, spark: Any) -> pytest.MarkDecorator:
    """Cases of the embedded engine, and others on Spark, which takes ten times as long.

    Args:
        names: of a case's values, for a test that takes `session`, too.
        embedded, spark: the cases, each a tuple.
    """
    cases = [
        *(pytest.param(*case, "embedded", marks=pytest.mark.embedded) for case in embedded),
        *((*case, "spark") for case in spark),
    ]
    return pytest.mark.parametrize(f"{names},session", cases, indirect=["session"])
