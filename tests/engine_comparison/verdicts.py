"""From two engines' outcomes to a verdict, and from verdicts to the table's entries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stateplan.runtime.engines.agreement import EQUAL, RAISES
from stateplan.runtime.engines.embedded_errors import spark_error

from .engines import Outcome, Setting

LONGEST = 110


def verdict(spark: Outcome, sail: Outcome) -> str | None:
    """The table's word on one expression under one setting; None where Spark itself has none."""
    if spark.error is not None:
        return None
    if sail.error is not None:
        how = "fails where Spark gives a value" if sail.planned else "is refused"
        return f"{how}: {_brief(sail.error)}"
    if spark.type != sail.type:
        return _brief(f"differs: type {sail.type}, Spark {spark.type}")
    for row, value in spark.rows.items():
        other = sail.rows.get(row)
        if other != value:
            return _brief(f"differs: {_brief(str(other), 45)}, Spark {_brief(value, 45)}")
    return _of_errors(spark, sail)


def verdict_on_rows(spark: dict[str, Any], sail: dict[str, Any], *, ordered: bool) -> str:
    """The table's word on a whole query."""
    wrong, found = spark.get("error"), sail.get("error")
    if wrong is not None and found is not None:
        known = spark_error(found)
        same = known is not None and known.condition == wrong
        return RAISES if same else _brief(f"fails with other words than {wrong}: {found}")
    if found is not None:
        return f"is refused: {_brief(found)}"
    if wrong is not None:
        return f"differs: rows where Spark fails with {wrong}"
    if spark["type"] != sail["type"]:
        return _brief(f"differs: type {sail['type']}, Spark {spark['type']}")
    one, other = spark["list"], sail["list"]
    if not ordered:
        one, other = sorted(one), sorted(other)
    if len(one) != len(other):
        return f"differs: {len(other)} rows, Spark {len(one)}"
    for value, mine in zip(one, other, strict=True):
        if value != mine:
            return _brief(f"differs: {_brief(mine, 45)}, Spark {_brief(value, 45)}")
    return EQUAL


def _of_errors(spark: Outcome, sail: Outcome) -> str:
    for row, condition in spark.errors.items():
        text = sail.errors.get(row)
        if text is None:
            return f"differs: a value where Spark fails with {condition}"
        known = spark_error(text)
        if known is None or known.condition != condition:
            return _brief(f"fails with other words than {condition}: {text}")
    return RAISES if spark.failing else EQUAL


def _brief(text: str, longest: int = LONGEST) -> str:
    """One line without what changes from run to run."""
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"#\d+|0x[0-9a-f]+|\bid: \d+", "#", text)
    return text if len(text) <= longest else text[: longest - 3] + "..."


def worst(verdicts: list[str]) -> str:
    """The verdict on a signature from those on its expressions."""
    bad = [found for found in verdicts if found not in (EQUAL, RAISES)]
    return bad[0] if bad else RAISES if RAISES in verdicts else EQUAL


def entry(found: Mapping[Setting, str]) -> str | dict[str, str]:
    """What the table holds of a signature: one verdict, or one per mode, or per mode and zone."""
    if len(set(found.values())) == 1 and {ansi for ansi, _ in found} == {True, False}:
        return next(iter(found.values()))
    parts: dict[str, str] = {}
    for ansi, name in ((True, "ansi"), (False, "legacy")):
        mine = {zone: text for (mode, zone), text in found.items() if mode == ansi}
        if not mine:
            continue
        if len(set(mine.values())) == 1:
            parts[name] = next(iter(mine.values()))
        else:
            for zone, text in mine.items():
                parts[f"{name}, {'UTC' if zone == 'UTC' else 'other zones'}"] = text
    return dict(sorted(parts.items()))
