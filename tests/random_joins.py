"""Random joins of two streams, from a seed: types, keys, bounds, residual conditions, chains."""

from __future__ import annotations

import random
from collections.abc import Callable

from random_streams import EVENTS, Case, event, moment, number, sometimes, stamp

CLICKS = (
    "user STRING, at TIMESTAMP, qty INT, amount DOUBLE, price DECIMAL(8,2), day DATE, ok BOOLEAN, "
    "tags ARRAY<INT>, place STRUCT<x: DOUBLE, y: STRING>, big BIGINT"
)
KINDS = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN"]
KEYS = [
    *("e.user = c.user", "e.qty = c.qty", "e.amount = c.amount", "e.place = c.place"),
    *("e.price = c.price", "e.day = c.day", "e.tags = c.tags", "e.user <=> c.user"),
    *("upper(e.user) = c.user", "e.qty % 3 = c.qty % 3", "e.qty = c.big", "e.ok = c.ok"),
    "coalesce(e.user, 'none') = c.user",
    "struct(e.user, e.qty) = struct(c.user, c.qty)",
]
SMALL_KEYS = ["e.ok = c.ok", "e.qty % 2 = c.qty % 2", "e.user = c.user"]
RESIDUES = [
    "e.qty < c.qty",
    "e.qty > 0",
    "c.qty > 0",
    "(c.amount > 1 OR e.amount > 1)",
    "e.amount <> c.amount",
    "e.user <> c.user",
    "coalesce(e.qty, 0) + c.qty > 3",
    "concat(e.user, c.user) LIKE '%b%'",
    "(e.ok OR c.ok)",
    "NOT (e.qty <=> c.qty)",
    "CASE WHEN e.qty > c.qty THEN e.ok ELSE c.ok END",
    "e.price + c.price < 900",
    "e.day <= c.day",
    "length(e.user) + c.qty > 2",
    "c.big IS NULL",
    "e.ts <> c.at",
    "date_trunc('MINUTE', e.ts) = date_trunc('MINUTE', c.at)",
]
RANGES = [
    "c.at >= e.ts AND c.at <= e.ts + INTERVAL 20 SECONDS",
    "c.at BETWEEN e.ts - INTERVAL 10 SECONDS AND e.ts + INTERVAL 10 SECONDS",
    "e.ts > c.at - INTERVAL 15 SECONDS AND e.ts < c.at + INTERVAL 5 SECONDS",
    "c.at > e.ts AND e.ts + INTERVAL 1500 MILLISECONDS > c.at",
    "e.ts >= c.at - INTERVAL 30 SECONDS AND c.at + INTERVAL 0 SECONDS >= e.ts",
    "e.ts - INTERVAL 8 SECONDS < c.at - INTERVAL 2 SECONDS AND c.at < e.ts + INTERVAL 9 SECONDS",
]
HALF_RANGES = [
    "c.at >= e.ts - INTERVAL 5 SECONDS",
    "e.ts > c.at - INTERVAL 20 SECONDS",
]
WINDOWS = ["'10 seconds'", "'20 seconds'", "'10 seconds', '5 seconds'"]
NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"


def streams(rng: random.Random) -> tuple[str, str]:
    """Both sides with a watermark each."""
    one, two = (rng.choice([0, 3, 10]) for _ in range(2))
    return (
        f"STREAM events WATERMARK ts DELAY OF INTERVAL {one} SECONDS",
        f"STREAM clicks WATERMARK at DELAY OF INTERVAL {two} SECONDS",
    )


def columns(rng: random.Random, kind: str) -> str:
    """Some of both sides' columns."""
    left = ["e.user", "e.ts", *rng.sample(["e.qty", "e.amount", "e.place", "e.tags", "e.day"], 2)]
    right = ["c.user", "c.at", *rng.sample(["c.qty", "c.amount", "c.place", "c.big", "c.ok"], 2)]
    chosen = left if "SEMI" in kind else left + right
    return ", ".join(f"{name} AS o{i}" for i, name in enumerate(chosen))


def condition(rng: random.Random, *parts: str) -> str:
    """Parts and some residual conditions, in any order."""
    found = [*filter(None, parts), *rng.sample(RESIDUES, rng.choice([0, 0, 1, 1, 2]))]
    rng.shuffle(found)
    return " AND ".join(found)


