"""Random streams beside tables, and what needs no state of its own: more shapes, from a seed.

Joins with tables, subqueries, generators, grouping sets, sorted results, time zones, many types of
keys and values, and queries written in PySpark. With crashes, restarts and late batches.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

from random_streams import EVENTS, Case, event

MORE = (
    ", ntz TIMESTAMP_NTZ, bin BINARY, tiny TINYINT, m MAP<STRING, INT>, "
    "ss ARRAY<STRUCT<a: INT, b: STRING>>"
)
TABLE = "k STRING, n INT, v DOUBLE, d DATE, p DECIMAL(8,2)"
MATCHES = [
    *("user = k", "user <=> k", "user = k AND amount > v", "amount = v", "qty = n", "qty < n"),
    *("price = p", "day = d", "user = k OR qty = n", "user = k AND qty > 2"),
]
TESTS = [
    "qty IN (SELECT n FROM tab)",
    "qty NOT IN (SELECT n FROM tab)",
    "EXISTS (SELECT 1 FROM tab WHERE k = events.user AND v > amount)",
    "NOT EXISTS (SELECT 1 FROM tab WHERE k = events.user)",
    "amount > (SELECT avg(v) FROM tab WHERE NOT isnan(v))",
    "(user, qty) IN (SELECT k, n FROM tab)",
    "(SELECT count(*) FROM tab WHERE n = qty) > 0",
    "qty <= (SELECT max(r) FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY n) AS r "
    "FROM tab))",
]
LATERAL = {
    "explode(tags) t AS a": "a",
    "OUTER posexplode(tags) t AS a, b": "a, b",
    "OUTER inline(ss) t AS a, b": "a, b",
    "explode(m) t AS a, b": "a, b",
    "stack(2, qty, tiny, 1, 2) t AS a, b": "a, b",
}
KEYS = [
    *("ntz", "bin", "tiny", "ss", "array(place)", "named_struct('a', ntz, 'b', bin)"),
    *("map_entries(m)", "ts - TIMESTAMP '2026-01-01 00:00:00'", "INTERVAL '1' MONTH * qty"),
]
VALUES = [
    *("min(ntz)", "max(bin)", "sum(tiny)", "first(m)", "collect_list(m)", "max(ss)", "count(m)"),
    *("percentile(qty, 0.5)", "median(price)", "mode(qty, true)", "percentile_approx(qty, 0.3)"),
    *("sort_array(collect_set(bin))", "min_by(place, ntz)", "avg(ts - TIMESTAMP '2026-01-01')"),
    "listagg(user, ',') WITHIN GROUP (ORDER BY ts DESC, user)",
    "percentile_disc(0.4) WITHIN GROUP (ORDER BY qty)",
]
ZONED = ["window(ts, '1 day')", "window(ts, '1 hour', '30 minutes', '15 minutes')"]
PYTHON = [
    "events.where(F.udf(lambda u: u != 'bob', 'boolean')(F.coalesce('user', F.lit('?'))))"
    ".select('user', F.udf(lambda q: None if q is None else q * 2, 'int')('qty').alias('q'))",
    "events.select('user', 'ok').mapInArrow(lambda batches: batches, 'user STRING, ok BOOLEAN')",
    "events.groupBy('user').applyInPandas(lambda rows: rows[['user']].head(1), 'user STRING')",
    "events.repartition(3, 'user').observe('all', F.count(F.lit(1)).alias('n')).select('user')",
    "events.sample(0.6, seed=5).select('user', 'qty')",
    *(
        f"events.groupBy({keys}).applyInPandas(lambda key, rows: rows.assign(what=str(key), "
        "c=len(rows), s=rows['tiny'].sum())[['what', 'c', 's']].head(1), "
        "'what STRING, c INT, s INT')"
        for keys in ("'qty', 'ok'", "'ss'", "F.window('ts', '1 minute')", "'ntz'", "'bin'", "")
    ),
    "events.groupBy('user').cogroup(events.where('ok').groupBy(F.upper('user')))"
    ".applyInArrow(lambda key, one, other: (one if one.num_rows else other).select(['user'])"
    ".slice(0, 1).append_column('c', [[one.num_rows - other.num_rows]]), 'user STRING, c LONG')",
]


def joined(rng: random.Random, source: str) -> Case:
    how = rng.choice(["JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
    both = how in ("JOIN", "LEFT JOIN")
    rows = f"{source} {how} tab ON {rng.choice(MATCHES)}"
    if rng.random() < 0.5:
        return {"sql": f"SELECT user, qty, amount{', k, n, v' if both else ''} FROM {rows}"}
    key = "v" if both else "amount"
    sql = f"SELECT {key}, count(*) AS c, sum(qty) AS s FROM {rows} GROUP BY {key}"
    return {"sql": sql, "output_mode": rng.choice(["update", "complete"])}


def asking(rng: random.Random, source: str) -> Case:
    one, other = rng.sample(TESTS, 2)
    return {
        "sql": rng.choice(
            [
                f"SELECT user, qty FROM STREAM events WHERE {one} OR {other}",
                f"SELECT user, {one} AS a, NOT ({other}) AS b FROM STREAM events",
                f"SELECT user, sum(qty) AS s FROM STREAM events WHERE {one} GROUP BY user "
                "HAVING count(*) >= (SELECT count(DISTINCT k) FROM tab) - 3",
            ]
        ),
        "output_mode": "update",
    }


def generated(rng: random.Random, source: str) -> Case:
    view, names = rng.choice(list(LATERAL.items()))
    return {"sql": f"SELECT user, {names} FROM {source} LATERAL VIEW {view}"}


def grouped(rng: random.Random, source: str) -> Case:
    sets = rng.choice(["ROLLUP(user, ok)", "CUBE(user, ok)", "GROUPING SETS ((user, ok), (ok))"])
    sql = f"SELECT user, ok, count(*) AS c, grouping_id() AS g FROM STREAM events GROUP BY {sets}"
    return {"sql": sql, "output_mode": rng.choice(["update", "complete"])}


def ordered(rng: random.Random, source: str) -> Case:
    order = rng.choice(["c DESC, user, qty", "user NULLS LAST, qty DESC"])
    limit = rng.choice(["", "", " LIMIT 2"])
    sql = f"SELECT user, qty, count(*) AS c FROM STREAM events GROUP BY 1, 2 ORDER BY {order}"
    return {"sql": sql + limit, "output_mode": "complete", "ordered": True}


def typed(rng: random.Random, source: str) -> Case:
    values = ", ".join(f"{value} AS f{i}" for i, value in enumerate(rng.sample(VALUES, 5)))
    sql = f"SELECT {rng.choice(KEYS)} AS k, {values} FROM STREAM events GROUP BY 1"
    return {"sql": sql, "output_mode": rng.choice(["update", "complete"])}


def zoned(rng: random.Random, source: str) -> Case:
    rows = f"{source} GROUP BY 1"
    return {
        "sql": f"SELECT {rng.choice(ZONED)} AS w, CAST(max(ts) AS STRING) AS t FROM {rows}",
        "output_mode": rng.choice(["append", "update"]),
        "conf": {"spark.sql.session.timeZone": rng.choice(["Asia/Kolkata", "America/New_York"])},
    }


def pythonic(rng: random.Random, source: str) -> Case:
    return {"python": rng.choice(PYTHON)}


SHAPES: dict[str, Callable[[random.Random, str], Case]] = {
    shape.__name__: shape
    for shape in (joined, asking, generated, grouped, ordered, typed, zoned, pythonic)
}


def table(rng: random.Random) -> list[Case]:
    return [
        {
            "k": rng.choice(["ann", "bob", "ä", "", None, "zed"]),
            "n": rng.choice([None, 0, 1, 2, 3, 5]),
            "v": rng.choice([None, 0.0, -0.0, "NaN", 1.5, 3.0]),
            "d": rng.choice([None, "2026-01-01", "2026-01-03"]),
            "p": rng.choice([None, "1.50", "3.00"]),
        }
        for _ in range(rng.choice([0, 1, 4, 7]))
    ]


def widened(rng: random.Random, row: Case) -> Case:
    """The row with values of more types."""
    found = {
        "ntz": f"2026-01-01T00:00:{rng.randint(10, 59)}.5",
        "bin": rng.choice(["AQI=", "", "/w=="]),
        "tiny": rng.choice([-128, 0, 127]),
        "m": {rng.choice("ab"): rng.choice([1, None]) for _ in range(rng.randint(0, 2))},
        "ss": [{"a": rng.choice([1, None]), "b": "x"} for _ in range(rng.randint(0, 2))],
    }
    return row | {name: None if rng.random() < 0.15 else v for name, v in found.items()}


def native(code: str, sources: Iterable[str]) -> Callable[[Callable[[str], Any]], Any]:
    """A query in PySpark's words on a real Spark."""

    def build(table: Callable[[str], Any]) -> Any:
        from pyspark.sql import functions as F

        return eval(code, {"F": F, **{name: table(name) for name in sources}})

    return build


def case(shape: str, seed: int, batches: int = 3) -> Case:
    """A scenario without expectation."""
    rng = random.Random(f"{shape}-{seed}")
    delay = rng.choice([0, 5, 20])
    source = f"STREAM events WATERMARK ts DELAY OF INTERVAL {delay} SECONDS"
    made = {"output_mode": "append", **SHAPES[shape](rng, source)}
    steps: list[Case] = []
    for step in range(batches):
        at = step if rng.random() > 0.15 else 0
        rows = [widened(rng, event(rng, at)) for _ in range(rng.choice([0, 1, 5, 12]))]
        steps.append({"batch": {"events": rows}, "crash": rng.random() < 0.12})
        if rng.random() < 0.15:
            steps.append({"restart": True})
    sources: Case = {"events": {"schema": EVENTS + MORE}}
    if "tab" in made.get("sql", ""):
        sources["tab"] = {"schema": TABLE, "static": True, "rows": table(rng)}
    conf = {"spark.sql.shuffle.partitions": rng.choice(["1", "2", "3"]), **made.pop("conf", {})}
    return {"sources": sources, "conf": conf, "steps": steps, **made}
