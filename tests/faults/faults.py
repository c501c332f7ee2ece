"""One fault: what it breaks, where, and how it is made from a seed."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .tasks import MOMENTS, Moment

Kind = Literal[
    "step", "moment", "pause", "fence", "whole", "workers", "worker", "executor", "fail", "twin",
    "zombie", "slow", "rerun", "sink", "interrupt", "engine",
]  # fmt: skip
MEANING: dict[str, str] = {
    "step": "driver gets SIGKILL at a step of the protocol",
    "moment": "driver gets SIGKILL at any moment",
    "pause": "driver stops at a step, a second one comes, the first goes on",
    "fence": "the same on a disk without locks: the second one takes over",
    "whole": "driver and its JVM get SIGKILL at any moment",
    "workers": "all Python workers get SIGKILL at any moment",
    "worker": "a Python worker gets SIGKILL inside a task",
    "executor": "an executor gets SIGKILL inside a task",
    "fail": "a task fails, and is run again",
    "twin": "a task's attempt runs in two processes at once",
    "zombie": "a task's attempt writes after a later commit",
    "slow": "a slow task is run a second time beside the first (speculation)",
    "rerun": "shuffle files vanish, stages run again in another order of rows",
    "sink": "the sink fails after it took the batch",
    "interrupt": "driver gets SIGINT (Ctrl-C) at any moment",
    "engine": "the embedded engine stops at any moment, under the driver",
}
PAUSES = ("pause", "fence")
TIMED = ("moment", "workers", "whole", "interrupt", "engine")
ON_LOCAL: dict[Kind, int] = {
    "step": 40, "moment": 10, "pause": 3, "fence": 12, "workers": 5, "worker": 10, "fail": 6,
    "twin": 5, "zombie": 6, "rerun": 8, "sink": 5,
}  # fmt: skip
ON_A_CLUSTER: dict[Kind, int] = {"executor": 5, "slow": 3, "worker": 1, "rerun": 2, "step": 1}
ON_ITS_OWN: dict[Kind, int] = {"whole": 1}
# Its tasks are threads of the driver, which writes the state: what befalls the driver at any of its
# steps befalls them as well.
ON_EMBEDDED: dict[Kind, int] = {
    "step": 40, "moment": 10, "pause": 6, "fence": 14, "fail": 10, "sink": 5, "interrupt": 8,
    "engine": 8,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault.

    Attributes:
        kind: what breaks.
        step: the number of the driver's step (step, pause, fence).
        seconds: how long after the start (moment, workers, whole, interrupt, engine).
        batch, task, operator, moment: inside which task (worker, executor, fail, ...); sink: the
            batch.
        then: whether it meets the start right after the one before, with no more input.
    """

    kind: Kind
    step: int = 0
    seconds: float = 0.0
    batch: int = 0
    task: int = 0
    operator: int = 0
    moment: Moment = "before"
    then: bool = False

    def __str__(self) -> str:
        return f"then {self._what}" if self.then else self._what

    @property
    def _what(self) -> str:
        match self.kind:
            case "step" | "pause" | "fence":
                return f"{self.kind} {self.step}"
            case kind if kind in TIMED:
                return f"{self.kind} after {self.seconds:.2f} s"
            case "sink":
                return f"sink, batch {self.batch}"
            case _:
                where = f"batch {self.batch}, operator {self.operator}, task {self.task}"
                return f"{self.kind} {self.moment}, {where}"

    @classmethod
    def parse(cls, text: str) -> Fault:
        """The fault that a report names.

        Raises:
            ValueError: it is none.
        """
        words = text.replace(",", "").split()
        values: dict[str, Any] = {"then": words[0] == "then"}
        kind, *words = words[values["then"] :]
        if kind in ("step", "pause", "fence"):
            values["step"] = int(words[0])
        elif kind in TIMED:
            values["seconds"] = float(words[1])
        else:
            if kind != "sink":
                values["moment"] = words.pop(0)
            values |= {words[i]: int(words[i + 1]) for i in range(0, len(words), 2)}
        if kind not in MEANING:
            raise ValueError(f"'{text}' is no fault")
        return cls(kind=kind, **values)  # type: ignore[arg-type]


def step_kind(name: str) -> str:
    """A step without the numbers of batches and files, and without moments in file names."""
    name = re.sub(r"part-\d+.*|\b\w{16}_\d+\.json", "part-N", name)
    name = re.sub(r"-[0-9a-f]{12,}(?=\.arrow)", "-N", name)
    return re.sub(r"\d+", "N", name)


class FaultMaker:
    """Makes faults, of steps those that came least.

    Args:
        weights: how often each kind of fault comes.
        met: how often each kind of step was met so far.
        seen: the kinds of steps that are known.
    """

    def __init__(
        self, weights: Mapping[Kind, int], met: Mapping[str, int], seen: Iterable[str]
    ) -> None:
        self._weights = weights
        self.met = Counter(met)
        self.seen = set(seen)

    def make(
        self, rng: random.Random, batch: int, steps: Sequence[str], seconds: float, *, then: bool
    ) -> Fault:
        """A fault of a run.

        Args:
            rng: of the life.
            batch: the first one that the run has to do, if all went well before.
            steps: of the fault-free run.
            seconds: how long such a run takes.
        """
        kinds = list(self._weights)
        kind = rng.choices(kinds, [self._weights[k] for k in kinds])[0]
        return Fault(
            kind=kind,
            step=self._step(rng, steps),
            seconds=rng.uniform(0.2, max(0.6, seconds)),
            batch=batch,
            task=rng.randrange(6),
            operator=rng.randrange(2),
            moment=rng.choice(MOMENTS),
            then=then,
        )

    def _step(self, rng: random.Random, steps: Sequence[str]) -> int:
        self.seen.update(map(step_kind, steps))
        kinds = [step_kind(name) for name in steps]
        least = min((self.met[kind] for kind in kinds), default=0)
        return rng.choice([i for i, kind in enumerate(kinds) if self.met[kind] == least] or [0])
