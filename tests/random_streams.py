"""Random streams and queries over every stateful operator, from a seed."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

from stateplan.planner.builder import QueryBuilder, stream

EVENTS = (
    "user STRING, ts TIMESTAMP, amount DOUBLE, qty INT, price DECIMAL(8,2), day DATE, ok BOOLEAN, "
    "tags ARRAY<INT>, place STRUCT<x: DOUBLE, y: STRING>, big BIGINT, small FLOAT"
)
CLICKS = "user STRING, ts TIMESTAMP, qty INT"
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
KEYS = [
    *("user", "qty", "amount", "price", "day", "ok", "tags", "place", "small", "big"),
    "upper(user)",
    "qty % 2",
    "date_trunc('MINUTE', ts)",
    "named_struct('a', amount, 't', tags)",
    "coalesce(user, 'none')",
]
FUNCTIONS = [
    "count(*)",
    "count(qty)",
    "count(qty, user)",
    "count_if(ok)",
    "sum(qty)",
    "sum(amount)",
    "sum(price)",
    "sum(small)",
    "avg(qty)",
    "avg(price)",
    "avg(amount)",
    "min(user)",
    "max(user)",
    "min(amount)",
    "max(amount)",
    "min(small)",
    "max(tags)",
    "min(place)",
    "max(ts)",
    "min(day)",
    "first(user)",
    "last(qty)",
    "first(amount, true)",
    "last(user, true)",
    "any_value(place)",
    "stddev_samp(amount)",
    "var_pop(qty)",
    "variance(price)",
    "corr(qty, big)",
    "covar_pop(qty, amount)",
    "covar_samp(qty, big)",
    "bool_and(ok)",
    "bool_or(ok)",
    "every(ok)",
    "max_by(user, ts)",
    "min_by(qty, struct(ts, user))",
    "collect_list(qty)",
    "sort_array(collect_set(amount))",
    "sort_array(collect_set(user))",
    "collect_list(place)",
    "approx_count_distinct(user)",
    "approx_count_distinct(amount)",
    "skewness(qty)",
    "kurtosis(qty)",
    "bit_and(qty)",
    "bit_or(big)",
    "bit_xor(qty)",
    "sum(qty) + count(*)",
    "max(length(user))",
    "try_sum(big)",
    "first(tags)",
    "sum(CAST(qty AS BIGINT)) / count(*)",
]
GATHERED = [
    "max_by(user, qty, 2)",
    "min_by(qty, amount, 3)",
    "max_by(amount, big, 4)",
    "min_by(user, day, 1)",
    "histogram_numeric(qty, 3)",
    "histogram_numeric(amount, 4)",
    "histogram_numeric(price, 2)",
    "histogram_numeric(day, 2)",
    "histogram_numeric(small, 5)",
    "md5(bitmap_construct_agg(abs(qty) * 1000))",
    "md5(bitmap_or_agg(CAST(user AS BINARY)))",
    "md5(bitmap_and_agg(CAST(user AS BINARY)))",
    "hex(count_min_sketch(qty, 0.8D, 0.7D, 5))",
    "hex(count_min_sketch(user, 0.9D, 0.5D, 42))",
    "hex(hll_sketch_agg(qty, 4))",
    "md5(hll_sketch_agg(user))",
    "md5(hll_sketch_agg(CAST(ts AS STRING), 8))",
    "hex(theta_sketch_agg(qty, 4))",
    "md5(theta_sketch_agg(CAST(ts AS STRING), 4))",
    "hex(theta_sketch_agg(amount))",
    "median(amount)",
    "percentile(price, array(0.1, 0.75))",
    "percentile_approx(qty, 0.4)",
    "mode(user, true)",
    "listagg(user, '-') WITHIN GROUP (ORDER BY qty DESC, ts, user)",
    "hex(listagg(CAST(user AS BINARY)))",
]
FILTERS = ["", "", "", " FILTER (WHERE qty > 3)", " FILTER (WHERE amount > 0 OR ok)"]
GAPS = [
    "'5 seconds'",
    "'20 seconds'",
    "CASE WHEN qty > 4 THEN '10 seconds' WHEN qty > 0 THEN '3 seconds' ELSE '0 seconds' END",
]
WINDOWS = [
    "window(ts, '10 seconds')",
    "window(ts, '1 minute')",
    "window(ts, '10 seconds', '5 seconds')",
    "window(ts, '10 seconds', '4 seconds')",
    "window(ts, '20 seconds', '10 seconds', '3 seconds')",
]

Case = dict[str, Any]


def stamp(moment: dt.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"


def sometimes(rng: random.Random, value: Callable[[], Any], nulls: float = 0.12) -> Any:
    return None if rng.random() < nulls else value()


def moment(rng: random.Random, step: int) -> dt.datetime:
    """Around the time of a step; some far behind, and at times on the borders of windows."""
    seconds: float = 25 * step + rng.uniform(-8, 25)
    if rng.random() < 0.15:
        seconds -= rng.uniform(10, 70)
    if rng.random() < 0.4:
        seconds = round(seconds / 5) * 5
    elif rng.random() < 0.5:
        seconds = round(seconds)
    return START + dt.timedelta(microseconds=round(seconds * 1_000_000))


def number(rng: random.Random) -> Any:
    return rng.choice([0.0, -0.0, "NaN", "NaN", 1.5, -2.25, 3.0, 3.0, 1e10, "Infinity", 0.1])


def event(rng: random.Random, step: int) -> Case:
    return {
        "user": sometimes(rng, lambda: rng.choice(["ann", "bob", "Bob", "ä", "", "carl"])),
        "ts": sometimes(rng, lambda: stamp(moment(rng, step)), 0.06),
        "amount": sometimes(rng, lambda: number(rng)),
        "qty": sometimes(rng, lambda: rng.randint(-2, 7)),
        "price": sometimes(rng, lambda: f"{rng.randint(-500, 99999) / 100:.2f}"),
        "day": sometimes(rng, lambda: f"2026-01-0{rng.randint(1, 4)}"),
        "ok": sometimes(rng, lambda: rng.random() < 0.5),
        "tags": sometimes(
            rng, lambda: [rng.choice([1, 2, None]) for _ in range(rng.randint(0, 2))]
        ),
        "place": sometimes(rng, lambda: {"x": number(rng), "y": rng.choice(["n", None])}),
        "big": sometimes(rng, lambda: rng.choice([0, 7, 7, -(2**40), 2**53 + 1])),
        "small": sometimes(rng, lambda: rng.choice([0.5, -0.0, 0.0, "NaN", 2.75])),
    }


def rows(rng: random.Random, step: int) -> list[Case]:
    """A batch: often a few rows, at times none, with repeated ones."""
    made = [event(rng, step) for _ in range(rng.choice([0, 1, 6, 12, 25]))]
    return made + [rng.choice(made) for _ in range(len(made) // 6)]


def aggregates(rng: random.Random, count: int, functions: list[str] = FUNCTIONS) -> str:
    chosen = rng.sample(functions, count)
    found = []
    for i, function in enumerate(chosen):
        plain = function.endswith(")") and function.count("(") == 1
        found.append(f"{function}{rng.choice(FILTERS) if plain else ''} AS f{i}")
    return ", ".join(found)


def watermarked(rng: random.Random, name: str = "events") -> str:
    return f"STREAM {name} WATERMARK ts DELAY OF INTERVAL {rng.choice([0, 5, 20])} SECONDS"


def keyed(rng: random.Random) -> Case:
    keys = rng.sample(KEYS, rng.choice([1, 1, 2]))
    named = ", ".join(f"{key} AS k{i}" for i, key in enumerate(keys))
    positions = ", ".join(str(i + 1) for i in range(len(keys)))
    sql = f"SELECT {named}, {aggregates(rng, 5)} FROM STREAM events GROUP BY {positions}"
    return {"sql": sql, "output_mode": rng.choice(["update", "complete"])}


def whole(rng: random.Random) -> Case:
    sql = f"SELECT {aggregates(rng, 6)} FROM STREAM events"
    return {"sql": sql, "output_mode": rng.choice(["update", "complete"])}


def windowed(rng: random.Random) -> Case:
    key = rng.choice(["", ", user", ", amount", ", qty % 2", ", place"])
    sql = (
        f"SELECT {rng.choice(WINDOWS)} AS w{key} {'AS k' if key else ''}, {aggregates(rng, 3)} "
        f"FROM {watermarked(rng)} GROUP BY 1{', 2' if key else ''}"
    )
    return {"sql": sql, "output_mode": rng.choice(["append", "append", "update", "complete"])}


def gathered(rng: random.Random) -> Case:
    """Functions whose state starts from a batch's values."""
    functions = aggregates(rng, 5, GATHERED)
    key, mode = rng.choice(
        [
            ("user", rng.choice(["update", "complete"])),
            ("window(ts, '10 seconds', '5 seconds')", rng.choice(["append", "update"])),
            ("session_window(ts, '5 seconds') AS s, qty % 2", "append"),
            ("", rng.choice(["update", "complete"])),
        ]
    )
    grouping = f"SELECT {key} AS k, {functions}" if key else f"SELECT {functions}"
    sql = f"{grouping} FROM {watermarked(rng)}{' GROUP BY ALL' if key else ''}"
    return {"sql": sql, "output_mode": mode}


