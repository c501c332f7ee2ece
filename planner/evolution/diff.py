"""What differs between two queries: the operators of their plans.

Operators are matched by what their rows mean, not by where they stand: a renamed alias or a
condition in another order is no difference. What is left on either side is paired by kind, in the
order of the data's flow, and compared fact by fact.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import chain
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from ...physical.basic import (
    AdaptiveSparkPlanExec,
    FilterExec,
    ProjectExec,
    StreamingRelationExec,
    UnionExec,
)
from ...physical.exchange import ShuffleExchangeExec
from ...physical.plan import SparkPlan, StatefulOperator
from ...physical.scans import ColumnarToRowExec
from ..model.text.literal_text import time_zone_scope
from .check import meanings
from .refusals import fields_of, fields_text
from .relations import relation_of
from .report import Finding, worst
from .side import Side
from .spelling import order_key
from .symbols import in_order
from .verdicts import Verdict
from .words import key_text, text_of

VERSION = 1
# What they compute is seen in the columns of what stands above.
_UNSEEN = (ProjectExec, AdaptiveSparkPlanExec, ColumnarToRowExec)
Kind = Literal["added", "removed", "moved", "changed"]


class Difference(BaseModel):
    """One difference.

    Attributes:
        kind: what became of it.
        what: an operator's name, `operator id`, `state key`, `setting`, ...
        was, now: before and after; empty where there is none.
        effect: what it does to state, as a verdict.
        why: the effect in words.
    """

    model_config = ConfigDict(frozen=True)
    kind: Kind
    what: str
    was: str = ""
    now: str = ""
    effect: Verdict = "same"
    why: str = ""


class PlanDiff(BaseModel):
    """All differences of two queries, those of state first. Empty if they are the same query."""

    model_config = ConfigDict(frozen=True)
    version: int = VERSION
    verdict: Verdict
    differences: tuple[Difference, ...]

    def json_text(self) -> str:
        """The differences as JSON, indented."""
        return self.model_dump_json(indent=2)


def diff_plans(was: Side, now: Side) -> PlanDiff:
    """The differences between two queries."""
    with time_zone_scope(now.conf.time_zone):
        found = [*_state(was, now), *_operators(was, now), *_settings(was, now)]
    return PlanDiff(verdict=worst([d.effect for d in found]), differences=tuple(found))


# ------------------------------------------------------------------------------------- state


def _state(was: Side, now: Side) -> Iterator[Difference]:
    """Stateful operators by id, with their columns and their meaning."""
    old, new = {o.id: o for o in was.operators}, {o.id: o for o in now.operators}
    names = [[o.name for o in side.operators] for side in (was, now)]
    if names[0] != names[1]:
        yield Difference(
            kind="moved" if sorted(names[0]) == sorted(names[1]) else "changed",
            what="operator ids",
            was=", ".join(f"{i} {o.name}" for i, o in old.items()) or "no state",
            now=", ".join(f"{i} {o.name}" for i, o in new.items()) or "no state",
            effect="refused",
            why="state is found by operator id and name",
        )
        return
    for i, operator in new.items():
        stores = {store.name: store for store in old[i].stores}
        for after in (store for store in operator.stores if store.name in stores):
            before = stores[after.name]
            for which, a, b in (
                ("key", before.key, after.key),
                ("value", before.value, after.value),
            ):
                types = [[f.data_type for f in schema.fields] for schema in (a, b)]
                if types[0] != types[1]:
                    yield Difference(
                        kind="changed",
                        what=f"state {which} of operator {i}",
                        was=fields_text(fields_of(a)),
                        now=fields_text(fields_of(b)),
                        effect="refused",
                        why="Spark compares the types of the columns of state",
                    )
    yield from map(_difference, meanings(was, now))


def _difference(finding: Finding) -> Difference:
    place = "" if finding.operator is None else f" of operator {finding.operator}"
    return Difference(
        kind="changed",
        what=finding.what + place,
        was=finding.was,
        now=finding.now,
        effect=finding.verdict,
        why=finding.why,
    )


# --------------------------------------------------------------------------------- operators


def _operators_of(side: Side) -> list[dict[str, Any]]:
    with side.reading():
        return [n for n in _from_sources(side.plan) if not isinstance(n["operator"], _UNSEEN)]


def _from_sources(plan: SparkPlan) -> list[dict[str, Any]]:
    """The operators from the sources to the sink, each with its meaning and its facts in words.

    The order of a union's inputs makes no difference.
    """
    inputs = [_from_sources(child) for child in plan.children]
    if isinstance(plan, UnionExec):
        inputs.sort(key=lambda nodes: order_key(tuple(node["meaning"] for node in nodes)))
    own = {"operator": plan, "meaning": _meaning(plan), "text": _shown(plan)}
    return [*chain.from_iterable(inputs), own]


def _meaning(node: SparkPlan) -> Hashable:
    """What an operator adds: equal for operators that do the same with the same columns."""
    relation = relation_of(node)
    match node:
        case FilterExec():
            return ("filter", in_order(relation.filters - relation_of(node.child).filters))
        case StreamingRelationExec():
            return ("stream", node.name)
        case ShuffleExchangeExec():
            keys = getattr(node.partitioning, "keys", ())
            number = node.partitioning.num_partitions
            return ("exchange", type(node.partitioning).__name__, number, relation.all_of(keys))
        case StatefulOperator():
            return ("state", type(node).__name__)
        case _:
            return (type(node).__name__,)


def _shown(node: SparkPlan) -> str:
    """An operator's facts in words, without ids."""
    match node:
        case FilterExec():
            relation = relation_of(node)
            parts = in_order(relation.filters - relation_of(node.child).filters)
            return " AND ".join(map(text_of, parts)) or "nothing more"
        case StreamingRelationExec():
            return node.name
        case ShuffleExchangeExec():
            keys = relation_of(node).all_of(getattr(node.partitioning, "keys", ()))
            number = node.partitioning.num_partitions
            return f"{number} partitions by {', '.join(map(key_text, keys)) or 'no key'}"
        case _:
            return ""


