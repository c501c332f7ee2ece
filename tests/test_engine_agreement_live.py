"""A part of the table is measured again, where the embedded engine's interpreter is."""

from __future__ import annotations

import os
import random
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from compare_engines import table_of
from engine_comparison.cases import Cases, add_seed, seeds
from engine_comparison.comparison import Comparison
from engine_comparison.engines import Embedded, LiveSpark
from engine_comparison.table import agrees, load

from stateplan.runtime.engines.agreement import (
    EQUAL,
    RAISES,
    TABLE,
    Setting,
    rewritten_as,
    verdict_on,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent
SEEDS = 6
SIGNATURES = 40


def embedded_python() -> Path | None:
    """The interpreter that has the embedded engine, if there is one."""
    named = os.environ.get("STATEPLAN_EMBEDDED_PYTHON")
    found = Path(named) if named else ROOT / ".venv-embedded" / "bin" / "python"
    return found if found.exists() else None


PYTHON = embedded_python()


@pytest.mark.skipif(PYTHON is None, reason="there is no interpreter with the embedded engine")
def test_what_the_table_calls_equal_is_equal(spark: SparkSession, tmp_path: Path) -> None:
    assert PYTHON is not None
    chance = random.Random(0)
    cases = Cases(ansi=True)
    for text in chance.sample(seeds(), SEEDS):
        add_seed(cases, text)
    chosen = chance.sample(sorted(cases.found), min(SIGNATURES, len(cases.found)))
    rows = table_of([form for c in chosen for form in cases.found[c].forms.values()], seed=1)
    sail = Embedded(PYTHON, rows, tmp_path)
    comparison = Comparison(lambda: LiveSpark(rows, spark.newSession()), sail)
    try:
        plain, rewritten = comparison.measure(
            chosen, {True: cases.found}, partial(agrees, load(TABLE))
        )
    finally:
        sail.stop()
    wrong, checked = [], 0
    for signature, found in plain.items():
        for (ansi, zone), word in found.items():
            setting = Setting(ansi, zone)
            if verdict_on(signature, setting) in (EQUAL, RAISES):
                checked += 1
                if word not in (EQUAL, RAISES):
                    wrong.append(f"{signature} under {setting}: {word}")
            name = rewritten_as(signature, setting)
            if name is not None and name != rewritten.get(signature, {}).get((ansi, zone)):
                wrong.append(f"{signature} under {setting} is no longer equal as '{name}'")
    assert wrong == []
    assert checked > SIGNATURES // 4
