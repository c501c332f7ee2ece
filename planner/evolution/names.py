"""Stateful operators by name: our runtime finds the state of those that a user named by that.

Spark knows operators by their place, counted from the sink: one that is added shifts all below it.
The names, and which id each has in a checkpoint, are in a file of ours beside Spark's:
`{"version": 1, "names": {"totals": {"id": 0, "since": 0}}}`, `since` the first batch with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...physical.plan import StatefulOperator, StateStoreWriter
from ..model.frozen import dataclass
from ..model.tree import replace as replace_node
from .change import NEW_CHECKPOINT
from .report import Finding
from .side import Side
from .stored import StoredCheckpoint

NAMES_FILE = "operator_names.json"
VERSION = 1
CONDITION = "STATEPLAN_OPERATOR_NAMES"


@dataclass(frozen=True)
class StoredName:
    """A named operator of a checkpoint: its id, and the first batch that it was there for."""

    id: int
    since: int


def names_document(names: Mapping[str, StoredName]) -> dict[str, Any]:
    """The file's content."""
    entries = {name: {"id": one.id, "since": one.since} for name, one in names.items()}
    return {"version": VERSION, "names": entries}


def names_from(document: Mapping[str, Any]) -> dict[str, StoredName] | None:
    """What a file says; None if it is none of ours."""
    try:
        if document["version"] != VERSION:
            return None
        entries = document["names"].items()
        return {str(name): StoredName(int(e["id"]), int(e["since"])) for name, e in entries}
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def operators_by_name(stored: StoredCheckpoint, now: Side) -> Iterator[Finding]:
    """Operators of a checkpoint that knows them by name.

    None may be missing; new ones start without state.
    """
    known = stored.names or {}
    if not now.named:
        yield _refused("the checkpoint knows its stateful operators by name", ", ".join(known))
        return
    ids = {o.id: o.name for o in now.operators}
    for name, number in known.items():
        old = stored.operators.get(number)
        if number not in ids:
            yield _refused(f"no operator has the name '{name}' any more", name)
        elif old is not None and old.name not in (None, ids[number]):
            why = f"'{name}' is another operator now: its state cannot be read"
            yield _refused(why, f"{name}: {old.name}", f"{name}: {ids[number]}")
    for operator in now.operators:
        if operator.id not in known.values():
            yield Finding(
                verdict="differs",
                what="operators",
                operator=operator.id,
                now=operator.name,
                why="it is new and starts without state: rows from before are not in it",
                action=f"accept that, or {NEW_CHECKPOINT}",
            )


def _refused(why: str, was: str, now: str = "") -> Finding:
    return Finding(
        verdict="refused",
        what="operators",
        was=was,
        now=now,
        why=why,
        action=f"keep the names with their operators, or {NEW_CHECKPOINT}",
        condition=CONDITION,
        phase="start",
    )


def as_on_spark(
    stored: StoredCheckpoint, now: Side, was: Side | None
) -> tuple[StoredCheckpoint, Side, Side | None]:
    """The checkpoint and the queries as Spark would have them: without names, ids by place."""
    before, ids = (None, {}) if was is None else _by_place(was)
    operators = {
        ids.get(i, i): replace(operator, id=ids.get(i, i))
        for i, operator in stored.operators.items()
    }
    return replace(stored, names=None, operators=operators), _by_place(now)[0], before


def _by_place(side: Side) -> tuple[Side, dict[int, int]]:
    writers = [w.state_info for w in side.plan.collect(StateStoreWriter)]
    ids = {info.operator_id: place for place, info in enumerate(writers) if info is not None}

    def numbered(node: Any) -> Any:
        if isinstance(node, StatefulOperator) and node.state_info is not None:
            info = replace(node.state_info, operator_id=ids[node.state_info.operator_id])
            return replace_node(node, state_info=info)
        return node

    return replace(side, plan=side.plan.transform_up(numbered), named=False), ids