def joined(rng: random.Random, kind: str, on: str) -> Case:
    left, right = streams(rng)
    sql = f"SELECT {columns(rng, kind)} FROM {left} AS e {kind} {right} AS c ON {on}"
    mode = rng.choice(["append", "update"]) if kind == "JOIN" else "append"
    return {"sql": sql, "output_mode": mode}


def by_range(rng: random.Random) -> Case:
    on = condition(rng, rng.choice(KEYS), rng.choice(RANGES))
    return joined(rng, rng.choice(KINDS), on)


def by_range_of_few(rng: random.Random) -> Case:
    """Keys with many rows."""
    on = condition(rng, rng.choice(SMALL_KEYS), rng.choice(RANGES))
    return joined(rng, rng.choice(KINDS), on)


def by_time(rng: random.Random) -> Case:
    on = condition(rng, "e.ts = c.at", rng.choice(["", *KEYS]))
    on = on.replace("e.ts <> c.at", "e.ts IS NOT NULL")  # nothing would be left to join by
    return joined(rng, rng.choice(KINDS), on)


def half_bound(rng: random.Random) -> Case:
    """One side's state may never leave."""
    on = condition(rng, rng.choice(KEYS), rng.choice(HALF_RANGES))
    return joined(rng, rng.choice(["JOIN", "JOIN", *KINDS]), on)


def by_window(rng: random.Random) -> Case:
    left, right = streams(rng)
    kind = rng.choice(KINDS)
    size = rng.choice(WINDOWS)
    key = rng.choice(["", "", " AND user = who", " AND qty = number", " AND qty < number"])
    given = "user, qty, ew" if "SEMI" in kind else "user, qty, ew, who, number, cw"
    if rng.random() < 0.3:
        given = given.replace("ew", "ew.start AS es").replace("cw", "cw.end AS ce")
    sql = (
        f"SELECT {given} FROM (SELECT user, qty, window(ts, {size}) AS ew FROM {left}) {kind} "
        f"(SELECT user AS who, qty AS number, window(at, {size}) AS cw FROM {right}) "
        f"ON ew = cw{key}"
    )
    return {"sql": sql, "output_mode": "append"}


def unbounded(rng: random.Random) -> Case:
    on = condition(rng, *rng.sample(KEYS, rng.choice([1, 1, 2])))
    sql = f"SELECT {columns(rng, 'JOIN')} FROM STREAM events AS e JOIN STREAM clicks AS c ON {on}"
    return {"sql": sql, "output_mode": rng.choice(["append", "update"])}


def with_itself(rng: random.Random) -> Case:
    source = streams(rng)[0]
    kind = rng.choice(KINDS)
    given = "a.user, a.ts, a.qty" if "SEMI" in kind else "a.user, a.ts, a.qty, b.ts AS u, b.amount"
    bound = "b.ts >= a.ts AND b.ts <= a.ts + INTERVAL 10 SECONDS"
    more = rng.choice(["", " AND a.qty < b.qty", " AND a.amount <> b.amount"])
    sql = (
        f"SELECT {given} FROM {source} AS a {kind} {source} AS b "
        f"ON a.user = b.user AND {bound}{more}"
    )
    return {"sql": sql, "output_mode": "append"}


def three(rng: random.Random) -> Case:
    left, right = streams(rng)
    first, second = rng.choice(["JOIN", "LEFT JOIN"]), rng.choice(["JOIN", "LEFT JOIN"])
    sql = (
        f"SELECT e.user, e.ts, c.qty, d.qty AS r FROM {left} AS e {first} {right} AS c "
        f"ON e.user = c.user AND e.ts = c.at {second} (SELECT user, at, qty FROM {right}) AS d "
        "ON e.user = d.user AND e.ts = d.at"
    )
    return {"sql": sql, "output_mode": "append"}