def by_time(rng: random.Random) -> Case:
    having = rng.choice(["", " HAVING count(*) > 1"])
    sql = f"SELECT ts, count(*) AS n, max(qty) AS q FROM {watermarked(rng)} GROUP BY ts{having}"
    return {"sql": sql, "output_mode": rng.choice(["append", "update"])}


def sessions(rng: random.Random) -> Case:
    key = rng.choice(["user", "qty % 2", "place", "amount"])
    merged = rng.choice(["true", "false", "false"])
    return {
        "sql": f"SELECT session_window(ts, {rng.choice(GAPS)}) AS s, {key} AS k, "
        f"{aggregates(rng, 3)} FROM {watermarked(rng)} GROUP BY 1, 2",
        "output_mode": rng.choice(["append", "append", "complete"]),
        "conf": {"spark.sql.streaming.sessionWindow.merge.sessions.in.local.partition": merged},
    }


def deduplicated(rng: random.Random) -> Case:
    """Spark's SQL has no such thing: through the builder, and PySpark."""
    delay = rng.choice([None, "0 seconds", "5 seconds", "30 seconds"])
    keys = rng.choice(["user", "amount", "user ts", "ts", "place", "tags qty", "small"]).split()
    within = delay is not None and rng.random() < 0.4
    then = rng.random() < 0.4 and delay is not None and not within
    window, count = "window(ts, '10 seconds')", "count(*) AS n"

    def build() -> QueryBuilder:
        events = stream("events", EVENTS)
        if delay is not None:
            events = events.with_watermark("ts", delay)
        if within:
            return events.drop_duplicates_within_watermark(*keys)
        found = events.drop_duplicates(*keys)
        return found.group_by(f"{window} AS w").agg(count) if then else found

    def native(table: Any) -> Any:
        from pyspark.sql import functions as F

        events = table("events")
        if delay is not None:
            events = events.withWatermark("ts", delay)
        if within:
            return events.dropDuplicatesWithinWatermark(keys)
        found = events.dropDuplicates(keys)
        if not then:
            return found
        return found.groupBy(F.expr(window).alias("w")).agg(F.expr("count(*)").alias("n"))

    mode = "append" if then or within else rng.choice(["append", "update"])
    title = f"{keys} {delay} {'within' if within else ''} {'then window' if then else ''}"
    return {"build": build, "native": native, "output_mode": mode, "title": title}


