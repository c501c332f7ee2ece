"""The collector while a query is planned, and behind."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import stateplan
from stateplan.planner.collecting import without_collections


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """On at first, whatever ran before: `stateplan explain` switches it off for its process."""
    was_on = gc.isenabled()
    gc.enable()
    yield
    if not was_on:
        gc.disable()


def test_the_collector_rests_and_is_on_again_after_an_error() -> None:
    with pytest.raises(ValueError, match="so"), without_collections():
        assert not gc.isenabled()
        raise ValueError("so")
    assert gc.isenabled()


def test_a_refused_query_leaves_it_on() -> None:
    with pytest.raises(stateplan.AnalysisError):
        stateplan.sql("SELECT nothing FROM e", {"e": {"schema": "a INT"}}).explain()
    assert gc.isenabled()


def test_what_is_off_stays_off() -> None:
    gc.disable()
    try:
        with without_collections():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
