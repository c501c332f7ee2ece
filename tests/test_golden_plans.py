"""Golden plans: what a live Spark said of each description (derive_golden.py), and what we say.

The shared corpus of plans is run too where it stands beside the repository; its expectations are
Spark's own as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import stateplan
from stateplan.physical.explain.normalise import normalise

HERE = Path(__file__).resolve().parent
GOLDEN = sorted((HERE / "golden").glob("*.yaml"))
CORPUS = sorted((HERE.parent.parent / "shared" / "corpus" / "plans").glob("*.yaml"))
TOPICS = (
    "agg",
    "win",
    "sess",
    "dedup",
    "limit",
    "sort",
    "wm",
    "err",
    "chain",
    "conf",
    "proj",
    "sub",
    "union",
)
JOINS_AND_GROUPING_SETS = ("chain-agg-join-agg", "chain-join-window")  # planned later


def planned(path: Path, conf: dict[str, str] | None = None) -> str:
    """The normalised plan of a description, or its refusal."""
    try:
        query = stateplan.load(path, conf=conf)
        return normalise(query.explain("simple"))
    except stateplan.StateplanError as error:
        lines = f"condition: {error.condition}\nphase: {error.phase}\nmessage: {error.message}"
        return normalise(lines)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_plan(path: Path) -> None:
    want = path.with_suffix(".plan").read_text(encoding="utf-8").strip("\n")
    assert planned(path) == want


def test_no_golden_plan_is_orphaned() -> None:
    plans = {path.stem for path in (HERE / "golden").glob("*.plan")}
    assert plans == {path.stem for path in GOLDEN}


def corpus_cases() -> list[Path]:
    chosen = []
    for path in CORPUS:
        if path.stem.split("-")[0] in TOPICS and path.stem not in JOINS_AND_GROUPING_SETS:
            chosen.append(path)
    return chosen


@pytest.mark.parametrize("path", corpus_cases(), ids=lambda path: path.stem)
def test_corpus_plan(path: Path) -> None:
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    expect = case["expect"]
    got = planned(path, conf={"spark.sql.shuffle.partitions": "5", **case.get("conf", {})})
    if "error" in expect:
        error = expect["error"]
        lines = (f"{key}: {error[key]}" for key in ("condition", "phase", "message"))
        assert got == normalise("\n".join(lines))
    else:
        assert got == normalise(expect["explain"])
