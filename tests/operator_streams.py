"""Streams through each stateful operator, with keys of many types: nulls, NaN and -0.0 among them.

Rows come from a few keys again and again, so that state is read, changed and evicted in each batch.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

from random_streams import START, number, sometimes, stamp

from stateplan.planner.builder import QueryBuilder, stream

Case = dict[str, Any]
EVENTS = (
    "user STRING, ts TIMESTAMP, qty INT, amount DOUBLE, small FLOAT, price DECIMAL(8,2), day DATE, "
    "ok BOOLEAN, tags ARRAY<INT>, place STRUCT<x: INT, y: STRING>"
)
FLOATS = "user, amount, small, price, day, ok, place"
NESTED = "user, price, day, tags, place"
VALUES = (
    "count(*) AS n, sum(qty) AS total, avg(amount) AS mean, min(place) AS least, "
    "first(day, true) AS first_day, max_by(user, struct(ts, user)) AS newest, "
    "stddev_samp(qty) AS spread"
)
LISTS = (
    "collect_list(qty) AS list, sort_array(collect_set(user)) AS users, sum(price) AS prices, "
    "approx_count_distinct(qty) AS different"
)
SOURCE = "STREAM events WATERMARK ts DELAY OF INTERVAL 10 SECONDS"
WINDOW, SLIDING = "window(ts, '20 seconds')", "window(ts, '20 seconds', '10 seconds')"
SESSION = "session_window(ts, '6 seconds')"


def _of_windows(inner: str, key: str, rest: str) -> str:
    """Windows over windows or sessions."""
    return (
        f"SELECT window(w, '40 seconds') AS v, {key}, sum(n) AS s, max(n) AS m FROM (SELECT {inner}"
        f" AS w, {key}, {rest}, count(*) AS n FROM {SOURCE} GROUP BY 1, 2, 3) GROUP BY 1, 2"
    )


def _by(keys: str, values: str = VALUES, window: str = "", source: str = SOURCE) -> str:
    windowed, first = (f"{window} AS w, ", "1, ") if window else ("", "")
    return f"SELECT {windowed}{keys}, {values} FROM {source} GROUP BY {first}{keys}"


SHAPES: dict[str, tuple[str, str]] = {
    "keyed": (_by(FLOATS, source="STREAM events"), "update"),
    "keyed complete": (_by(NESTED, source="STREAM events"), "complete"),
    "lists": (_by("user", LISTS, WINDOW), "append"),
    "by time": (_by(f"ts, {FLOATS}"), "append"),
    "windowed": (_by(NESTED, window=SLIDING), "append"),
    "windowed update": (_by(FLOATS, window=WINDOW), "update"),
    "windowed complete": (_by("place", window=WINDOW), "complete"),
    "sessions": (_by(FLOATS, window=SESSION), "append"),
    "sessions complete": (_by("tags", window=SESSION), "complete"),
    "distinct": (f"SELECT DISTINCT ts, {FLOATS} FROM {SOURCE}", "append"),
    "deduplicated": ("", "update"),
    "deduplicated within": ("", "append"),
    "limited": (f"SELECT 1 AS one FROM (SELECT DISTINCT ts, user FROM {SOURCE}) LIMIT 9", "append"),
    "windows of windows": (_of_windows(WINDOW, "amount", "small"), "append"),
    "windows of sessions": (_of_windows(SESSION, "place", "day"), "append"),
    "branches": (
        "SELECT CAST(ok AS STRING) AS k, count(*) AS n FROM STREAM events GROUP BY ok "
        "UNION ALL SELECT CAST(day AS STRING), sum(qty) FROM STREAM events GROUP BY day",
        "update",
    ),
}


def _deduplicated(columns: list[str]) -> Case:
    def build() -> QueryBuilder:
        return stream("events", EVENTS).drop_duplicates(*columns)

    def native(table: Any) -> Any:
        return table("events").dropDuplicates(columns)

    return {"build": build, "native": native}


def _within(columns: list[str]) -> Case:
    def build() -> QueryBuilder:
        events = stream("events", EVENTS).with_watermark("ts", "10 seconds")
        return events.drop_duplicates_within_watermark(*columns)

    def native(table: Any) -> Any:
        events = table("events").withWatermark("ts", "10 seconds")
        return events.dropDuplicatesWithinWatermark(columns)

    return {"build": build, "native": native}


IN_PYTHON: dict[str, Callable[[list[str]], Case]] = {
    "deduplicated": _deduplicated,
    "deduplicated within": _within,
}


def case(shape: str, seed: int, batches: int) -> Case:
    """A scenario without expectation: `sql`, or `build` and `native` for one written in Python."""
    rng = random.Random(f"{shape}-{seed}")
    sql, mode = SHAPES[shape]
    keys = rng.choice([FLOATS, NESTED]).split(", ")
    made: Case = {"sql": sql} if sql else {**IN_PYTHON[shape](keys), "title": f"{shape} by {keys}"}
    known = [_key(rng) for _ in range(5)]
    steps = [{"batch": {"events": _rows(rng, known, step)}} for step in range(batches)]
    conf = {"spark.sql.shuffle.partitions": rng.choice(["2", "3", "5"])}
    sources = {"events": {"schema": EVENTS}}
    return {"sources": sources, "output_mode": mode, "conf": conf, "steps": steps, **made}


def _key(rng: random.Random) -> Case:
    return {
        "user": sometimes(rng, lambda: rng.choice(["ann", "bob", "ä"])),
        "amount": sometimes(rng, lambda: number(rng)),
        "small": sometimes(rng, lambda: rng.choice([0.5, -0.0, 0.0, "NaN"])),
        "price": sometimes(rng, lambda: rng.choice(["0.00", "-1.50", "99999.99"])),
        "day": sometimes(rng, lambda: rng.choice(["2026-01-01", "1969-12-31"])),
        "ok": sometimes(rng, lambda: rng.random() < 0.5),
        "tags": sometimes(rng, lambda: rng.choice([[], [1], [1, None]])),
        "place": sometimes(rng, lambda: {"x": rng.choice([1, None]), "y": rng.choice(["n", None])}),
    }


def _rows(rng: random.Random, known: list[Case], step: int) -> list[Case]:
    """Rows of known keys, and one of another, around the time of a step; some are late."""
    keys = [*(rng.choice(known) for _ in range(10)), _key(rng)]
    seconds = [20 * step + rng.choice([-25, 0, 2, 5, 5, 9.5]) for _ in keys]
    times = [stamp(START + dt.timedelta(seconds=second)) for second in seconds]
    return [
        {**key, "ts": time, "qty": rng.choice([None, 1, 2, 7])}
        for key, time in zip(keys, times, strict=True)
    ]