def chained(rng: random.Random) -> Case:
    left, right = streams(rng)
    kind = rng.choice(["JOIN", "LEFT JOIN", "JOIN", "RIGHT JOIN", "FULL JOIN"])
    bound = rng.choice(RANGES)
    counted = "SELECT window({0}, '10 seconds') AS {1}, count(*) AS {2} FROM {3} GROUP BY 1"
    sql = rng.choice(
        [
            # a window over a join
            "SELECT window(ts, '20 seconds') AS w, count(*) AS n, count(at) AS m, sum(q) AS s FROM "
            f"(SELECT e.ts, c.at, c.qty AS q FROM {left} AS e {kind.replace('FULL', 'LEFT')} "
            f"{right} AS c ON e.user = c.user AND {bound}) GROUP BY 1",
            # a join of windows
            f"SELECT v, n, w, m FROM ({counted.format('ts', 'v', 'n', left)}) {kind} "
            f"({counted.format('at', 'w', 'm', right)}) ON v = w",
            # a join of a stream and windows
            f"SELECT user, ew, m FROM (SELECT user, window(ts, '10 seconds') AS ew FROM {left}) "
            f"{kind} ({counted.format('at', 'w', 'm', right)}) ON ew = w",
            # distinct rows, joined
            f"SELECT e.user, e.ts, c.at FROM (SELECT DISTINCT user, ts FROM {left}) AS e {kind} "
            f"(SELECT DISTINCT user, at FROM {right}) AS c ON e.user = c.user AND {bound}",
            # distinct rows of a join
            f"SELECT DISTINCT e.user, e.ts FROM {left} AS e JOIN {right} AS c "
            "ON e.user = c.user AND e.ts = c.at",
            # sessions over a join
            "SELECT session_window(ts, '10 seconds') AS s, user, count(*) AS n FROM "
            f"(SELECT e.ts, e.user FROM {left} AS e JOIN {right} AS c "
            f"ON e.user = c.user AND {bound}) GROUP BY 1, 2",
            # sessions, joined
            "SELECT a.user, s, n, c.qty FROM (SELECT user, session_window(ts, '5 seconds') AS s, "
            f"count(*) AS n FROM {left} GROUP BY 1, 2) AS a JOIN {right} AS c "
            "ON a.user = c.user AND c.at >= s.start AND c.at <= s.end",
            # a limit over a join
            f"SELECT 1 AS one FROM {left} AS e JOIN {right} AS c ON e.user = c.user "
            f"AND {bound} LIMIT 9",
        ]
    )
    return {"sql": sql, "output_mode": "append"}


SHAPES: dict[str, Callable[[random.Random], Case]] = {
    shape.__name__: shape
    for shape in (
        by_range,
        by_range_of_few,
        by_time,
        half_bound,
        by_window,
        unbounded,
        with_itself,
        three,
        chained,
    )
}


def event_near(rng: random.Random, step: int) -> Case:
    """An event whose time another one often has."""
    row = event(rng, step)
    if row["ts"] is not None and rng.random() < 0.5:
        row["ts"] = stamp(moment(rng, step).replace(microsecond=0))
    return row


def click(rng: random.Random, step: int) -> Case:
    """A row of the right side."""
    row = event_near(rng, step)
    row["at"] = row.pop("ts")
    row["user"] = sometimes(rng, lambda: rng.choice(["ann", "ANN", "bob", "ä", "", "none"]))
    row["amount"] = sometimes(rng, lambda: number(rng))
    row.pop("small")
    return row


def case(shape: str, seed: int, batches: int = 3) -> Case:
    """A scenario without expectation."""
    rng = random.Random(f"{shape}-{seed}")
    made = SHAPES[shape](rng)
    steps: list[Case] = []
    for step in range(batches):
        sizes = [rng.choice([0, 1, 5, 12, 20]) for _ in range(2)]
        events = [event_near(rng, step) for _ in range(sizes[0])]
        clicks = [click(rng, step) for _ in range(sizes[1])]
        batch = {"events": events}
        if "clicks" in made["sql"]:
            batch["clicks"] = clicks
        steps.append({"batch": batch, "crash": rng.random() < 0.1})
        if rng.random() < 0.15:
            steps.append({"restart": True})
    sources = {"events": {"schema": EVENTS}, "clicks": {"schema": CLICKS}}
    conf = {"spark.sql.shuffle.partitions": rng.choice(["1", "2", "1"])}
    if rng.random() < 0.25:
        conf[NO_DATA] = "false"
    return {
        "sources": {name: sources[name] for name in batch},
        "conf": conf | made.pop("conf", {}),
        "steps": steps,
        **made,
    }
