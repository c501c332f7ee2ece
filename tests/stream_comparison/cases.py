"""Cases by name: any process makes the same one again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import large_streams
import operator_streams
import random_compositions
import random_joins
import random_queried
import random_streams
import random_tables
import random_variety
import user_state_streams

Case = dict[str, Any]
FAMILIES: dict[str, Any] = {
    "streams": random_streams,
    "tables": random_tables,
    "joins": random_joins,
    "operators": operator_streams,
    "user state": user_state_streams,
    "variety": random_variety,
    "compositions": random_compositions,
    "queries": random_queried,
    "large": large_streams,
}
SHAPES: dict[str, list[str]] = {name: list(module.SHAPES) for name, module in FAMILIES.items()}


@dataclass(frozen=True, kw_only=True)
class Name:
    """What a case is made of.

    Attributes:
        family, shape: of `SHAPES`.
        batches: how many steps have rows.
        restarts: whether the query is restarted behind each of them.
    """

    family: str
    shape: str
    seed: int
    batches: int
    restarts: bool = False

    def __str__(self) -> str:
        text = f"{self.family}/{self.shape}/{self.seed}/{self.batches}"
        return f"{text}/restarts" if self.restarts else text

    @classmethod
    def parse(cls, text: str) -> Name:
        """The name of a text."""
        family, shape, seed, batches, *restarts = text.split("/")
        return cls(
            family=family,
            shape=shape,
            seed=int(seed),
            batches=int(batches),
            restarts=bool(restarts),
        )

    def case(self) -> Case:
        """A scenario without expectation, see `random_streams.case`."""
        case: Case = FAMILIES[self.family].case(self.shape, self.seed, self.batches)
        if self.restarts:
            with_rows = [step for step in case["steps"] if "batch" in step]
            steps = [each for step in with_rows for each in (step, {"restart": True})]
            case["steps"] = steps[:-1]
        return case


ANSWERS = Path(__file__).resolve().parent.parent / "stream_answers.jsonl"
SUITE = (
    *(Name(family="streams", shape=s, seed=0, batches=3) for s in SHAPES["streams"]),
    *(Name(family="tables", shape=s, seed=0, batches=2) for s in SHAPES["tables"]),
    *(Name(family="joins", shape=s, seed=0, batches=2) for s in SHAPES["joins"]),
    *(Name(family="variety", shape=s, seed=0, batches=2) for s in SHAPES["variety"][::2]),
    Name(family="compositions", shape="over_aggregates", seed=5, batches=2),
    Name(family="compositions", shape="over_rows", seed=3, batches=2),
    Name(family="large", shape="few_keys", seed=311, batches=3),
    Name(family="large", shape="few_keys", seed=262, batches=3),
    Name(family="user state", shape="event time", seed=0, batches=4),
    Name(family="user state", shape="expiring", seed=7001, batches=5),
)
OPERATORS = tuple(
    Name(family="operators", shape=s, seed=0, batches=3, restarts=True)
    for s in SHAPES["operators"]
    if s not in ("keyed complete", "windows of sessions", "branches")
)
"""The streams of the tests, whose time is short; their native answers are in `ANSWERS`."""


def what(case: Case) -> str:
    """The query of a case, for people."""
    query = case.get("sql") or case.get("python") or case["title"]
    return f"{query} | {case['output_mode']} {case['conf']}"
