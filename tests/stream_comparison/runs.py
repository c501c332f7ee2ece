"""A case on an engine, or on two in turns: the other one from each restart on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

from stateplan.planner.description import Scenario
from stateplan.runtime.scenario_run import SCENARIO_CONF, ScenarioRun, scenario_folder

from .cases import Case, Name
from .large import LargeRun

Emitted = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Part:
    """Some steps of a case, in a folder that holds what the steps before have left.

    Attributes:
        first, end: the steps, `end` left out; None: to the last.
        before: the batches of the steps before.
        tasks: how many tasks run each operator; None: as many as the runtime thinks fit.
    """

    name: Name
    folder: Path
    first: int = 0
    end: int | None = None
    before: Sequence[Any] = ()
    tasks: int | None = None


Runner = Callable[[Part], Emitted]


def run_part(spark: Any, part: Part) -> Emitted:
    """Run a part in this process; what the case has emitted up to its end."""
    case = part.name.case()
    build, query = case.get("build"), None
    large = case.pop("large", False)
    if build is None:
        scenario = Scenario(**case)
    else:
        query = build().query(output_mode=case["output_mode"], conf=SCENARIO_CONF | case["conf"])
        scenario = Scenario(sql="", **{key: case[key] for key in ("sources", "steps", "conf")})
    runs = LargeRun if large else ScenarioRun
    run = runs(spark, scenario, part.folder, tasks=part.tasks, query=query)
    return run.run(part.first, part.end, part.before)


def run_whole(runner: Runner, name: Name) -> Emitted:
    """What a case emits on one engine."""
    with scenario_folder() as folder:
        return runner(Part(name=name, folder=folder))


def run_in_turns(runners: Sequence[Runner], name: Name) -> Emitted:
    """What a case emits when each restart goes on with the next engine, and with other tasks."""
    case = name.case()
    parts = list(pairwise([*starts(case), len(case["steps"])]))
    emitted: Emitted = {}
    with scenario_folder() as folder:
        for number, ((first, end), runner) in enumerate(zip(parts, cycle(runners), strict=False)):
            before = emitted.get("batches", [])
            tasks = number % 3 + 1
            emitted = runner(
                Part(name=name, folder=folder, first=first, end=end, before=before, tasks=tasks)
            )
            if "error" in emitted:
                break
    return emitted


def starts(case: Case) -> list[int]:
    """The steps at which the query of a case starts: the first, and each restart."""
    return [n for n, step in enumerate(case["steps"]) if n == 0 or step.get("restart")]
