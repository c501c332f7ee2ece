"""What a checkpoint alone tells of the meaning of its state: the names in its schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .refusals import fields_of
from .report import Finding
from .rules import KEEP
from .side import Side
from .stored import StoredCheckpoint

CANNOT_TELL = (
    "what keys and aggregates are computed from, behind the names of their columns",
    "filters and computed columns below the state",
    "sizes of windows, gaps of sessions, conditions of joins, limits",
    "the old output mode, and what the sink holds",
    "the code of user-defined functions",
)
_DELAY = "spark.watermarkDelayMs"


def hints(stored: StoredCheckpoint, now: Side) -> Iterator[Finding]:
    """Columns of the state that have other names, or another watermark, than they were stored with.

    A new name may be a mere alias; it may as well be another column or function.
    """
    for operator in now.operators:
        known = stored.operators.get(operator.id)
        if known is None:
            continue
        for store in operator.stores:
            schema = known.stores.get(store.name)
            if schema is None:
                continue
            pairs = (("key", schema.key, store.key), ("value", schema.value, store.value))
            for which, old, new in pairs:
                fields = fields_of(new)
                names = _names(old), _names(fields)
                if names[0] != names[1]:
                    yield Finding(
                        verdict="differs",
                        what=f"state {which}",
                        operator=operator.id,
                        was=", ".join(names[0]),
                        now=", ".join(names[1]),
                        why="the state was stored under other names: renamed columns are harmless,"
                        " other columns or functions are not",
                        action="compare with the old query (--was)",
                    )
                delays = _delays(old), _delays(fields)
                if delays[0] != delays[1]:
                    yield Finding(
                        verdict="differs",
                        what="watermark",
                        operator=operator.id,
                        was=_delay_text(delays[0]),
                        now=_delay_text(delays[1]),
                        why="the state was stored under another watermark: what is late, and when "
                        "state goes, changes",
                        action=KEEP,
                    )


def _names(fields: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(f["name"]).lower() for f in fields]


def _delays(fields: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Delays of event times, by column."""
    found = {}
    for field in fields:
        delay = (field.get("metadata") or {}).get(_DELAY)
        if delay is not None:
            found[str(field["name"]).lower()] = int(delay)
    return found


def _delay_text(delays: Mapping[str, int]) -> str:
    return ", ".join(f"{name} by {delay} ms" for name, delay in delays.items()) or "none"
