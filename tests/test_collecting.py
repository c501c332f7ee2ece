"""The collector while a query is planned, and behind."""

from __future__ import annotations

import gc

import pytest

import stateplan
from stateplan.planner.collecting import without_collections


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
