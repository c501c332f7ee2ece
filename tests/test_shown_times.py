"""Times in a pattern: many at once as each by itself."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from stateplan.runtime.kernels.expressions.programs.program import Step
from stateplan.runtime.kernels.expressions.times.formats import shown_times

PATTERNS = (
    *("HH:mm", "yyyy-MM-dd", "yy/M/d h a", "HH:mm:ss", "EEE D", "MMM", "'x'"),
    *("HH:mm:ss.SSS", "yyyy-MM-dd HH:mm XXX"),
)
ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "Africa/Monrovia")


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("zone", ZONES)
def test_times_that_are_near_are_shown_as_each_by_itself(zone: str, pattern: str) -> None:
    random = np.random.default_rng(len(zone) + len(pattern))
    step = Step("date_format", (0, 1), "string", ("timestamp", "string"), zone=zone)
    # The day that summer begins in New York, and days on which offsets had seconds.
    for start in (1_710_053_000, -3_000_000_000, -62_000_000_000):
        for seconds in (100, 90_000):
            times = start * 10**6 + random.integers(0, seconds * 10**6, 2_000)
            column = pa.array(times, mask=random.random(len(times)) < 0.1)
            shown = shown_times(step, column, pa.scalar(pattern))
            some = range(0, len(column), 97)
            alone = [shown_times(step, column.slice(i, 1), pa.scalar(pattern))[0] for i in some]
            assert shown.take(pa.array(list(some))).to_pylist() == [one.as_py() for one in alone]


def test_times_of_which_none_is_there() -> None:
    step = Step("date_format", (0, 1), "string", ("timestamp", "string"), zone="UTC")
    nothing = pa.nulls(5, pa.int64())
    assert shown_times(step, nothing, pa.scalar("HH")).to_pylist() == [None] * 5
