"""Streams from a seed whose batches have 50,000 and more rows, over few, some and many keys.

Small batches never reach what pays for large ones alone: grouping before an exchange, tasks that
read files, several tasks, compaction of state. A step holds recipes of rows instead of rows, and
large results are compared by a digest. All sums are exact in whatever order they are added.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from random_streams import START

from stateplan.planner.builder import QueryBuilder, stream

Case = dict[str, Any]
EVENTS = (
    "id BIGINT, few INT, some STRING, many BIGINT, ts TIMESTAMP, qty INT, amount DOUBLE, "
    "price DECIMAL(10,2), ok BOOLEAN, day DATE"
)
SHOWN = 40
"""Results of more rows are shown as a digest."""
STEP = 600
"""Seconds from a step to the next."""
FEW = ["few", "ok", "few, ok", "day", "few % 3", "substr(some, 1, 2)", "upper(substr(some, 2, 1))"]
SOME = ["some", "concat(some, '!')", "many % 1000", "some, few", "lower(some), ok", "price"]
MANY = ["many", "id", "some, many % 1000", "many + 1", "CAST(many AS STRING)"]
FILTERS = ["", "", "qty > 3", "some LIKE 'k1%'", "amount IS NOT NULL AND NOT ok", "id % 7 <> 0"]
FUNCTIONS = [
    *("count(*)", "count(qty)", "sum(qty)", "sum(amount)", "sum(price)", "avg(qty)", "avg(price)"),
    *("min(some)", "max(some)", "min(amount)", "max(amount)", "max(ts)", "min(day)", "max(price)"),
    *("bool_and(ok)", "count_if(ok)", "bit_xor(qty)", "max_by(some, id)", "min_by(qty, id)"),
    *("approx_count_distinct(qty)", "count(*) FILTER (WHERE qty > 5)", "sum(many % 5)"),
    *("sum(qty) FILTER (WHERE ok)", "max(length(some))", "percentile(qty, 0.5)", "try_sum(qty)"),
    *("approx_count_distinct(few)", "sort_array(collect_set(few))", "max(struct(qty, some))"),
]
WINDOWS = [
    *("window(ts, '5 minutes')", "window(ts, '10 minutes', '5 minutes')"),
    *("window(ts, '1 hour')", "window(ts, '4 minutes', '2 minutes', '30 seconds')"),
]
CHUNKS = [20_000, 50_000, 200_000]


def _aggregates(rng: random.Random, count: int) -> str:
    chosen = rng.sample(FUNCTIONS, count)
    return ", ".join(f"{function} AS f{i}" for i, function in enumerate(chosen))


def _source(rng: random.Random, name: str = "events", time: str = "ts") -> str:
    return f"STREAM {name} WATERMARK {time} DELAY OF INTERVAL {rng.choice([0, 2, 10])} MINUTES"


def _where(rng: random.Random) -> str:
    chosen = rng.choice(FILTERS)
    return f" WHERE {chosen}" if chosen else ""


def _named(keys: str) -> tuple[str, str]:
    """Keys with names, and these."""
    parts = _split(keys)
    names = [f"k{i}" for i in range(len(parts))]
    return ", ".join(f"{key} AS {name}" for key, name in zip(parts, names, strict=True)), ", ".join(
        names
    )


def _split(keys: str) -> list[str]:
    """The expressions of a list, whose commas stand in no parentheses."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(keys):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append(keys[start:place].strip())
            start = place + 1
    return [*parts, keys[start:].strip()]


def _keyed(rng: random.Random, keys: Sequence[str]) -> Case:
    given, names = _named(rng.choice(keys))
    positions = ", ".join(str(i + 1) for i in range(names.count("k")))
    source = rng.choice(["STREAM events", _source(rng)])
    mode = rng.choice(["update", "complete"])
    sql = f"SELECT {given}, {_aggregates(rng, 4)} FROM {source}{_where(rng)} GROUP BY {positions}"
    if mode == "complete" and rng.random() < 0.7:
        order = rng.choice([names, f"f0 DESC, {names}", f"{names.replace(',', ' DESC,')} DESC"])
        limit = rng.choice(["", "", " LIMIT 100"])
        return {"sql": f"{sql} ORDER BY {order}{limit}", "output_mode": mode, "ordered": True}
    having = rng.choice(["", "", " HAVING count(*) > 1"])
    return {"sql": sql + having, "output_mode": mode}


