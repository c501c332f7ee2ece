"""Every recorded change of a query: our verdict beside what Spark did."""

from __future__ import annotations

from pathlib import Path

import pytest
from evolutions import Case, lay_checkpoint, load, spark_verdicts

from stateplan.planner.evolution.check import check_against
from stateplan.planner.evolution.reading import read_checkpoint
from stateplan.planner.evolution.verdicts import VERDICTS

CASES = load()


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_verdict(case: Case, tmp_path: Path) -> None:
    stored = read_checkpoint(lay_checkpoint(tmp_path, case.query("was")))
    report = check_against(case.query("now"), stored, case.query("was"))
    assert report.verdict == case.verdict, report.findings
    fits = spark_verdicts(case.spark)
    assert VERDICTS.index(report.verdict) >= min(map(VERDICTS.index, fits))
    if fits == ("refused",):
        assert report.condition == case.spark["condition"]
        assert report.phase == case.spark["phase"]
    alone = check_against(case.query("now"), stored)
    if fits == ("refused",):
        assert alone.verdict == "refused" or case.spark["phase"] == "batch"


def test_every_verdict_is_among_the_cases() -> None:
    assert {case.verdict for case in CASES} == set(VERDICTS)
