"""What a life leaves: the sink's rows and the state, and how two lives differ."""

from __future__ import annotations

import collections
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from stateplan.runtime.inspection.stored import StoredState, StoredStates
from stateplan.runtime.output_log import visible_files
from stateplan.runtime.state.marks import FLAGS

from .cases import Case
from .sinks import row_text


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What is there when a query has read everything.

    Attributes:
        batches: the sink's rows by batch id, each batch sorted; a file sink has one, 0.
        state: per operator its rows, sorted.
        changed: batches whose rows were others when they came again.
    """

    batches: Mapping[int, list[str]]
    state: Mapping[str, list[str]]
    changed: tuple[int, ...] = ()


def contents(case: Case, folder: Path) -> Contents:
    """Read a life's folder.

    Raises:
        StateplanError, StateError: a file cannot be used.
    """
    if case.sink == "files":
        rows = []
        for file in visible_files(folder / "out"):
            lines = Path(file.path).read_text().splitlines()
            rows += [row_text(json.loads(line)) for line in lines]
        listed = sorted(str(p) for p in (folder / "out").glob("[!._]*"))
        visible = sorted(file.path for file in visible_files(folder / "out"))
        if listed != visible:
            raise AssertionError(f"the output directory lists {listed}, its log {visible}")
        return Contents(batches={0: sorted(rows)}, state=_state(folder))
    kept = folder / "kept"
    batches = {int(p.stem): json.loads(p.read_text()) for p in kept.glob("[0-9]*.json")}
    changed = tuple(sorted(int(p.suffix[1:]) for p in kept.glob("changed.*")))
    return Contents(batches=batches, state=_state(folder), changed=changed)


def _state(folder: Path) -> dict[str, list[str]]:
    """All live rows of each operator at the last commit, as the state store shows them."""
    root = folder / "checkpoint"
    if not list((root / "state").glob("*/runs/v*.json")):
        return {}
    states = StoredStates.open(str(root))
    return {str(operator): state_rows(states.state(operator)) for operator in states.choose(None)}


def state_rows(state: StoredState) -> list[str]:
    """The live rows of a version of an operator's state."""
    found = []
    for _, rows in state.rows():
        kept = rows.values.columns
        if [c.type for c in kept[-len(FLAGS) :]] == [flag.type for flag in FLAGS]:
            # A join numbers its rows as they come, and tasks may read them in any order.
            kept = [*kept[: -len(FLAGS)], kept[-1]]
        columns = [*rows.keys.columns.columns, pa.array(rows.times), *kept]
        values = (column.to_pylist() for column in columns)
        found += [
            json.dumps(list(map(_plain, row)), default=str) for row in zip(*values, strict=True)
        ]
    return sorted(found)


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, list) else value


def differences(case: Case, expected: Contents, found: Contents) -> list[str]:
    """How a life differs from the fault-free one; nothing if it does not."""
    texts = [f"batch {b} came again with other rows" for b in found.changed]
    for operator in sorted({*expected.state, *found.state}):
        texts += _differing(
            f"state of operator {operator}",
            expected.state.get(operator, []),
            found.state.get(operator, []),
        )
    if case.no_data and case.mode == "append":
        return texts + _differing("rows", _all(expected), _all(found))
    if case.no_data:
        return texts + _sequences(_emissions(expected), _emissions(found))
    for batch in sorted({*expected.batches, *found.batches}):
        one, other = expected.batches.get(batch), found.batches.get(batch)
        if one is None or other is None:
            texts.append(f"batch {batch} is {'one too many' if one is None else 'missing'}")
        else:
            texts += _differing(f"batch {batch}", one, other)
    return texts


def _all(of: Contents) -> list[str]:
    return [row for rows in of.batches.values() for row in rows]


def _emissions(of: Contents) -> list[list[str]]:
    """The batches in order that say anything new: those without data come at other times."""
    found: list[list[str]] = []
    for _, rows in sorted(of.batches.items()):
        if rows and (not found or found[-1] != rows):
            found.append(rows)
    return found


def _sequences(expected: list[list[str]], found: list[list[str]]) -> list[str]:
    texts = []
    for number in range(max(len(expected), len(found))):
        one = expected[number] if number < len(expected) else []
        other = found[number] if number < len(found) else []
        texts += _differing(f"emission {number}", one, other)
    return texts


def _differing(what: str, expected: list[str], found: list[str]) -> list[str]:
    here, there = collections.Counter(expected), collections.Counter(found)
    lost, added = list((here - there).elements()), list((there - here).elements())
    texts = []
    if lost:
        texts.append(f"{what}: {len(lost)} rows lost, such as {lost[0]}")
    if added:
        texts.append(f"{what}: {len(added)} rows too many, such as {added[0]}")
    return texts
