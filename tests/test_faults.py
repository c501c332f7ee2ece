"""Lives under faults, a few of them (tests/inject_faults.py leads as many as one likes)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from faults.cases import make_case
from faults.contents import contents, differences
from faults.driver import Run, gateway_of, perform, start_server
from faults.faults import MEANING, Fault, FaultMaker, Kind
from faults.lives import Place
from faults.tasks import MOMENTS, Tell

from stateplan.planner.model.errors import StateplanError
from stateplan.runtime import micro_batch
from stateplan.runtime.engines import spark as engine
from stateplan.runtime.kernels.task import TaskSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS: dict[Kind, int] = {"step": 4, "fence": 2, "worker": 2, "zombie": 1, "twin": 1, "sink": 1}


@pytest.mark.parametrize(
    ("seed", "plan"),
    [
        (6, None),
        (
            1,
            "step 120; then step 40; worker wrote, batch 1, operator 0, task 0; step 100; fence 60",
        ),
    ],
)
def test_a_life_under_faults_ends_as_one_without(
    spark: SparkSession, tmp_path: Path, seed: int, plan: str | None
) -> None:
    start_server()
    gateway = gateway_of(spark)
    place = Place(root=tmp_path, reference=gateway, on=gateway, maker=FaultMaker(KINDS, {}, ()))
    outcome = place.lead(seed, [Fault.parse(text) for text in plan.split(";")] if plan else None)
    assert not outcome.wrong, outcome
    assert outcome.faults


EMBEDDED = "step 90; engine after 0.02 s; then step 150; fail writing, batch 2, task 1"


@pytest.mark.embedded
def test_a_life_on_the_embedded_engine(tmp_path: Path) -> None:
    start_server()
    maker = FaultMaker(KINDS, {}, ())
    place = Place(root=tmp_path, reference="embedded", on="embedded", maker=maker)
    outcome = place.lead(1, [Fault.parse(text) for text in EMBEDDED.split(";")])
    assert not outcome.wrong, outcome
    assert len(outcome.faults) >= 3 and {"step", "fail"} <= set(outcome.kinds)


@pytest.mark.parametrize("kind", MEANING)
def test_a_fault_is_found_again_by_its_name(kind: Kind) -> None:
    fault = Fault(kind=kind, step=7, seconds=1.25, batch=2, task=1, operator=1, moment=MOMENTS[3])
    for same in (fault, replace(fault, then=True)):
        assert str(Fault.parse(str(same))) == str(same)


def reports_twice(attempts: int) -> Callable[[TaskSpec, Tell], Any]:
    """Tasks whose report comes twice, as if their stage had run again, in the first attempts."""
    function, seen = engine._task_function, set[str]()

    def chosen(spec: TaskSpec, tell: Tell) -> Any:
        seen.add(spec.attempt)

        def twice(report: str) -> None:
            tell(report)
            tell(report)

        return function(spec, twice if len(seen) <= attempts else tell)

    return chosen


def test_a_batch_whose_tasks_ran_again_runs_anew(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = make_case(0, "windowed", sink="files", mode="append")
    found = []
    for name, attempts in (("plain", 0), ("again", 2)):
        folder = tmp_path / name
        case.write_input(folder / "in", len(case.portions))
        with monkeypatch.context() as patch:
            patch.setattr(engine, "_task_function", reports_twice(attempts))
            perform(spark, Run(case=case, folder=folder, portions=()), 0)
        found.append(contents(case, folder))
    assert found[0].batches[0]
    assert differences(case, *found) == []


def test_tasks_that_run_again_for_ever_fail_the_batch(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = make_case(0, "windowed", sink="files", mode="append")
    case.write_input(tmp_path / "in", 1)
    monkeypatch.setattr(engine, "_task_function", reports_twice(micro_batch.ATTEMPTS))
    with pytest.raises(StateplanError) as caught:
        perform(spark, Run(case=case, folder=tmp_path, portions=()), 0)
    assert caught.value.condition == "STATEPLAN_TASKS_RAN_AGAIN"
    assert not list((tmp_path / "checkpoint" / "commits").glob("*"))
    assert not list((tmp_path / "out").glob("part-*"))
    assert not list((tmp_path / "checkpoint").rglob("*.arrow"))
