"""Asks both engines for the expressions of signatures, and gives verdicts."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from stateplan.planner.model.expressions.core import Expression, LambdaFunction
from stateplan.runtime.engines.agreement import EQUAL, FAILS, RAISES
from stateplan.runtime.engines.exact import ExactForm
from stateplan.runtime.engines.rewrites import fitting
from stateplan.runtime.engines.signatures import Signature

from .cases import Case, sql_of
from .engines import Embedded, LiveSpark, Outcome, Setting
from .programs import Program
from .verdicts import verdict, verdict_on_rows, worst

ASKED_GROUPS = 4
ZONE = "America/New_York"
_TIMES = re.compile("time|date|unix|json|csv|zone|hour|minute|second|day|year|month|interval")
Verdicts = dict[Signature, dict[Setting, str]]


def settings_for(signature: Signature, ansi: bool) -> list[Setting]:
    """Both zones where a time may be in it."""
    zones = ("UTC", ZONE) if _TIMES.search(str(signature)) else ("UTC",)
    return [(ansi, zone) for zone in zones]


class Comparison:
    """Both engines, and what Spark said before.

    Args:
        start: starts Spark, when it is first asked.
        sail: the embedded engine.
        answers: a file that keeps what Spark said, if any.
    """

    def __init__(
        self, start: Callable[[], LiveSpark], sail: Embedded, answers: Path | None = None
    ) -> None:
        self.sail = sail
        self._start = start
        self._spark: LiveSpark | None = None
        self._file = answers
        self._known: dict[tuple[Setting, str], Outcome] = {}
        self._programs: dict[tuple[Setting, str], dict[str, Any]] = {}
        if answers is not None and answers.exists():
            self._known, self._programs = pickle.loads(answers.read_bytes())

    @property
    def spark(self) -> LiveSpark:
        """Spark, started when it is first asked."""
        if self._spark is None:
            self._spark = self._start()
        return self._spark

    def keep(self) -> None:
        if self._file is not None:
            self._file.write_bytes(pickle.dumps((self._known, self._programs)))

    def measure(
        self,
        signatures: list[Signature],
        cases: Mapping[bool, Mapping[Signature, Case]],
        agrees: Callable[[Expression, Setting], bool],
    ) -> tuple[Verdicts, Verdicts]:
        """The verdict on each signature per setting, and the rewrite that is equal, if one is.

        A function is compared over those bodies of its lambda that agree already.
        """
        plain: Verdicts = {}
        rewritten: Verdicts = {}
        plan: dict[Setting, list[Case]] = {}
        for ansi, group in cases.items():
            for signature in signatures:
                if signature in group:
                    for setting in settings_for(signature, ansi):
                        plan.setdefault(setting, []).append(group[signature])
        for setting, wanted in plan.items():
            wanted = [_with_bodies(case, partial(agrees, setting=setting)) for case in wanted]
            words = self._verdicts(setting, list({sql for case in wanted for sql in case.forms}))
            open_cases = []
            for case in wanted:
                found = [words[sql] for sql in case.forms if sql in words]
                if found:
                    plain.setdefault(case.signature, {})[setting] = worst(found)
                    if worst(found) not in (EQUAL, RAISES):
                        open_cases.append(case)
            for signature, name in self._rewrites(setting, open_cases).items():
                rewritten.setdefault(signature, {})[setting] = name
        return plain, rewritten

    def measure_aggregates(
        self, cases: Mapping[bool, Mapping[Signature, Case]], only: str
    ) -> Verdicts:
        """The verdict on each aggregate: over groups and over nothing."""
        found: dict[Signature, dict[Setting, list[str]]] = {}
        for ansi, group in cases.items():
            wanted: dict[str, list[Signature]] = {}
            for signature, case in group.items():
                for sql in case.forms if re.search(only, str(signature)) else ():
                    wanted.setdefault(sql, []).append(signature)
            for shape in ("groups", "nothing"):
                for sql, word in self._grouped((ansi, "UTC"), list(wanted), shape).items():
                    for signature in wanted[sql]:
                        found.setdefault(signature, {}).setdefault((ansi, "UTC"), []).append(word)
        return {
            signature: {setting: worst(words) for setting, words in each.items()}
            for signature, each in found.items()
        }

    def _grouped(self, setting: Setting, sqls: list[str], shape: str) -> dict[str, str]:
        new = [sql for sql in sqls if (setting, f"{shape} {sql}") not in self._known]
        if new:
            for sql, outcome in self.spark.groups(setting, new, shape).items():
                self._known[setting, f"{shape} {sql}"] = outcome
        theirs = {sql: self._known[setting, f"{shape} {sql}"] for sql in sqls}
        failing = [sql for sql in sqls if theirs[sql].error is not None]
        fine = [sql for sql in sqls if theirs[sql].error is None]
        ours = self.sail.groups(setting, fine, shape) if fine else {}
        words = {sql: verdict(theirs[sql], ours[sql]) or EQUAL for sql in fine}
        if shape != "groups":
            return words
        for sql in failing:
            each = [self._one_group(setting, sql, number) for number in range(ASKED_GROUPS)]
            known = [word for word in each if word is not None]
            if known:
                words[sql] = worst(known)
        return words

    def _one_group(self, setting: Setting, sql: str, number: int) -> str | None:
        """The verdict on an aggregate over one group, where it fails over another."""
        shape = f"group {number}"
        key = setting, f"{shape} {sql}"
        if key not in self._known:
            self._known.update({key: self.spark.groups(setting, [sql], shape)[sql]})
        theirs, ours = self._known[key], self.sail.groups(setting, [sql], shape)[sql]
        if theirs.error is None:
            return verdict(theirs, ours)
        if " " in theirs.error or theirs.error.startswith("DATATYPE_MISMATCH"):
            return None
        return verdict_on_rows({"error": theirs.error}, _as_rows(ours), ordered=False)

    def measure_programs(
        self, programs: list[Program], place: str, modes: Iterable[bool]
    ) -> dict[str, Verdicts]:
        """Per section the verdicts on whole queries, with or without ANSI mode."""
        found: dict[str, dict[Signature, dict[Setting, list[str]]]] = {}
        for program in programs:
            for setting in [s for m in modes for s in settings_for(program.signature, m)]:
                key = setting, program.text
                if key not in self._programs:
                    self._programs[key] = self.spark.run(setting, program.text, place)
                ours = self.sail.run(setting, program.text, place)
                word = verdict_on_rows(self._programs[key], ours, ordered=program.ordered)
                section = found.setdefault(program.section, {})
                section.setdefault(program.signature, {}).setdefault(setting, []).append(word)
        return {
            section: {
                signature: {setting: worst(words) for setting, words in each.items()}
                for signature, each in signatures.items()
            }
            for section, signatures in found.items()
        }

    def _verdicts(self, setting: Setting, sqls: list[str]) -> dict[str, str]:
        new = [sql for sql in sqls if (setting, sql) not in self._known]
        if new:
            for sql, outcome in self.spark.ask(setting, new).items():
                self._known[setting, sql] = outcome
        usable = [sql for sql in sqls if self._known[setting, sql].error is None]
        return self._compare(setting, {sql: sql for sql in usable})

    def _compare(self, setting: Setting, asked: Mapping[str, str]) -> dict[str, str]:
        """Verdicts on the engine's SQL, beside the Spark SQL whose outcome it should have."""
        theirs = {sql: self._known[setting, plain] for sql, plain in asked.items()}
        ours = self.sail.ask(setting, list(asked), theirs)
        words = {sql: verdict(theirs[sql], ours[sql]) for sql in asked}
        return {sql: word for sql, word in words.items() if word is not None}

    def _rewrites(self, setting: Setting, cases: list[Case]) -> dict[Signature, str]:
        """The first rewrite of each case that is equal for all of its expressions."""
        asked: dict[str, str] = {}
        offered: dict[Signature, dict[str, list[str]]] = {}
        for case in cases:
            usable = {
                sql: form
                for sql, form in case.forms.items()
                if self._known[setting, sql].error is None
            }
            for name, forms in _forms(list(usable.values()), setting[1]).items():
                texts = [sql_of(form) for form in forms]
                offered.setdefault(case.signature, {})[name] = texts
                asked.update(zip(texts, usable, strict=True))
        words = self._compare(setting, asked) if asked else {}
        found: dict[Signature, str] = {}
        for signature, names in offered.items():
            for name, texts in names.items():
                word = worst([words[text] for text in texts])
                if word in (EQUAL, RAISES):
                    found[signature] = name + (FAILS if word == RAISES else "")
                    break
        return found


def _with_bodies(case: Case, agrees: Callable[[Expression], bool]) -> Case:
    """A case with only those expressions whose lambdas have a body that agrees, if any has."""
    lambdas = {
        sql: [child.body for child in form.children if isinstance(child, LambdaFunction)]
        for sql, form in case.forms.items()
    }
    kept = {sql: form for sql, form in case.forms.items() if all(map(agrees, lambdas[sql]))}
    return Case(case.signature, kept) if kept else case


def _as_rows(outcome: Outcome) -> dict[str, Any]:
    return {"type": outcome.type, "list": [], "error": outcome.error}


def _forms(expressions: list[Expression], zone: str) -> dict[str, list[ExactForm]]:
    """Per rewrite that fits all of the expressions its forms, in the order of trying."""
    found: dict[str, list[ExactForm]] = {}
    for expression in expressions:
        for form in fitting(expression, zone):
            found.setdefault(form.rewrite, []).append(form)
    return {name: forms for name, forms in found.items() if len(forms) == len(expressions)}
