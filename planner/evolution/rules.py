"""What a changed fact of a stateful operator does: one rule a fact, tried in order.

A rule gets the operator before and after, and gives a finding, or nothing where its fact is the
same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from ..model.plans.join_types import INNER_JOINS, OUTER_JOINS
from .change import KEEP, Change, Rule
from .implied import is_null_check, not_following
from .operators import Fact
from .report import Finding
from .spelling import Symbol, order_key
from .stored_meaning import filled, nulls_ignored, overwritten, readable, serves, within
from .symbols import made_of
from .verdicts import Verdict

_PADDING = (*INNER_JOINS, *OUTER_JOINS)
Effect = tuple[Verdict, str] | None
"""What a changed fact does, and why that matters; None where nothing is at stake."""
FactRule = Callable[[Change, str, Fact, Fact], Effect]


def about(*names: str) -> Callable[[FactRule], Rule]:
    """Makes a rule that is asked about each of these facts that changed, before and after."""

    def decorate(rule: FactRule) -> Rule:
        def findings(change: Change) -> Iterator[Finding]:
            for name in names:
                facts = change.facts(name)
                effect = facts and rule(change, name, *facts)
                if effect:
                    yield change.found(name, *effect)

        return findings

    return decorate


@about("join type")
def join_type(change: Change, fact: str, was: Fact, now: Fact) -> Effect:
    """Rows and whether they had a match are stored alike for all types but semi joins."""
    if was.value in _PADDING and now.value in (*_PADDING, "LeftSemi"):
        why = "the stored rows serve the new join too; what the old one emitted stays as it is"
        return "stale", why
    return "differs", "the old join did not store the rows that the new one needs"


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
            yield change.found(f"{side} rows", "stale", why)
        return
    for side in changed:
        why = f"the stored rows of the {side} side are other rows than those that come in now"
        yield change.found(f"{side} rows", "differs", why)
    for side in ("left", "right"):
        if change.facts(f"{side} columns"):
            why = "stored rows are read by the place of their columns"
            yield change.found(f"{side} columns", "differs", why)


def _but_nulls(fact: Fact) -> Hashable:
    """A side's rows without the filters on nulls that Spark derives from the join."""
    base, filters = fact.value
    return base, frozenset(f for f in filters if not is_null_check(f))


def _only_nulls_added(was: Fact, now: Fact) -> bool:
    (was_base, was_filters), (base, filters) = was.value, now.value
    tighter = not not_following(was_filters, filters)
    return was_base == base and tighter and _but_nulls(was) == _but_nulls(now)


def _same_keys_left_out(change: Change) -> bool:
    """Whether both sides newly leave out the same keys, and nothing else changed in them."""
    left_keys, right_keys = change.now.facts["keys"].value
    to_right = dict(zip(left_keys, right_keys, strict=True))
    added = []
    for side, own in (("left", left_keys), ("right", right_keys)):
        was, now = change.was.facts[f"{side} rows"].value, change.now.facts[f"{side} rows"].value
        (was_base, was_filters), (base, filters) = was, now
        if was_base != base or not_following(was_filters, filters):
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


@about("condition")
def join_condition(change: Change, fact: str, was: Fact, now: Fact) -> Effect:
    """An inner join's condition chooses among pairs; an outer one's decides what had a match."""
    inner = all(o.facts["join type"].value in INNER_JOINS for o in (change.was, change.now))
    if inner:
        why = "the condition chooses among pairs of stored rows; pairs that are out stay out"
        return "stale", why
    return "differs", "stored rows are marked as matched, or not, by the old condition"


@about("left kept", "right kept")
def join_retention(change: Change, fact: str, was: Fact, now: Fact) -> Effect:
    """Rows that the old bounds evicted cannot match any more."""
    if was.value is None or (now.value is not None and now.value <= was.value):
        return None
    side = fact.split()[0]
    why = f"rows of the {side} side that the new bounds would keep were evicted by the old ones"
    return "differs", why


