"""Whether a run of ours is as the native one, was refused, or differs; and how many are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from stateplan.runtime.comparison import differences

from .cases import Name

NOT_EXACT = "STATEPLAN_NOT_EXACT"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What came of a case.

    Attributes:
        kind: refused: by the embedded engine, for what it does not compute as Spark does.
        texts: why it was refused, or how it differs.
    """

    kind: Literal["equal", "refused", "differs"]
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


@dataclass
class Tally:
    """The verdicts of one engine, or of both in turns."""

    how: str
    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    differing: list[Name] = field(default_factory=list)

    def add(self, name: Name, found: Verdict) -> None:
        """Take in a case."""
        self.counts[found.kind] += 1
        if found.kind == "refused":
            self.reasons.update(found.texts)
        elif found.kind == "differs":
            self.differing.append(name)

    def lines(self) -> list[str]:
        """The figures, for people."""
        counts = ", ".join(
            f"{self.counts[kind]} {kind}" for kind in ("equal", "refused", "differs")
        )
        lines = [f"{self.how}: {self.counts.total()} streams: {counts}"]
        lines += [f"  refused {count}: {text}" for text, count in self.reasons.most_common()]
        return lines + [f"  differs: {name}" for name in self.differing]
