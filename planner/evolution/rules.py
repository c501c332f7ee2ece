"""What a changed fact of a stateful operator does: one rule a fact, tried in order.

A rule gets the operator before and after, and gives a finding, or nothing where its fact is the
same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from .change import KEEP, Change, Rule
from .families import overwritten, readable, serves
from .join_rules import join_condition, join_retention, join_rows, join_type
from .operators import Fact
from .report import Finding, Verdict
from .symbols import Symbol, made_of, order_key


def keys(change: Change) -> Iterator[Finding]:
    """State is found by its keys, in their order."""
    for name in ("keys", "session"):
        facts = change.facts(name)
        if facts is None:
            continue
        was, now = facts
        why = "rows of state were stored under the old keys: new rows meet state of other groups"
        if isinstance(was.value, tuple) and _same_set(was.value, now.value):
            why = "the keys' order is part of what state is found by: no old row is found again"
        if name == "session" or ("aggregates" in change.now.facts and "window(" in was.text):
            why = "state holds groups of the old windows, and new rows go to others beside them"
        yield change.differs(name, why)


def _same_set(was: Iterable[Hashable], now: Iterable[Hashable]) -> bool:
    return sorted(map(order_key, was)) == sorted(map(order_key, now))


def aggregates(change: Change) -> Iterator[Finding]:
    """Buffers are known by their place alone."""
    facts = change.facts("aggregates")
    if facts is None:
        return
    was, now = facts
    assert isinstance(was.value, tuple) and isinstance(now.value, tuple)
    changed = [pair for pair in zip(was.value, now.value, strict=False) if pair[0] != pair[1]]
    changed = [pair for pair in changed if not serves(*pair)]
    if not changed and len(was.value) == len(now.value):
        return
    unreadable = next((pair for pair in changed if not readable(*pair)), None)
    if unreadable is not None:
        why = "the stored bytes are those of another kind of object: reading them fails the batch"
        yield Finding(
            verdict="refused",
            what="aggregates",
            operator=change.now.id,
            was=was.text,
            now=now.text,
            why=why,
            action=KEEP,
            phase="batch",
        )
        return
    if change.mode == "update" and all(overwritten(new) for _, new in changed):
        why = "each new row overwrites what the buffer held; groups without one keep the old value"
        yield change.stale("aggregates", why)
        return
    why = "the stored numbers are of the old function or column, and new rows are added to them"
    if isinstance(was.value, tuple) and _same_set(_functions(was.value), _functions(now.value)):
        why = "buffers are read by their place: each function goes on from another one's numbers"
    yield change.differs("aggregates", why)


def _functions(buffers: Hashable) -> tuple[Hashable, ...]:
    assert isinstance(buffers, tuple)
    return tuple(buffer[2] if len(buffer) == 3 else buffer for buffer in buffers)


def limit(change: Change) -> Iterator[Finding]:
    """State is the number of rows let through so far."""
    facts = change.facts("limit")
    if facts is None:
        return
    was, now = facts
    assert isinstance(was.value, int) and isinstance(now.value, int)
    if now.value < was.value:
        why = "rows beyond the new limit may be out already; from now on it is kept"
        yield change.stale("limit", why)
    else:
        why = "rows that the old limit dropped are gone, and others come out in their place"
        yield change.differs("limit", why)


def inputs(change: Change) -> Iterator[Finding]:
    """State was made of the rows that reached the operator."""
    facts = change.facts("input")
    if facts is None:
        return
    was, now = facts
    (was_base, was_filters), (base, filters) = was.value, now.value
    added, removed = filters - was_filters, was_filters - filters
    known = _known(change.now.facts["keys"].value) if "keys" in change.now.facts else frozenset()
    whole_groups = was_base == base and not removed and made_of(frozenset(added), known)
    if whole_groups and change.mode != "complete" and not _emits_at_eviction(change):
        why = "the filter leaves out whole groups: what is in the sink of them stays"
        yield change.stale("input", why)
        return
    why = "the state was made of other rows than those that come in now"
    yield change.differs("input", why)


def _emits_at_eviction(change: Change) -> bool:
    return change.mode == "append" and "aggregates" in change.now.facts


def _known(keys: Hashable) -> frozenset[Symbol]:
    """The keys, and the start and end of those that are windows."""
    found: set[Symbol] = set()
    assert isinstance(keys, tuple)
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
    yield change.finding("watermark", "differs", was.text, now.text, why, KEEP)


def event_time(change: Change) -> Iterator[Finding]:
    """A key expires a delay after its first row's event time."""
    if change.facts("event time") is not None:
        yield change.differs("event time", "stored keys expire by the old event time or delay")


def python_state(change: Change) -> Iterator[Finding]:
    """What a user's function makes of its state is known to the function alone."""
    for name in ("function", "columns", "timeout", "time mode"):
        facts = change.facts(name)
        if facts is not None:
            was, now = facts
            shown = (was.text, now.text if now.text != was.text else f"{now.text}, other code")
            why = "the old function made the state: only its author knows if the new one fits it"
            yield change.finding(name, "differs", *shown, why, KEEP)


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