@about("keys", "session")
def keys(change: Change, fact: str, was: Fact, now: Fact) -> Effect:
    """State is found by its keys, in their order."""
    why = "rows of state were stored under the old keys: new rows meet state of other groups"
    if _same_set(was.value, now.value):
        why = "the keys' order is part of what state is found by: no old row is found again"
    if fact == "session" or ("aggregates" in change.now.facts and "window(" in was.text):
        why = "state holds groups of the old windows, and new rows go to others beside them"
    return "differs", why


def _same_set(was: Iterable[Hashable], now: Iterable[Hashable]) -> bool:
    return sorted(map(order_key, was)) == sorted(map(order_key, now))


@about("aggregates")
def aggregates(change: Change, fact: str, was: Fact, now: Fact) -> Effect:
    """Buffers differ by their place alone, and by what they make of rows that pass all filters."""
    filters = _all_filters(change)
    pairs = zip(was.value, now.value, strict=False)
    both = [(within(one, filters), within(other, filters)) for one, other in pairs]
    changed = [pair for pair in both if pair[0] != pair[1]]
    changed = [pair for pair in changed if not serves(*pair)]
    if not changed and len(was.value) == len(now.value):
        return None
    if not all(readable(*pair) for pair in changed):
        why = "the stored bytes are those of another kind of object: reading them fails the batch"
        return "refused", why
    if change.mode == "update" and _has_keys(change) and all(filled(*pair) for pair in changed):
        why = "each new row makes a number of the old null; groups without one stay null"
        return "stale", why
    if change.mode == "update" and all(overwritten(new) for _, new in changed):
        why = "each new row overwrites what the buffer held; groups without one keep the old value"
        return "stale", why
    if _same_set(_functions(was.value), _functions(now.value)):
        why = "buffers are read by their place: each function goes on from another one's numbers"
        return "differs", why
    why = "the stored numbers are of the old function or column, and new rows are added to them"
    return "differs", why


def _all_filters(change: Change) -> frozenset[Symbol]:
    """The filters of the rows before and now, where these differ."""
    facts = change.facts("input")
    return frozenset() if facts is None else facts[0].value[1] | facts[1].value[1]


def _has_keys(change: Change) -> bool:
    """Whether each group has a row; without keys there is one of none."""
    return bool(change.now.facts["keys"].value)


def _functions(buffers: Iterable[Symbol]) -> tuple[Hashable, ...]:
    return tuple(buffer[2] if len(buffer) == 3 else buffer for buffer in buffers)


@about("limit")
def limit(change: Change, fact: str, was: Fact, now: Fact) -> Effect:
    """State is the number of rows let through so far."""
    if now.value < was.value:
        return "stale", "rows beyond the new limit may be out already; from now on it is kept"
    return "differs", "rows that the old limit dropped are gone, and others come out in their place"


@about("input")
def inputs(change: Change, fact: str, was: Fact, now: Fact) -> Effect:
    """State was made of the rows that reached the operator."""
    (was_base, was_filters), (base, filters) = was.value, now.value
    added, removed = filters - was_filters, not_following(was_filters, filters)
    known = _known(change.now.facts["keys"].value) if "keys" in change.now.facts else frozenset()
    whole_groups = was_base == base and not removed and made_of(frozenset(added), known)
    # Checks for null may be moved below the watermark, which rows with a null then move no more.
    moves = "watermark" in change.now.facts and any(map(is_null_check, added))
    if (
        whole_groups
        and not moves
        and change.mode != "complete"
        and not (change.mode == "append" and "aggregates" in change.now.facts)
    ):
        return "stale", "the filter leaves out whole groups: what is in the sink of them stays"
    if was_base == base and (added or removed) and _count_for_nothing(change, added, removed):
        return (
            "stale",
            "rows that the filter leaves out change no buffer; groups of only these stay",
        )
    return "differs", "the state was made of other rows than those that come in now"


