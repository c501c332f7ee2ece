"""Times in a pattern: many at once as each by itself."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from stateplan.runtime.kernels.expressions.programs.program import Step
from stateplan.runtime.kernels.expressions.times import formats, reading
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


FIXED = (
    *("yyyy-MM-dd HH:mm:ss", "dd/MM/yyyy'T'HH:mm:ss.SSSXXX", "yyyyMMdd", "ss SSSSSS", "'ü' mm"),
    *("HH'h'", "yyyy-MM-dd'T'HH:mm:ss.SSSXXXXX"),
)


@pytest.mark.parametrize("pattern", FIXED)
@pytest.mark.parametrize("offset", [0, 3_600, -20_700, 4_321])
def test_letters_that_are_picked_are_those_that_are_put_together(
    pattern: str, offset: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(len(pattern) + abs(offset))
    times = random.integers(-62_000_000_000, 253_000_000_000, 2_000) * 10**6
    times += random.integers(0, 10**6, 2_000)
    offsets = np.full(len(times), offset * 10**6)
    assert formats._of_fixed_width(times + offsets, offsets, pattern) is not None
    picked = formats.shown_in(times, offsets, pattern)
    monkeypatch.setattr(formats, "_of_fixed_width", lambda *_: None)
    assert picked.to_pylist() == formats.shown_in(times, offsets, pattern).to_pylist()


def test_times_with_years_of_other_lengths_are_put_together() -> None:
    times = np.array([-62_167_219_200, 253_402_300_800]) * 10**6
    years = formats.shown_in(times - 1, np.zeros(2, np.int64), "yyyy").to_pylist()
    assert years == ["-0001", "9999"]
    assert formats.shown_in(times, np.zeros(2, np.int64), "yyyy").to_pylist() == ["0000", "+10000"]


READ = ("dd/MMM/yyyy:HH:mm:ss", "yyyyMMddHHmmss", "yyyy-MM-dd'T'HH:mm:ss.SSS", "HH:mm", "yy MM")


@pytest.mark.parametrize("pattern", READ)
@pytest.mark.parametrize("damage", [None, "x", "99", "\u0661"])
def test_texts_of_one_length_are_read_as_any_others(
    pattern: str, damage: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(len(pattern))
    times = random.integers(0, 4_000_000_000, 1_000) * 10**6
    shown = formats.shown_in(times, np.zeros(1_000, np.int64), pattern).to_pylist()
    shown[7] = None
    if damage is not None:
        shown[5] = damage + shown[5][len(damage.encode()) :]
    texts = pa.array(shown)
    assert (reading._fields_of_fixed_width(texts, pattern) is None) is (damage not in (None, "99"))
    step = Step("gettimestamp", (0, 1), "timestamp", ("string", "string"), mode="TRY", zone="UTC")
    found = reading.read_times(step, texts, pa.scalar(pattern))
    monkeypatch.setattr(reading, "_fields_of_fixed_width", lambda *_: None)
    assert found.to_pylist() == reading.read_times(step, texts, pa.scalar(pattern)).to_pylist()
