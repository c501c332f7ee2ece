"""What a checkpoint alone says of the meaning of its state: the names in its schemas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..model.schemas.types import StructType
from .change import KEEP
from .operators import OperatorMeaning
from .refusals import fields_of
from .report import Finding
from .side import Side
from .stored import Field, StoredCheckpoint

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
        for store in operator.stores:
            schema = None if known is None else known.stores.get(store.name)
            if schema is None:
                continue
            yield from _renamed(operator, "key", schema.key, store.key)
            yield from _renamed(operator, "value", schema.value, store.value)
            yield from _delayed(operator, [*schema.key, *schema.value])


def _renamed(
    operator: OperatorMeaning, which: str, old: Sequence[Field], new: StructType
) -> Iterator[Finding]:
    was, now = (
        ", ".join(str(f["name"]).lower() for f in fields) for fields in (old, fields_of(new))
    )
    if was == now:
        return
    yield Finding(
        verdict="differs",
        what=f"names in the state's {which}",
        operator=operator.id,
        was=was,
        now=now,
        why="renamed columns are harmless, other columns or functions under the new names are not",
        action="compare with the old query (--was)",
    )


def _delayed(operator: OperatorMeaning, old: Sequence[Field]) -> Iterator[Finding]:
    for field in old:
        name = str(field["name"]).lower()
        was = (field.get("metadata") or {}).get(_DELAY)
        now = operator.event_times.get(name)
        if was is None or now is None or int(was) in now:
            continue
        delays = " or ".join(f"{delay} ms" for delay in sorted(now))
        yield Finding(
            verdict="differs",
            what="watermark",
            operator=operator.id,
            was=f"{name} with a delay of {was} ms",
            now=f"{name} with a delay of {delays}",
            why="what is late, and when state goes, changes under rows that are stored already",
            action=KEEP,
        )