def few_keys(rng: random.Random) -> Case:
    return _keyed(rng, FEW)


def some_keys(rng: random.Random) -> Case:
    return _keyed(rng, SOME)


def many_keys(rng: random.Random) -> Case:
    return _keyed(rng, MANY)


def whole(rng: random.Random) -> Case:
    sql = f"SELECT {_aggregates(rng, 5)} FROM STREAM events{_where(rng)}"
    return {"sql": sql, "output_mode": rng.choice(["update", "complete"])}


def windowed(rng: random.Random) -> Case:
    key = rng.choice(["", *FEW, *SOME, *MANY])
    given, names = _named(key) if key else ("", "")
    positions = ", ".join(str(i + 1) for i in range(1 + names.count("k")))
    mode = rng.choice(["append", "append", "update", "complete"])
    sql = (
        f"SELECT {rng.choice(WINDOWS)} AS w{', ' if key else ''}{given}, {_aggregates(rng, 3)} "
        f"FROM {_source(rng)}{_where(rng)} GROUP BY {positions}"
    )
    if mode == "complete":
        order = f" ORDER BY {names + ', ' if key else ''}w"
        return {"sql": sql + order, "output_mode": mode, "ordered": True}
    return {"sql": sql, "output_mode": mode}


def sessions(rng: random.Random) -> Case:
    gap = rng.choice(
        ["'1 minute'", "'10 seconds'", "CASE WHEN ok THEN '1 second' ELSE '1 minute' END"]
    )
    sql = (
        f"SELECT session_window(ts, {gap}) AS s, {rng.choice(['some', 'many', 'many % 7000'])} AS "
        f"k, {_aggregates(rng, 3)} FROM {_source(rng)}{_where(rng)} GROUP BY 1, 2"
    )
    return {"sql": sql, "output_mode": rng.choice(["append", "append", "complete"])}


def distinct(rng: random.Random) -> Case:
    columns = rng.choice(["some, few", "many", "ts, some", "few, ok, day", "ts, id"])
    mode = "append" if "ts" in columns else "update"
    sql = f"SELECT DISTINCT {columns} FROM {_source(rng)}{_where(rng)}"
    return {"sql": sql, "output_mode": mode}


def deduplicated(rng: random.Random) -> Case:
    """Which of the rows with a key stays is not said: only keys are shown."""
    keys = rng.choice(["many", "some few", "many ts", "some ts", "few ok"]).split()
    # The time of the row that stays says when its key leaves: it must be the same for all of them.
    within, then = "ts" in keys and rng.random() < 0.5, rng.random() < 0.4
    count = "count(*) AS n"

    def build() -> QueryBuilder:
        events = stream("events", EVENTS).with_watermark("ts", "2 minutes")
        chosen = events.drop_duplicates_within_watermark if within else events.drop_duplicates
        found = chosen(*keys)
        if then and "ts" in keys:
            return found.group_by("window(ts, '5 minutes') AS w").agg(count)
        return found.select(*keys)

    def native(table: Any) -> Any:
        from pyspark.sql import functions as F

        events = table("events").withWatermark("ts", "2 minutes")
        found = (events.dropDuplicatesWithinWatermark if within else events.dropDuplicates)(keys)
        if then and "ts" in keys:
            return found.groupBy(F.expr("window(ts, '5 minutes')").alias("w")).agg(F.expr(count))
        return found.select(*keys)

    title = f"{keys} {'within' if within else ''} {'then window' if then else ''}"
    return {"build": build, "native": native, "output_mode": "append", "title": title}


