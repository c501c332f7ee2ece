"""The table as a file: sorted, one signature a line, the same for the same measurements."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from stateplan.planner.model import registry
from stateplan.planner.model.expressions.core import Expression
from stateplan.planner.model.registry import FunctionSpec
from stateplan.runtime.engines.agreement import EQUAL, RAISES, TABLE, Setting
from stateplan.runtime.engines.signatures import Signature, signatures

Entry = str | dict[str, str]
MODES = ("ansi", "legacy")
SECTIONS = ("expressions", "guards", "readers", "rewritten", "steps")


def load(path: Path = TABLE) -> dict[str, Any]:
    """The table; an empty one where there is no file yet."""
    if not path.exists():
        return {"sections": {section: {} for section in SECTIONS}}
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def text_of(content: Mapping[str, Any]) -> str:
    """The file's text."""
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def save(content: Mapping[str, Any], path: Path = TABLE) -> None:
    path.write_text(text_of(content), encoding="utf-8")


def put(
    content: dict[str, Any],
    section: str,
    signature: Signature,
    entry: Entry,
    modes: Iterable[str] = MODES,
) -> None:
    """Write an entry, of which some modes were measured; what was known of others stays."""
    names = content["sections"].setdefault(section, {})
    before = names.get(signature.name, {}).get(signature.arguments, {})
    known = _by_mode(before)
    for mode in modes:
        known = {key: word for key, word in known.items() if key.split(",")[0] != mode}
    known |= _by_mode(entry)
    if set(known) == set(MODES) and len(set(known.values())) == 1:
        names.setdefault(signature.name, {})[signature.arguments] = known["ansi"]
    elif known:
        names.setdefault(signature.name, {})[signature.arguments] = dict(sorted(known.items()))
    elif before:
        del names[signature.name][signature.arguments]
        if not names[signature.name]:
            del names[signature.name]


def has(content: Mapping[str, Any], signature: Signature, modes: Iterable[str]) -> bool:
    """Whether an expression was measured in all of the modes."""
    entry = content["sections"]["expressions"].get(signature.name, {}).get(signature.arguments, {})
    return {*modes} <= {key.split(",")[0] for key in _by_mode(entry)}


def agrees(content: Mapping[str, Any], expression: Expression, setting: tuple[bool, str]) -> bool:
    """Whether all parts of an expression were found equal, in their plain form."""
    keys = Setting(*setting).keys
    names = content["sections"]["expressions"]
    found = [
        _by_mode(names.get(signature.name, {}).get(signature.arguments, {}))
        for part in expression.walk()
        for signature in signatures(part)
    ]
    return all(any(one.get(key) == EQUAL for key in keys) for one in found)


def _by_mode(entry: Entry) -> dict[str, str]:
    return dict.fromkeys(MODES, entry) if isinstance(entry, str) else dict(entry)


def merge(content: dict[str, Any], other: Mapping[str, Any]) -> int:
    """Take over what other values have shown to differ; how many entries were changed.

    What is equal stays so only where both found it; what differed keeps its first words.
    """
    changed = 0
    for section, names in other["sections"].items():
        for name, entries in names.items():
            for arguments, entry in entries.items():
                before = content["sections"][section].get(name, {}).get(arguments)
                if before is None:
                    continue
                worst = _worst(_by_mode(before), _by_mode(entry))
                put(content, section, Signature(name, arguments), worst)
                changed += content["sections"][section][name].get(arguments) != before
    return changed


def _worst(one: dict[str, str], other: dict[str, str]) -> dict[str, str]:
    """Of each mode, and of each time zone where either has one, the word that is not equal."""
    found = {}
    for key in {*one, *other}:
        mode = key.split(",")[0]
        if key == mode and any(k.startswith(f"{mode},") for k in (*one, *other)):
            continue  # it is said of each time zone below
        words = [each.get(key, each.get(mode)) for each in (one, other)]
        if None not in words:
            found[key] = next((w for w in words if w not in (EQUAL, RAISES)), "") or (
                RAISES if RAISES in words else EQUAL
            )
    return found


def put_reasons(content: dict[str, Any]) -> None:
    """Say of each function without an entry why it was not compared."""
    have = {*content["sections"]["expressions"], *content["sections"]["steps"]}
    specs = (registry.lookup(name) for name in registry.names())
    content["not compared"] = {spec.name: _reason(spec) for spec in specs if spec.name not in have}


def _reason(spec: FunctionSpec) -> str:
    if spec.kind == "window":
        return "is computed over a window, and the engine is not asked for one"
    if not spec.deterministic:
        return "changes from call to call"
    if spec.replacement is not None:
        return "the optimizer puts another expression in its place"
    return "no case is made for it"


def runs(entry: Entry) -> bool:
    """Whether the signature runs on the embedded engine in Spark's default, ANSI mode, in UTC."""
    if isinstance(entry, str):
        return entry in (EQUAL, RAISES)
    return any(entry.get(key) in (EQUAL, RAISES) for key in ("ansi", "ansi, UTC"))


def is_rewritten(entry: Entry) -> bool:
    """The same of an entry that names a rewrite."""
    return isinstance(entry, str) or any(key in entry for key in ("ansi", "ansi, UTC"))


def summary(
    content: Mapping[str, Any], computed_here: frozenset[tuple[str, str]] = frozenset()
) -> str:
    """Per section how many signatures run in ANSI mode and UTC, plainly or rewritten.

    And how many expressions with those that our own code computes.
    """
    lines = []
    sections = content["sections"]
    forms = sections.get("rewritten", {})
    for section, names in sorted(sections.items()):
        if section == "rewritten":
            continue
        total = sum(map(len, names.values()))
        plain = {
            (name, arguments)
            for name, entries in names.items()
            for arguments, entry in entries.items()
            if runs(entry)
        }
        other = {
            (name, arguments)
            for name, entries in (forms.items() if section == "expressions" else ())
            for arguments, entry in entries.items()
            if is_rewritten(entry) and (name, arguments) not in plain
        }
        count = len(plain) + len(other)
        share = 100 * count / max(1, total)
        line = f"{section:12} {count:6} of {total:6} signatures run ({share:.0f} %)"
        lines.append(line + (f", {len(other)} of them rewritten" if other else ""))
        if section == "expressions" and computed_here:
            known = {(name, arguments) for name, entries in names.items() for arguments in entries}
            count = len(plain | other | known & computed_here)
            share = 100 * count / max(1, total)
            lines.append(f"{'':12} {count:6} of {total:6} with our own code ({share:.0f} %)")
    return "\n".join(lines)
