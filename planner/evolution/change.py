"""One stateful operator before and after, as the rules see it; the actions that findings name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..model.frozen import dataclass
from .operators import Fact, OperatorMeaning
from .report import Finding
from .verdicts import Verdict

NEW_CHECKPOINT = "start with a new checkpoint"
KEEP = "keep the old one, or " + NEW_CHECKPOINT
REBUILD = "rebuild what the sink holds, or accept that older rows stay"


@dataclass(frozen=True)
class Change:
    """One operator, before and after."""

    was: OperatorMeaning
    now: OperatorMeaning
    was_mode: str | None
    mode: str | None

    def facts(self, name: str) -> tuple[Fact, Fact] | None:
        """A fact before and after, if it changed."""
        before, after = self.was.facts.get(name), self.now.facts.get(name)
        if before is None or after is None or before.value == after.value:
            return None
        return before, after

    def finding(
        self, what: str, verdict: Verdict, was: str, now: str, why: str, action: str = ""
    ) -> Finding:
        """A finding about this operator; where both texts are the same, the later says so.

        What Spark refuses of a change that it has planned, it refuses as the first batch runs.
        """
        if was == now:
            now = f"{now}, of another meaning"
        return Finding(
            verdict=verdict,
            what=what,
            operator=self.now.id,
            was=was,
            now=now,
            why=why,
            action=action or (REBUILD if verdict == "stale" else KEEP),
            phase="batch" if verdict == "refused" else None,
        )

    def found(self, fact: str, verdict: Verdict, why: str) -> Finding:
        """A finding about a fact of this operator."""
        was, now = self.was.facts[fact], self.now.facts[fact]
        return self.finding(fact, verdict, was.text, now.text, why)


Rule = Callable[[Change], Iterator[Finding]]