def joined(rng: random.Random) -> Case:
    kind = rng.choice(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN"])
    key = rng.choice(["e.many = c.many", "e.id = c.id", "e.many = c.many AND e.few = c.few"])
    bound = rng.choice(
        [
            "c.at BETWEEN e.ts AND e.ts + INTERVAL 3 MINUTES",
            "c.at >= e.ts - INTERVAL 1 MINUTE AND c.at < e.ts + INTERVAL 5 MINUTES",
        ]
    )
    more = rng.choice(["", "", " AND e.qty < c.qty", " AND e.ok"])
    right = "" if "SEMI" in kind else ", c.id AS i, c.at, c.amount"
    sql = (
        f"SELECT e.many, e.id, e.ts, e.qty{right} FROM {_source(rng)} AS e {kind} "
        f"{_source(rng, 'clicks', 'at')} AS c ON {key} AND {bound}{more}"
    )
    return {"sql": sql, "output_mode": "append", "clicks": True}


def chained(rng: random.Random) -> Case:
    source = _source(rng)
    sql = rng.choice(
        [
            "SELECT window(w, '20 minutes') AS v, sum(n) AS s, count(*) AS c FROM (SELECT window("
            f"ts, '5 minutes') AS w, some, count(*) AS n FROM {source} GROUP BY 1, 2) GROUP BY 1",
            "SELECT window(s, '30 minutes') AS v, max(n) AS m FROM (SELECT session_window(ts, "
            f"'30 seconds') AS s, some, count(*) AS n FROM {source} GROUP BY 1, 2) GROUP BY 1",
            "SELECT window(ts, '10 minutes') AS w, few, count(*) AS n, sum(qty) AS q FROM "
            f"(SELECT DISTINCT qty, few, ts FROM {source}) GROUP BY 1, 2",
        ]
    )
    return {"sql": sql, "output_mode": "append"}


def beside_a_table(rng: random.Random) -> Case:
    kind = rng.choice(["JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
    named = "name" if kind in ("JOIN", "LEFT JOIN") else "few"
    rows = f"{_source(rng)} {kind} tab ON few = n{_where(rng)}"
    sql = rng.choice(
        [
            f"SELECT {named} AS k, {_aggregates(rng, 3)} FROM {rows} GROUP BY 1",
            f"SELECT window(ts, '5 minutes') AS w, {named} AS k, count(*) AS n FROM {rows} "
            "GROUP BY 1, 2",
            f"SELECT id, {named} AS k, upper(some) AS u FROM {rows}",
        ]
    )
    return {"sql": sql, "output_mode": "update"}


def limited(rng: random.Random) -> Case:
    """Which rows a limit takes is not said, only how many."""
    limit = rng.choice([100, 120_000, 200_000])
    sql = f"SELECT 1 AS one FROM STREAM events{_where(rng)} LIMIT {limit}"
    return {"sql": sql, "output_mode": "append"}


SHAPES: dict[str, Callable[[random.Random], Case]] = {
    shape.__name__: shape
    for shape in (
        few_keys,
        some_keys,
        many_keys,
        whole,
        windowed,
        sessions,
        distinct,
        deduplicated,
        joined,
        chained,
        beside_a_table,
        limited,
    )
}


def case(shape: str, seed: int, batches: int) -> Case:
    """A scenario without expectation, whose steps hold recipes of rows."""
    rng = random.Random(f"large-{shape}-{seed}")
    made = SHAPES[shape](rng)
    names = ["events", "clicks"] if made.pop("clicks", False) else ["events"]
    kind = rng.choice(["parquet", "parquet", "json", "memory"])
    sources: Case = {
        name: {"schema": EVENTS.replace("ts ", "at ") if name == "clicks" else EVENTS}
        | {"format": kind}
        for name in names
    }
    if " tab " in made.get("sql", ""):
        rows = [{"n": i, "name": f"n{i % 3}"} for i in range(rng.choice([3, 9]))]
        sources["tab"] = {"schema": "n INT, name STRING", "static": True, "rows": rows}
    steps: list[Case] = []
    for step in range(batches):
        size = rng.choice([50_000, 80_000, 150_000])
        if rng.random() < 0.15:
            size = rng.choice([0, 5, 3000])
        recipes = {
            name: [{"seed": rng.randrange(1 << 30), "rows": size, "step": step}] for name in names
        }
        steps.append({"batch": recipes})
        if rng.random() < 0.25:
            steps.append({"restart": True})
    conf = {"spark.sql.shuffle.partitions": rng.choice([*"1259" * 3, "200"])}
    return {"sources": sources, "conf": conf, "steps": steps, "large": True, **made}


# ------------------------------------------------------------------------------------------ rows


def table(recipe: Case, time: str = "ts") -> Any:
    """The rows of a recipe, as an Arrow table; `time`: what the event time is called."""
    rng, count, step = np.random.default_rng(recipe["seed"]), recipe["rows"], recipe["step"]
    seconds = STEP * step + rng.integers(-STEP // 2, STEP, count)
    seconds -= np.where(rng.random(count) < 0.05, rng.integers(0, 4 * STEP, count), 0)
    micros = (int(START.timestamp()) + seconds) * 1_000_000 + rng.integers(0, 4, count) * 250_000
    quarters = rng.integers(-400, 400, count) / 4
    days = int((START - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)).days) + rng.integers(0, 3, count)
    cents = pa.array(rng.integers(0, 90_000, count)).cast(pa.decimal128(20, 0))
    cents = pa.array(
        [None if c is None else c.scaleb(-2) for c in cents.to_pylist()], pa.decimal128(10, 2)
    )
    columns = {
        "id": pa.array(step * 1_000_000 + np.arange(count)),
        "few": _some(rng, pa.array(rng.integers(0, 7, count).astype(np.int32))),
        "some": _some(rng, pa.array([f"k{n}" for n in rng.integers(0, 1500, count)], pa.string())),
        "many": _some(rng, pa.array(rng.integers(0, 400_000, count))),
        time: _some(rng, pa.array(micros).cast(pa.timestamp("us", "UTC")), 0.01),
        "qty": _some(rng, pa.array(rng.integers(-3, 10, count).astype(np.int32))),
        "amount": _some(rng, pa.array(quarters)),
        "price": _some(rng, cents),
        "ok": _some(rng, pa.array(rng.random(count) < 0.5)),
        "day": _some(rng, pa.array(days.astype(np.int32)).cast(pa.date32())),
    }
    return pa.table(columns)


def _some(rng: np.random.Generator, column: Any, nulls: float = 0.03) -> Any:
    """A column with nulls."""
    return pc.if_else(
        pa.array(rng.random(len(column)) < nulls), pa.scalar(None, column.type), column
    )


def write(path: Path, recipe: Case, kind: str, time: str) -> None:
    """Write the rows of a recipe as a file."""
    rows = table(recipe, time)
    if kind == "parquet":
        size = CHUNKS[recipe["seed"] % len(CHUNKS)]
        parquet.write_table(rows, path, row_group_size=size)
        return
    integers = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype()}  # with nulls
    frame = rows.to_pandas(types_mapper=integers.get)
    for name in ("price", "day"):
        frame[name] = frame[name].map(str, na_action="ignore")
    frame.to_json(path, orient="records", lines=True, date_format="iso", date_unit="us")


def shown(rows: list[Any], *, ordered: bool) -> list[Any]:
    """Rows as they are compared: many of them as their number and digest."""
    if len(rows) <= SHOWN:
        return rows
    texts = map(repr, rows)
    if ordered:
        digest = hashlib.blake2b("\n".join(texts).encode(), digest_size=8).hexdigest()
        return [[len(rows), digest]]
    hashes = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    total = sum(int.from_bytes(found, "big") for found in hashes) % (1 << 64)
    return [[len(rows), f"{total:016x}"]]
