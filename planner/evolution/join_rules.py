"""What a changed fact of a join of two streams does: one rule a fact."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from .change import Change
from .operators import Fact
from .report import Finding
from .symbols import Symbol, made_of

_PADDING = ("Inner", "Cross", "LeftOuter", "RightOuter", "FullOuter")


def join_type(change: Change) -> Iterator[Finding]:
    """Rows and whether they had a match are stored alike for all types but semi joins."""
    facts = change.facts("join type")
    if facts is None:
        return
    was, now = facts
    if was.value in _PADDING and now.value in (*_PADDING, "LeftSemi"):
        why = "the stored rows serve the new join too; what the old one emitted stays as it is"
        yield change.stale("join type", why)
    else:
        why = "the old join did not store the rows that the new one needs"
        yield change.differs("join type", why)


def join_rows(change: Change) -> Iterator[Finding]:
    """Each side's stored rows are matched with the other side's new ones."""
    if "join type" not in change.now.facts:
        return
    retyped = change.facts("join type") is not None
    inner = change.now.facts["join type"].value == "Inner"
    changed = []
    for side in ("left", "right"):
        facts = change.facts(f"{side} rows")
        if facts is None or (retyped and _but_nulls(facts[0]) == _but_nulls(facts[1])):
            continue
        if inner and not retyped and _only_nulls_added(*facts) and change.facts("condition"):
            continue  # the condition derives the filters, and leaves out the same stored rows
        changed.append(side)
    if len(changed) == 2 and inner and not retyped and _same_keys_left_out(change):
        for side in changed:
            why = "rows of keys that are left out find no partner any more"
            yield change.stale(f"{side} rows", why)
        return
    for side in changed:
        why = f"the stored rows of the {side} side are other rows than those that come in now"
        yield change.differs(f"{side} rows", why)
    for side in ("left", "right"):
        if change.facts(f"{side} columns") is not None:
            why = "stored rows are read by the place of their columns"
            yield change.differs(f"{side} columns", why)


def _but_nulls(fact: Fact) -> Hashable:
    """A side's rows without the filters on nulls that Spark derives from the join."""
    base, filters = fact.value
    return base, frozenset(f for f in filters if f[:2] != ("call", "isnotnull"))


def _only_nulls_added(was: Fact, now: Fact) -> bool:
    (was_base, was_filters), (base, filters) = was.value, now.value
    return was_base == base and was_filters <= filters and _but_nulls(was) == _but_nulls(now)


def _same_keys_left_out(change: Change) -> bool:
    """Whether both sides newly leave out the same keys, and nothing else changed in them."""
    left_keys, right_keys = change.now.facts["keys"].value
    to_right = dict(zip(left_keys, right_keys, strict=True))
    added = []
    for side, own in (("left", left_keys), ("right", right_keys)):
        was, now = change.was.facts[f"{side} rows"].value, change.now.facts[f"{side} rows"].value
        (was_base, was_filters), (base, filters) = was, now
        if was_base != base or was_filters - filters:
            return False
        if not made_of(filters - was_filters, frozenset(own)):
            return False
        added.append(filters - was_filters)
    return frozenset(_put(f, to_right) for f in added[0]) == frozenset(added[1])


def _put(value: Hashable, columns: dict[Symbol, Symbol]) -> Hashable:
    if isinstance(value, tuple):
        return columns[value] if value in columns else tuple(_put(v, columns) for v in value)
    if isinstance(value, frozenset):
        return frozenset(_put(v, columns) for v in value)
    return value


def join_condition(change: Change) -> Iterator[Finding]:
    """An inner join's condition chooses among pairs; an outer one's decides what had a match."""
    if change.facts("condition") is None:
        return
    inner = all(o.facts["join type"].value in ("Inner", "Cross") for o in (change.was, change.now))
    if inner:
        why = "the condition chooses among pairs of stored rows; pairs that are out stay out"
        yield change.stale("condition", why)
    else:
        why = "stored rows are marked as matched, or not, by the old condition"
        yield change.differs("condition", why)


def join_retention(change: Change) -> Iterator[Finding]:
    """Rows that the old bounds evicted cannot match any more."""
    for side in ("left", "right"):
        facts = change.facts(f"{side} kept")
        if facts is None:
            continue
        was, now = facts
        if was.value is None or (now.value is not None and now.value <= was.value):
            continue
        why = f"rows of the {side} side that the new bounds would keep were evicted by the old ones"
        yield change.differs(f"{side} kept", why)
