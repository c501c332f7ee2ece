"""Nexmark's queries over a small generated stream: how they are run, and their answers compared."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from example_cases import EXAMPLES, PLANS

sys.path.insert(0, str(EXAMPLES / "nexmark"))
import events
import run

sys.path.remove(str(EXAMPLES / "nexmark"))

NAMES: list[str] = run.NAMES
ANSWERS = PLANS / "nexmark_answers.json"
EVENTS, FILES = 4_000, 3
# Queries in update mode: how many columns, from the first on, say which row replaces which.
KEYS = {"q15": 1, "q16": 2, "q17": 2, "q18": 2}
# Several auctions may have the most bids: which one is named is not compared.
ANY = {"q5": "auction"}
Row = dict[str, Any]


def make_events(folder: Path) -> None:
    """Write the stream."""
    events.write(folder, EVENTS, FILES)


def batch_rows(spark: Any, name: str, folder: Path) -> list[Row]:
    """The answer of a query as one batch, by Spark."""
    for key, value in run.CONF.items():
        spark.conf.set(key, value)
    return list(run.batch(spark, name, folder).toArrow().to_pylist())


def stream_rows(name: str, folder: Path, engine: str) -> list[Row]:
    """What a query has emitted in the end: of an update the last row of each key."""
    found: dict[object, Row] = {}

    def take(frame: Any, number: int) -> None:
        for row in frame.toArrow().to_pylist():
            values = tuple(row.values())
            found[repr(values[: KEYS[name]]) if name in KEYS else len(found)] = row

    run.stream(name, folder, engine, take)
    return list(found.values())


def shown(name: str, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Rows as texts in one order."""
    left_out = ANY.get(name)
    return sorted(
        repr({key: _plain(value) for key, value in row.items() if key != left_out}) for row in rows
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat()
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return value
