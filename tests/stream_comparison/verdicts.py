"""Whether a run of ours is as the native one, was refused, or differs; and how many are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from stateplan.runtime.comparison import differences

from .cases import Name

NOT_EXACT = "STATEPLAN_NOT_EXACT"
Kind = Literal["equal", "refused", "differs"]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What came of a case.

    Attributes:
        kind: refused: by the embedded engine, for what it does not compute as Spark does.
        texts: why it was refused, or how it differs.
    """

    kind: Kind
    texts: tuple[str, ...] = ()


def verdict(
    want: Mapping[str, Any], got: Mapping[str, Any], *, ordered: bool, may_refuse: bool
) -> Verdict:
    """Compare what Structured Streaming emitted with what we did, up to a batch that we refuse."""
    error = got.get("error")
    refused = may_refuse and error is not None and error["condition"] == NOT_EXACT
    if refused:
        came = got.get("batches", [])
        ids = {batch["id"] for batch in came}
        batches = [batch for batch in want.get("batches") or [] if batch["id"] in ids]
        want, got = {"batches": batches}, {"batches": came}
    found = differences(want, got, ordered=ordered)
    if found:
        return Verdict(kind="differs", texts=tuple(found))
    if refused:
        return Verdict(kind="refused", texts=(reason(error["message"]),))
    return Verdict(kind="equal")


def reason(message: str) -> str:
    """Why a query was refused, without what its own columns are called."""
    what, found, why = message.partition(" as Spark does: ")
    if not found:
        return message
    # The names of expressions are the query's, those of steps and limits are not.
    kind = what.removeprefix("The embedded engine does not compute ")
    return why.rstrip(".") if kind.startswith("the expression ") else f"{kind}: {why.rstrip('.')}"


class Tally:
    """The verdicts of each engine, or of both in turns.

    Args:
        path: a file of JSON lines that verdicts are added to, and that holds those of runs before;
            None: none is kept.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._found: dict[tuple[str, str], Verdict] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                verdict = Verdict(kind=entry["kind"], texts=tuple(entry["texts"]))
                self._found[entry["how"], entry["case"]] = verdict

    def has(self, how: str, name: Name) -> bool:
        """Whether a case has a verdict."""
        return (how, str(name)) in self._found

    def add(self, how: str, name: Name, found: Verdict) -> None:
        """Take in a case."""
        self._found[how, str(name)] = found
        if self._path is not None:
            entry = {"how": how, "case": str(name), "kind": found.kind, "texts": found.texts}
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")

    @property
    def differs(self) -> bool:
        """Whether any case does."""
        return any(found.kind == "differs" for found in self._found.values())

    def lines(self) -> list[str]:
        """The figures, for people: of each engine, and of each family on it."""
        lines = []
        for how in dict.fromkeys(how for how, _ in self._found):
            mine = {name: found for (way, name), found in self._found.items() if way == how}
            lines.append(f"{how}: {_counts(mine.values())}")
            for family in dict.fromkeys(name.split("/")[0] for name in mine):
                of_family = (v for name, v in mine.items() if name.split("/")[0] == family)
                lines.append(f"  {family}: {_counts(of_family)}")
            refused = (text for v in mine.values() if v.kind == "refused" for text in v.texts)
            lines += [f"  refused {n}: {text}" for text, n in Counter(refused).most_common()]
            lines += [f"  differs: {name}" for name, v in mine.items() if v.kind == "differs"]
        return lines


def _counts(found: Iterable[Verdict]) -> str:
    counts = Counter(verdict.kind for verdict in found)
    kinds = ", ".join(f"{counts[kind]} {kind}" for kind in get_args(Kind))
    return f"{counts.total()} streams: {kinds}"