def _count_for_nothing(
    change: Change, added: frozenset[Symbol], removed: frozenset[Symbol]
) -> bool:
    """Whether rows that fail a filter add nothing to any buffer, and only make groups come out."""
    if change.mode != "update" or "watermark" in change.now.facts:
        return False
    for filters, unfiltered in ((added, change.was), (removed, change.now)):
        buffers = unfiltered.facts.get("aggregates")
        if buffers is None or not buffers.value:
            return False
        ignored = [nulls_ignored(buffer) for buffer in buffers.value]
        for condition in filters:
            if not is_null_check(condition) or any(condition[4][0] not in i for i in ignored):
                return False
    return True


def _known(keys: Iterable[Any]) -> frozenset[Symbol]:
    """The keys, and the start and end of those that are windows."""
    found: set[Symbol] = set()
    for key in keys:
        found.add(key)
        if key[:2] == ("call", "named_struct"):
            found.update(part for part in key[4] if part != ("name",))
    return frozenset(found)


def watermark(change: Change) -> Iterator[Finding]:
    """Which rows are late and when state goes follow the watermark."""
    facts = change.facts("watermark")
    if facts is None:
        heard = change.was.hears_watermark, change.now.hears_watermark
        if heard[0] == heard[1] or change.was_mode != change.mode:
            return
        none = Fact(None, "none")
        facts = (
            change.was.facts.get("watermark", none),
            change.now.facts.get("watermark", none),
        )
    was, now = facts
    why = "what the old watermark evicted or dropped is gone, and what it kept comes out otherwise"
    if was.text == now.text:
        why = "other rows move the watermark: what the old one evicted or dropped is gone"
    yield change.finding("watermark", "differs", was.text, now.text, why)


@about("event time")
def event_time(change: Change, fact: str, was: Fact, now: Fact) -> Effect:
    """A key expires a delay after its first row's event time."""
    return "differs", "stored keys expire by the old event time or delay"


def python_state(change: Change) -> Iterator[Finding]:
    """What a user's function makes of its state is known to the function alone."""
    for name in ("function", "columns", "timeout", "time mode"):
        facts = change.facts(name)
        if facts is not None:
            was, now = facts
            shown = now.text if now.text != was.text else f"{now.text}, other code"
            why = "the old function made the state: only its author knows if the new one fits it"
            yield change.finding(name, "differs", was.text, shown, why)


def output_mode(change: Change) -> Iterator[Finding]:
    """What a sink holds follows the mode; state that the watermark evicted is missing later."""
    was, now = change.was_mode, change.mode
    if was is None or now is None or was == now or "aggregates" not in change.now.facts:
        return
    evicted = change.was.evicts or change.now.evicts
    match (was, now):
        case ("append" | "update", "complete") if evicted:
            why = "groups that the watermark evicted are missing from the complete result"
            verdict: Verdict = "differs"
        case ("complete", "append"):
            why = "groups that the sink holds already come out again when the watermark passes them"
            verdict = "differs"
        case ("append", "update"):
            why = "groups that are open at the change come out with their next row, and not without"
            verdict = "stale"
        case ("update", "append"):
            why = "rows that update mode wrote before their groups were final stay in the sink"
            verdict = "stale"
        case ("complete", "update") if evicted:
            why = "late rows that complete mode took stay in the sink, and are dropped from now on"
            verdict = "stale"
        case _:
            return
    yield change.finding("output mode", verdict, was, now, why, KEEP)


RULES: tuple[Rule, ...] = (
    keys,  # which state a row belongs to
    aggregates,  # what is in it
    limit,
    python_state,
    event_time,
    join_type,  # before the sides: it explains some of their filters
    join_rows,
    join_condition,
    join_retention,
    inputs,  # what it was made of
    watermark,  # how long it stays
    output_mode,  # what is done with it
)


def compared(change: Change) -> list[Finding]:
    """All findings about one operator."""
    return [finding for rule in RULES for finding in rule(change)]
