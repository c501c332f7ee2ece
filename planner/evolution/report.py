"""What a check found: data for programs; printed by printing.py."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ..advice import Advice
from .verdicts import VERDICTS, Verdict

VERSION = 1
Phase = Literal["analysis", "start", "plan", "batch"]
Basis = Literal["query", "stored plan", "checkpoint"]

MEANS: dict[Verdict, str] = {
    "same": "the state keeps its meaning, and so does the output",
    "stale": "what is emitted from now on is right; rows that the old query wrote, or did not "
    "write, stay as they are",
    "differs": "Spark accepts it, but the state means something else: wrong answers",
    "refused": "Spark does not go on from this checkpoint",
}


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True)


class Finding(_Data):
    """One thing that a change does.

    Attributes:
        verdict: what it comes to.
        what: the thing that changed (`keys`, `window`, `sources`, ...).
        operator: the stateful operator's id, None for the whole query.
        was, now: before and after.
        why: why that matters, in a sentence.
        action: what to do.
        condition: Spark's error condition, where it refuses.
        phase: where it does so.
    """

    verdict: Verdict
    what: str
    operator: int | None = None
    was: str = ""
    now: str = ""
    why: str
    action: str
    condition: str | None = None
    phase: Phase | None = None


class OperatorReport(_Data):
    """One stateful operator of the new query.

    `line` is where it comes from in the user's text.
    """

    id: int
    name: str
    line: str | None = None
    verdict: Verdict = "same"


class IgnoredSetting(_Data):
    """A setting that the checkpoint pins: the new value is not applied.

    `action` is how it can be changed all the same.
    """

    setting: str
    pinned: str
    asked: str
    action: str


class CheckReport(_Data):
    """The answer to: may this query go on from this checkpoint?

    Attributes:
        version: of this form.
        verdict: the worst of all findings.
        condition: Spark's error condition, if it refuses.
        phase: where it does so.
        compared_with: the old query (`query`), the plan that our runtime stored (`stored plan`), or
            no more than the checkpoint's files (`checkpoint`).
        operators: the stateful operators, those nearest the sink first.
        findings: in the order in which Spark comes to them.
        ignored: settings that are not applied.
        cannot_tell: what the material at hand says nothing about.
        advice: on the new query, if it is asked for.
        on_spark: what Spark, which knows no names, does with the same change: the verdict, and the
            condition where it refuses; None where operators have no names.
    """

    version: int = VERSION
    verdict: Verdict
    condition: str | None = None
    phase: Phase | None = None
    compared_with: Basis
    operators: tuple[OperatorReport, ...] = ()
    findings: tuple[Finding, ...] = ()
    ignored: tuple[IgnoredSetting, ...] = ()
    cannot_tell: tuple[str, ...] = Field(default=())
    advice: tuple[Advice, ...] | None = None
    on_spark: tuple[Verdict, str | None] | None = None

    def json_text(self) -> str:
        """The report as JSON, indented."""
        return self.model_dump_json(indent=2)


def worst(verdicts: list[Verdict]) -> Verdict:
    """The worst of some verdicts; `same` of none."""
    return max(verdicts, key=VERDICTS.index, default="same")
