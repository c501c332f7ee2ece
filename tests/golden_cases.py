"""Golden plans: queries of one topic a file, each with what a live Spark says of it.

`golden/TOPIC.yaml` is a list of cases. A case is a query description with `plan`: Spark's simple
explain text after `normalise`, or `condition`, `phase` and `message` of its refusal. `formatted`,
`extended` and `cost`, where they are there, are the same in these explain modes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
import yaml_files

FOLDER = Path(__file__).resolve().parent / "golden"
MODES = ("formatted", "extended", "cost")
_ANSWERS = ("plan", *MODES)


@dataclass(frozen=True, eq=False)
class Golden:
    """A query and what Spark says of it.

    Attributes:
        plans: by explain mode, `simple` first; without line ends at the end.
    """

    name: str
    topic: str
    description: Mapping[str, Any]
    plans: Mapping[str, str]

    @property
    def is_refused(self) -> bool:
        return self.plans["simple"].startswith("condition: ")


def read(path: Path) -> tuple[Golden, ...]:
    """The cases of one file."""
    found = []
    for case in yaml_files.load(path):
        plans = {"simple": case.pop("plan", "")}
        plans |= {mode: case.pop(mode) for mode in MODES if mode in case}
        shown = {mode: text.strip("\n") for mode, text in plans.items()}
        found.append(Golden(case["id"], path.stem, case, shown))
    return tuple(found)


@cache
def goldens() -> tuple[Golden, ...]:
    """All cases, by topic."""
    return tuple(case for path in sorted(FOLDER.glob("*.yaml")) for case in read(path))


def golden(name: str) -> Golden:
    """The case of that name.

    Raises:
        KeyError: there is none.
    """
    return {case.name: case for case in goldens()}[name]


def write(path: Path, plans: Mapping[str, Mapping[str, str]]) -> None:
    """Put other plans into a file, by case and mode; the descriptions stay as they are written."""
    cases = re.split(r"(?m)^(?=- id: )", path.read_text(encoding="utf-8"))
    path.write_text("".join(_with_plans(case, plans) for case in cases), encoding="utf-8")


def _with_plans(case: str, plans: Mapping[str, Mapping[str, str]]) -> str:
    named = re.match(r"- id: (\S+)\n", case)
    if named is None or named[1] not in plans:
        return case
    answers = re.search(rf"(?m)^  (?:{'|'.join(_ANSWERS)}): ", case)
    written = case if answers is None else case[: answers.start()]
    texts = plans[named[1]]
    blocks = [_block("plan" if mode == "simple" else mode, text) for mode, text in texts.items()]
    return written.rstrip("\n") + "\n" + "".join(blocks) + ("\n" if case.endswith("\n\n") else "")


def _block(key: str, text: str) -> str:
    """A key and its text as lines, or in quotes where that cannot be."""
    breaks = len(text.splitlines()) > len(text.split("\n"))
    if breaks or yaml.reader.Reader.NON_PRINTABLE.search(text):
        quoted = yaml.dump(text + "\n", default_style='"', width=float("inf"))
        return f"  {key}: {quoted}"
    mark = "|2" if text.startswith(" ") else "|"
    lines = "".join(f"    {line}\n" if line else "\n" for line in text.split("\n"))
    return f"  {key}: {mark}\n{lines}"