def operator_differences(
    was: Side, now: Side
) -> Iterator[tuple[Difference, SparkPlan | None, SparkPlan | None]]:
    """Operators that only one side has, or has elsewhere, from the sources to the sink.

    With the operators themselves, before and after.
    """
    from difflib import SequenceMatcher

    old, new = _operators_of(was), _operators_of(now)
    before, after = ([node["meaning"] for node in nodes] for nodes in (old, new))
    left, right = [], []
    for tag, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            left += old[i:j]
            right += new[k:m]
    for node in left:
        name = node["operator"].node_name
        same = next((n for n in right if n["meaning"] == node["meaning"]), None)
        like = next((n for n in right if n["operator"].node_name == name), None)
        if same is not None:
            right.remove(same)
            moved = Difference(kind="moved", what=name, was=node["text"], now=same["text"])
            yield moved, node["operator"], same["operator"]
        elif like is not None:
            right.remove(like)
            changed = Difference(kind="changed", what=name, was=node["text"], now=like["text"])
            yield changed, node["operator"], like["operator"]
        else:
            yield Difference(kind="removed", what=name, was=node["text"]), node["operator"], None
    for node in right:
        added = Difference(kind="added", what=node["operator"].node_name, now=node["text"])
        yield added, None, node["operator"]


def _operators(was: Side, now: Side) -> Iterator[Difference]:
    """What differs in operators, and in the columns that come out."""
    yield from (difference for difference, _, _ in operator_differences(was, now))
    if was.outputs != now.outputs:
        shown = [", ".join(map(key_text, side.outputs)) for side in (was, now)]
        yield Difference(kind="changed", what="output columns", was=shown[0], now=shown[1])


def _settings(was: Side, now: Side) -> Iterator[Difference]:
    for key in sorted({*was.asked.settings, *now.asked.settings}):
        before, after = was.asked.get(key, ""), now.asked.get(key, "")
        if before != after:
            yield Difference(kind="changed", what=key, was=before, now=after)
    if was.mode != now.mode:
        yield Difference(kind="changed", what="output mode", was=was.mode or "", now=now.mode or "")