def distinct(rng: random.Random) -> Case:
    columns = rng.choice(["user, qty", "amount", "ts, user", "place, ok"])
    mode = "append" if "ts" in columns else "update"
    return {"sql": f"SELECT DISTINCT {columns} FROM {watermarked(rng)}", "output_mode": mode}


def limited(rng: random.Random) -> Case:
    """Which rows a limit takes is not said, only how many."""
    inner = rng.choice(
        [
            "STREAM events",
            f"(SELECT DISTINCT ts, user FROM {watermarked(rng)})",
            f"(SELECT window(ts, '10 seconds'), count(*) FROM {watermarked(rng)} GROUP BY 1)",
        ]
    )
    limit = rng.choice([1, 4, 30])
    return {"sql": f"SELECT 1 AS one FROM {inner} LIMIT {limit}", "output_mode": "append"}


def chained(rng: random.Random) -> Case:
    source = watermarked(rng)
    sql = rng.choice(
        [
            "SELECT window(w, '20 seconds') AS v, sum(n) AS s, count(*) AS c FROM (SELECT window("
            f"ts, '10 seconds') AS w, user, count(*) AS n FROM {source} GROUP BY 1, 2) GROUP BY 1",
            "SELECT window(s, '30 seconds') AS v, max(n) AS m FROM (SELECT session_window(ts, "
            f"'5 seconds') AS s, user, count(*) AS n FROM {source} GROUP BY 1, 2) GROUP BY 1",
            "SELECT window(ts, '10 seconds') AS w, count(*) AS n, sum(qty) AS q FROM "
            f"(SELECT DISTINCT qty, ts FROM {source}) GROUP BY 1",
            "SELECT window(w, '1 minute') AS v, approx_count_distinct(user) AS c, avg(m) AS m "
            "FROM (SELECT window(ts, '10 seconds', '5 seconds') AS w, user, max(qty) AS m "
            f"FROM {source} GROUP BY 1, 2) GROUP BY 1",
        ]
    )
    return {"sql": sql, "output_mode": "append"}


