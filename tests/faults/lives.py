"""A life: one checkpoint with faults on the way, restarted until done, and what it leaves."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import driver, tasks
from .cases import BATCHES, KINDS, Case, make_case
from .contents import Contents, contents, differences
from .driver import On, Run
from .faults import PAUSES, Fault, FaultMaker, step_kind

FRUITLESS = 8
"""So many starts without a fault, and none that ends well: a life is not going on."""

AGAIN = 0.8
"""How likely a run that went wrong meets the next fault at once."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one life.

    Attributes:
        seed: of the life, with `kind`: its case.
        kind, mode, sink: of the case.
        faults: those that came about, as text; with `kinds` beside them.
        missed: faults that did not come about: the run was over before.
        plan: all of them, in order; with the seed they say everything (but for random moments).
        ended: the steps at which drivers ended.
        runs: how each run ended.
        wrong: how it differs from the fault-free life.
        seconds: how long it took.
    """

    seed: int
    kind: str
    mode: str
    sink: str
    kinds: tuple[str, ...]
    faults: tuple[str, ...]
    missed: tuple[str, ...]
    plan: tuple[str, ...]
    ended: tuple[str, ...]
    runs: tuple[str, ...]
    wrong: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Model:
    """The fault-free life of a case.

    Attributes:
        contents: what it left.
        steps: of each start, see `Run.portions`.
        seconds: how long a start took.
    """

    contents: Contents
    steps: list[list[str]]
    seconds: float


@dataclass
class Place:
    """Where lives are led: a folder and an engine.

    Attributes:
        on: the engine of all runs with faults.
        reference: that of the fault-free runs.
        starts: how many starts with a fault a life has.
        queries: kinds of cases, which go round with the seeds.
        local_folder: where the shared JVM's shuffles write.
    """

    root: Path
    reference: On
    on: On
    maker: FaultMaker
    starts: int = BATCHES
    queries: Sequence[str] = KINDS
    local_folder: str = ""

    def lead(self, seed: int, faults: Sequence[Fault] | None = None) -> Outcome:
        """One life with up to so many faults: these, or such as the seed says.

        Raises:
            Refused: the engine does not run its query.
        """
        case = make_case(seed, self.queries[seed % len(self.queries)])
        life = _Life(self, case, self._model(case), random.Random(f"life {seed}"), faults)
        try:
            return life.lead()
        finally:
            if not life.wrong:
                shutil.rmtree(life.folder, ignore_errors=True)

    def portions(self, start: int) -> int:
        """How many portions are there when a life has had so many starts."""
        return math.ceil((start + 1) * BATCHES / self.starts)

    def _model(self, case: Case) -> Model:
        folder = self.folder(case, "model")
        portions = (*map(self.portions, range(self.starts)), len(case.portions))
        run = Run(case=case, folder=folder, on=self.reference, portions=portions)
        began = time.monotonic()
        _must_end(driver.finish(driver.launch(run), run), run)
        seconds = (time.monotonic() - began) / len(portions)
        steps = json.loads((folder / "steps.json").read_text())
        model = Model(contents=contents(case, folder), steps=steps, seconds=seconds)
        shutil.rmtree(folder)
        return model

    def folder(self, case: Case, name: str) -> Path:
        """An empty folder."""
        folder = self.root / f"{name}-{case.seed}"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "in").mkdir(parents=True)
        return folder


def _must_end(how: str, run: Run) -> None:
    if how.startswith("STATEPLAN_NOT_EXACT:"):
        raise Refused(how.split("\n")[0])
    if how != "done":
        raise RunFailed(f"{run.case.kind} {run.case.seed}, start {run.start}: {how}")


class RunFailed(Exception):
    """A run without a fault failed."""


class Refused(Exception):
    """The embedded engine does not run the query of a case."""


class _Life:
    def __init__(
        self,
        place: Place,
        case: Case,
        model: Model,
        rng: random.Random,
        faults: Sequence[Fault] | None,
    ) -> None:
        self.place, self.case, self.model, self.rng = place, case, model, rng
        self.given = faults
        self.folder = place.folder(case, "life")
        self.start = 0
        self.wrong: list[str] = []
        self._runs: list[str] = []
        self._happened: list[Fault] = []
        self._missed: list[Fault] = []
        self._plan: list[Fault] = []
        self._ended: list[str] = []

    def lead(self) -> Outcome:
        began = time.monotonic()
        try:
            self._break()
            self._finish()
            found = contents(self.case, self.folder)
            self.wrong += differences(self.case, self.model.contents, found)
        except Exception as error:
            self.wrong.append(f"{type(error).__name__}: {error}")
        return Outcome(
            seed=self.case.seed,
            kind=self.case.kind,
            mode=self.case.mode,
            sink=self.case.sink,
            kinds=tuple(fault.kind for fault in self._happened),
            faults=tuple(map(str, self._happened)),
            missed=tuple(map(str, self._missed)),
            plan=tuple(map(str, self._plan)),
            ended=tuple(self._ended),
            runs=tuple(self._runs),
            wrong=tuple(self.wrong),
            seconds=round(time.monotonic() - began, 2),
        )

    # ------------------------------------------------------------------------------------- faults

    def _break(self) -> None:
        """One portion after the other, each with a fault, and mostly with more where runs end."""
        if self.given is not None:
            number = -1
            for fault in self.given:
                number += not fault.then
                self._fault(fault, self.place.portions(number))
            return
        for number in range(self.place.starts):
            how = self._fault(*self._made(number, then=False))
            while how != "done" and self.rng.random() < AGAIN:
                how = self._fault(*self._made(number, then=True))

    def _made(self, number: int, *, then: bool) -> tuple[Fault, int]:
        portions = self.place.portions(number)
        steps, seconds = self.model.steps[number], self.model.seconds
        make = self.place.maker.make
        return make(self.rng, portions - 1, steps, seconds, then=then), portions

    def _fault(self, fault: Fault, portions: int) -> str:
        """One run with a fault; how it ended."""
        self._plan.append(fault)
        run = self._run(fault, portions)
        how = self._pause(run) if fault.kind in PAUSES else self._perform(run, fault)
        self._runs.append(how)
        self.start += 1
        self._note(run, fault, how)
        self._judge(fault, how)
        return how

    def _judge(self, fault: Fault, how: str) -> None:
        if how not in ("done", "killed") and not _expected(how, fault):
            self.wrong.append(f"{fault}: {how}")

    def _run(self, fault: Fault, portions: int) -> Run:
        settings: dict[str, Any] = {}
        if fault.kind in ("step", *PAUSES):
            end = "pause" if fault.kind in PAUSES else "kill"
            settings = {"at_step": fault.step, "end": end, "locks": fault.kind != "fence"}
        elif fault.kind in tasks.WHATS:
            settings = {"task_fault": self._task_fault(fault)}
        elif fault.kind == "sink" and self.case.sink != "files":
            settings = {"fail_sink": fault.batch}
        elif fault.kind == "engine":
            settings = {"stop_engine": fault.seconds}
        return self._plain((portions,), **settings)

    def _plain(self, portions: tuple[int, ...], **settings: Any) -> Run:
        return Run(
            case=self.case,
            folder=self.folder,
            start=self.start,
            portions=portions,
            on=self.place.on,
            **settings,
        )

    def _task_fault(self, fault: Fault) -> tasks.TaskFault:
        made = tasks.TaskFault(
            what=fault.kind,
            batch=fault.batch,
            task=fault.task,
            moment=fault.moment,
            operator=fault.operator,
            folder=str(self.folder / "marks"),
            commits=str(self.folder / "checkpoint/commits"),
            name=f"{self.start}-{fault.kind}",
        )
        if fault.kind == "rerun":
            tasks.expect_rerun(made, self.place.local_folder)
        return made

    def _perform(self, run: Run, fault: Fault) -> str:
        process = driver.launch(run)
        if fault.kind in ("moment", "workers", "whole", "interrupt"):
            process.join(fault.seconds)
        if fault.kind == "workers":
            kill_workers()
        elif fault.kind == "interrupt" and process.is_alive():
            assert process.pid is not None
            _kill(process.pid, signal.SIGINT)
        elif fault.kind in ("moment", "whole") and process.is_alive():
            assert process.pid is not None
            below = descendants(process.pid)
            process.kill()
            for other in below:
                _kill(other)
        return driver.finish(process, run)

    def _pause(self, run: Run) -> str:
        """The driver stops at a step, another one runs to the end, then the first goes on."""
        process = driver.launch(run)
        mark = self.folder / "ended-at"
        deadline = time.monotonic() + driver.LIMIT
        while process.is_alive() and not mark.exists():
            if time.monotonic() > deadline:
                raise TimeoutError("the driver neither stops nor ends")
            time.sleep(0.01)
        if not mark.exists():
            return driver.finish(process, run)
        self.start += 1
        other = self._plain(run.portions, locks=run.locks)
        try:
            how = driver.finish(driver.launch(other), other)
        finally:
            assert process.pid is not None
            os.kill(process.pid, signal.SIGCONT)
        first = driver.finish(process, run)
        self._runs.append(f"the first, going on: {first}")
        self._judge(Fault(kind="fence"), first)
        return how

    def _note(self, run: Run, fault: Fault, how: str) -> None:
        mark = self.folder / "ended-at"
        if mark.exists():
            self._ended.append(mark.read_text())
            self.place.maker.met[step_kind(mark.read_text())] += 1
            mark.unlink()
            came = True
        elif run.task_fault is not None:
            came = tasks.happened(run.task_fault)
        elif fault.kind == "workers":
            came = True
        else:
            came = how != "done"
        (self._happened if came else self._missed).append(fault)

    # ------------------------------------------------------------------------------------- the end

    def _finish(self) -> None:
        everything = (BATCHES, len(self.case.portions))
        last = self.start + FRUITLESS
        while True:
            run = self._plain(everything)
            how = driver.finish(driver.launch(run), run)
            self._runs.append(how)
            self.start += 1
            if how == "done":
                break
            if self.start >= last:
                raise RunFailed(f"start {self.start}: {how}")
        for mark in (self.folder / "marks").glob("*-zombie.done"):
            tasks.awaited(mark.with_suffix(".ended"))


def _expected(how: str, fault: Fault) -> bool:
    """Whether a run may fail so under a fault; the next start goes on from there."""
    match fault.kind:
        case "sink":
            return "the sink fails behind batch" in how
        case "workers" | "worker" | "executor" | "fail" | "rerun":
            # Where tasks are not tried again the batch fails, in words that name it.
            return "Batch" in how or "exit" not in how
        case "interrupt":
            return how.startswith("KeyboardInterrupt:") or how == "exit 1"  # before it began
        case "engine":
            return how.startswith("STATEPLAN_EMBEDDED_STOPPED:") or "UNAVAILABLE" in how
        case "pause" | "fence":
            return how.startswith(("CONCURRENT_QUERY:", "CONCURRENT_STREAM_LOG_UPDATE:"))
        case _:
            return False


def kill_workers() -> None:
    """SIGKILL to the Python workers of all Sparks below this process, not to their daemons."""
    for process in descendants(os.getpid()):
        if "pyspark.daemon" in _command(process) and "pyspark.daemon" in _command(_parent(process)):
            _kill(process)


def descendants(process: int) -> list[int]:
    """The processes below a process."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            parents.setdefault(_parent(int(entry)), []).append(int(entry))
    found: list[int] = []
    waiting = [process]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _parent(process: int) -> int:
    try:
        with open(f"/proc/{process}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _command(process: int) -> str:
    try:
        with open(f"/proc/{process}/cmdline") as file:
            return file.read().replace("\0", " ")
    except OSError:
        return ""


def _kill(process: int, by: signal.Signals = signal.SIGKILL) -> None:
    try:
        os.kill(process, by)
    except ProcessLookupError:
        return
