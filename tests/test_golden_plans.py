"""Golden plans: what a live Spark said of each description (derive_golden.py), and what we say."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from random_queries.ours import planned

HERE = Path(__file__).resolve().parent
GOLDEN = sorted((HERE / "golden").glob("*.yaml"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_plan(path: Path) -> None:
    want = path.with_suffix(".plan").read_text(encoding="utf-8").strip("\n")
    assert planned(yaml.safe_load(path.read_text(encoding="utf-8"))) == want


def test_no_golden_plan_is_orphaned() -> None:
    plans = {path.stem for path in (HERE / "golden").glob("*.plan")}
    assert plans == {path.stem for path in GOLDEN}