def united(rng: random.Random) -> Case:
    first, second = watermarked(rng), watermarked(rng, "clicks")
    sql, mode = rng.choice(
        [
            (
                f"SELECT user, qty, ts FROM {first} UNION ALL SELECT user, qty, ts FROM {second}",
                "append",
            ),
            (
                "SELECT window(ts, '10 seconds') AS w, count(*) AS n, max(user) AS u FROM ("
                f"SELECT ts, user FROM {first} UNION ALL SELECT ts, user FROM {second}) GROUP BY 1",
                rng.choice(["append", "update"]),
            ),
            (
                f"SELECT DISTINCT user, ts FROM {first} UNION ALL "
                f"SELECT DISTINCT user, ts FROM {second}",
                "append",
            ),
            (
                "SELECT user, qty, 0L AS n FROM STREAM clicks UNION ALL "
                "SELECT user, qty, count(*) AS n FROM STREAM events GROUP BY user, qty UNION ALL "
                "SELECT min(user), qty, count(*) AS n FROM STREAM clicks GROUP BY qty",
                "update",
            ),
            (
                f"SELECT window(ts, '10 seconds') AS w, user, count(*) AS n FROM {first} "
                "GROUP BY 1, 2 UNION ALL "
                f"SELECT session_window(ts, '5 seconds') AS w, user, count(*) AS n FROM {second} "
                "GROUP BY 1, 2",
                "append",
            ),
        ]
    )
    policy = rng.choice(["min", "max"])
    conf = {"spark.sql.streaming.multipleWatermarkPolicy": policy}
    return {"sql": sql, "output_mode": mode, "conf": conf, "clicks": True}


SHAPES: dict[str, Callable[[random.Random], Case]] = {
    shape.__name__: shape
    for shape in (
        keyed,
        gathered,
        windowed,
        sessions,
        united,
        deduplicated,
        chained,
        whole,
        limited,
        by_time,
        distinct,
    )
}


def case(shape: str, seed: int, batches: int = 3) -> Case:
    """A scenario without expectation: `sql`, or `build` and `native` for one written in Python."""
    rng = random.Random(f"{shape}-{seed}")
    made = SHAPES[shape](rng)
    sources = {"events": {"schema": EVENTS}}
    if made.pop("clicks", False):
        sources["clicks"] = {"schema": CLICKS}
    steps: list[Case] = []
    for step in range(batches):
        batch = {name: rows(rng, step) for name in sources}
        if "clicks" in batch:
            batch["clicks"] = [{k: r[k] for k in ("user", "ts", "qty")} for r in batch["clicks"]]
        steps.append({"batch": batch})
        if rng.random() < 0.15:
            steps.append({"restart": True})
    partitions = rng.choice(["1", "2", "3", "4"])
    conf = {"spark.sql.shuffle.partitions": partitions, **made.pop("conf", {})}
    return {"sources": sources, "conf": conf, "steps": steps, **made}
