"""Random streams where users go and the plain shapes do not: long chains, settings, rare types.

Joins above and below aggregates and deduplication, tables on either side, grouping sets of windows,
`window_time`, dynamic gaps in every mode, programs in PySpark, and on any of them settings of the
session. What Spark refuses must be refused under its condition.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from random_joins import CLICKS, RANGES, click, event_near
from random_streams import EVENTS, WINDOWS, Case, aggregates, watermarked
from random_tables import MORE, TABLE, table, widened

# The embedded engine reads no binary values in JSON, and decimals beside a collation otherwise.
SCHEMA = f"{EVENTS}{MORE}".replace(" bin BINARY,", "")
COLLATED = ", cs STRING COLLATE UTF8_LCASE"
MODES = [*["append"] * 6, "update", "update", "complete"]
SETTINGS: list[Case] = [
    {"spark.sql.ansi.enabled": "false"},
    {"spark.sql.ansi.enabled": "false"},
    {"spark.sql.session.timeZone": "America/New_York"},
    {"spark.sql.session.timeZone": "Asia/Kathmandu"},
    {"spark.sql.streaming.aggregation.stateFormatVersion": "1"},
    {"spark.sql.streaming.join.stateFormatVersion": "1"},
    {"spark.sql.streaming.join.stateFormatVersion": "3"},
    {"spark.sql.streaming.statefulOperator.checkCorrectness.enabled": "false"},
    {"spark.sql.streaming.statefulOperator.allowMultiple": "false"},
    {"spark.sql.caseSensitive": "true"},
    {"spark.sql.streaming.noDataMicroBatches.enabled": "false"},
    {"spark.sql.streaming.multipleWatermarkPolicy": "max"},
    {"spark.sql.groupByOrdinal": "true", "spark.sql.legacy.sizeOfNull": "false"},
    {"spark.sql.streaming.statefulOperator.useStrictDistribution": "false"},
    {"spark.sql.decimalOperations.allowPrecisionLoss": "false"},
    {"spark.sql.mapKeyDedupPolicy": "LAST_WIN"},
]
OUTER = ["LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "JOIN", "LEFT SEMI JOIN"]
GAPS = [
    "'7 seconds'",
    "CASE WHEN ok THEN '10 seconds' ELSE '2 seconds' END",
    "make_interval(0, 0, 0, 0, 0, 0, qty)",
    "CASE WHEN qty > 3 THEN CAST('8 seconds' AS INTERVAL) WHEN ok THEN CAST('0' AS INTERVAL) END",
    "make_dt_interval(0, 0, 0, qty)",
    "concat(CAST(abs(qty) AS STRING), ' seconds')",
]
RARE = [
    "sum(CAST(price AS DECIMAL(38, 2)))",
    "avg(price * 1.005)",
    "sum(price) / count(*)",
    "sum(price * price)",
    "max(price - 1)",
    "sum(CAST(amount AS DECIMAL(20, 4)))",
    "first(m)",
    "max(map_keys(m))",
    "collect_list(tags)",
    "max(ts - TIMESTAMP '2026-01-01 00:00:00')",
    "sum(ts - TIMESTAMP '2026-01-01 00:00:00')",
    "avg(INTERVAL '1' MONTH * qty)",
    "max(ss)",
    "sum(size(tags))",
    "max(transform(tags, x -> x + 1))",
    "count_if(array_contains(tags, 1))",
    "sum(qty / nullif(qty - 1, 0))",
    "sum(10 / qty)",
    "sum(CAST(user AS INT))",
    "sum(big * big)",
    "sum(tiny + tiny)",
    "max(element_at(tags, 1))",
    "max(tags[1])",
    "max(m['a'])",
    "count(DISTINCT user)",
    "sum(DISTINCT qty)",
    "min(CAST(amount AS INT))",
    "max(date_format(ts, 'yyyy-MM-dd HH:mm'))",
    "min(CAST(day AS TIMESTAMP))",
    "max(hour(ts))",
    "max(to_json(place))",
    "mode(user)",
    "regr_slope(amount, qty)",
    "grouping_id()",
    "max(named_struct('A', qty, 'a', user))",
]
# Generated code of Spark 4.3 makes 0 of a null value in a map that is a key: there are none.
KEYS = [
    "cs",
    "named_struct('u', user, 'q', qty % 2)",
    "CASE WHEN qty > 3 THEN 'big' WHEN qty IS NULL THEN 'none' ELSE user END",
    "array(qty % 2, 1)",
    "map('a', coalesce(qty % 2, 7))",
    "date_trunc('HOUR', ts)",
    "CAST(ts AS DATE)",
    "INTERVAL '1' DAY * (qty % 2)",
    "amount + 0.0D",
    "price / 3",
    "CAST(price AS INT)",
    "tiny + 1Y",
    "if(isnan(amount), NULL, amount)",
    "place.x",
    "tags[0]",
    "hash(user, qty) % 3",
    "length(user)",
    "map_filter(m, (k, v) -> v > 0)",
    "USER",
    "10 / qty",
]


def _source(rng: random.Random, name: str = "events") -> str:
    found = watermarked(rng, name)
    return found.replace("WATERMARK ts", "WATERMARK at") if name == "clicks" else found


def rare_values(rng: random.Random) -> Case:
    values = ", ".join(f"{value} AS f{i}" for i, value in enumerate(rng.sample(RARE, 4)))
    key, mode = rng.choice(
        [
            ("", rng.choice(["update", "complete"])),
            ("qty % 2 AS k", rng.choice(["update", "complete"])),
            (f"{rng.choice(WINDOWS)} AS w", rng.choice(MODES)),
        ]
    )
    grouped = (
        f"{key}, {values} FROM {_source(rng)} GROUP BY 1" if key else f"{values} FROM STREAM events"
    )
    return {"sql": f"SELECT {grouped}", "output_mode": mode}


def rare_keys(rng: random.Random) -> Case:
    key = rng.choice(KEYS)
    window = rng.choice(["", "", f"{rng.choice(WINDOWS)} AS w, "])
    having = rng.choice(["", "", " HAVING count(*) > 1", " HAVING max(qty) IS NOT NULL"])
    sql = (
        f"SELECT {window}{key} AS k, {aggregates(rng, 2)} FROM {_source(rng)} "
        f"GROUP BY 1{', 2' if window else ''}{having}"
    )
    return {"sql": sql, "output_mode": rng.choice(MODES if window else ["update", "complete"])}


def grouping_sets(rng: random.Random) -> Case:
    window = rng.choice(WINDOWS)
    sets = rng.choice(
        [
            "GROUPING SETS ((w, user), (w))",
            "GROUPING SETS ((w, user), (w, ok), (w))",
            "w, ROLLUP(user, ok)",
            "w, CUBE(user, ok)",
            "ROLLUP(w, user)",
            "CUBE(w, ok)",
        ]
    )
    sql = (
        f"SELECT w, user, ok, grouping_id() AS g, count(*) AS n, sum(qty) AS q FROM "
        f"(SELECT user, ok, qty, {window} AS w FROM {_source(rng)}) GROUP BY {sets}"
    )
    if rng.random() < 0.7:
        named = "user" if "user" in sets else "w"
        sql = (
            sql.replace("user, ok, grouping_id() AS g,", f"grouping({named}) AS g,")
            if "ok" not in sets or "user" not in sets
            else sql
        )
    return {"sql": sql, "output_mode": rng.choice(MODES)}


def dynamic_sessions(rng: random.Random) -> Case:
    key = rng.choice(["user", "ok", "qty % 2", "user, ok", "named_struct('u', user)", "place"])
    names = ", ".join(f"{part} AS k{i}" for i, part in enumerate(random_keys(key)))
    count = len(random_keys(key))
    groups = ", ".join(str(i + 1) for i in range(count + 1))
    having = rng.choice(["", "", " HAVING count(*) > 1"])
    merged = rng.choice(["true", "false"])
    inner = (
        f"SELECT session_window(ts, {rng.choice(GAPS)}) AS s, {names}, {aggregates(rng, 3)} "
        f"FROM {_source(rng)} GROUP BY {groups}{having}"
    )
    sql = rng.choice(
        [
            inner,
            inner,
            f"SELECT s.start, s.end, k0, f0 FROM ({inner})",
            f"SELECT window(s, '20 seconds') AS w, count(*) AS n FROM ({inner}) GROUP BY 1",
            f"SELECT window(session_window_time, '20 seconds') AS w, count(*) AS n FROM (SELECT "
            f"window_time(s) AS session_window_time FROM ({inner})) GROUP BY 1",
        ]
    )
    return {
        "sql": sql,
        "output_mode": rng.choice(MODES),
        "conf": {"spark.sql.streaming.sessionWindow.merge.sessions.in.local.partition": merged},
    }


def random_keys(text: str) -> list[str]:
    """The expressions of a list of keys."""
    return [text] if "(" in text else text.split(", ")


def window_times(rng: random.Random) -> Case:
    source, size = _source(rng), rng.choice(WINDOWS)
    inner = f"SELECT {size} AS w, user, count(*) AS n, sum(qty) AS q FROM {source} GROUP BY 1, 2"
    second = rng.choice(["'20 seconds'", "'30 seconds', '10 seconds'", "'1 minute'"])
    sql = rng.choice(
        [
            f"SELECT window_time(w) AS t, user, n FROM ({inner})",
            f"SELECT window(window_time(w), {second}) AS v, sum(n) AS s, max(q) AS m FROM ({inner})"
            " GROUP BY 1",
            f"SELECT window(w, {second}) AS v, user, sum(n) AS s FROM ({inner}) GROUP BY 1, 2",
            f"SELECT window(v, '2 minutes') AS u, sum(s) AS t, count(*) AS c FROM (SELECT window(w,"
            f" {second}) AS v, user, sum(n) AS s FROM ({inner}) GROUP BY 1, 2) GROUP BY 1",
            f"SELECT w.end AS e, max(n) AS m FROM ({inner}) GROUP BY w.end",
            f"SELECT w, max(n) AS m, sum(q) AS q FROM ({inner}) WHERE n > 0 GROUP BY w",
            f"SELECT session_window(window_time(w), '15 seconds') AS s, user, sum(n) AS t FROM "
            f"({inner}) GROUP BY 1, 2",
            f"SELECT DISTINCT w, n FROM ({inner})",
            f"SELECT w, n FROM ({inner}) LIMIT 1000",
        ]
    )
    return {"sql": sql, "output_mode": rng.choice(MODES)}


def joins_in_chains(rng: random.Random) -> Case:
    left, right = _source(rng), _source(rng, "clicks")
    kind, bound, size = rng.choice(OUTER), rng.choice(RANGES), rng.choice(WINDOWS)
    joined = (
        f"SELECT e.user, e.ts, e.qty, c.at, c.qty AS q, c.user AS who FROM {left} AS e {kind} "
        f"{right} AS c ON e.user = c.user AND {bound}"
    )
    if "SEMI" in kind:
        joined = joined.replace(
            ", c.at, c.qty AS q, c.user AS who", ", e.ts AS at, e.qty AS q, 'w' AS who"
        )
    counted = f"SELECT {size} AS w, user, count(*) AS n FROM {left} GROUP BY 1, 2"
    clicked = (
        f"SELECT {size.replace('ts', 'at')} AS v, user AS who, max(qty) AS m FROM {right} "
        "GROUP BY 1, 2"
    )
    sql = rng.choice(
        [
            f"SELECT {size} AS w, user, count(*) AS n, sum(q) AS s FROM ({joined}) GROUP BY 1, 2",
            f"SELECT {size.replace('ts', 'at')} AS w, count(*) AS n FROM ({joined}) GROUP BY 1",
            f"SELECT DISTINCT user, ts FROM ({joined})",
            f"SELECT session_window(ts, '6 seconds') AS s, user, count(q) AS n FROM ({joined}) "
            "GROUP BY 1, 2",
            f"SELECT w, user, n, m FROM ({counted}) {kind.replace('LEFT SEMI', 'LEFT')} ({clicked})"
            " ON w = v AND user = who",
            f"SELECT window(w, '40 seconds') AS u, sum(n) AS s, max(m) AS m FROM (SELECT w, n, m "
            f"FROM ({counted}) JOIN ({clicked}) ON w = v AND user = who) GROUP BY 1",
            f"SELECT a.user, a.ts, who FROM ({joined}) AS a LEFT JOIN tab ON a.user = k",
            f"SELECT a.user, a.ts, a.q FROM ({joined}) AS a LEFT ANTI JOIN tab ON a.user = k",
            f"SELECT {size} AS w, k, count(*) AS n FROM ({joined}) LEFT JOIN tab ON user = k "
            "GROUP BY 1, 2",
            f"SELECT user, ts, 'both' AS what FROM ({joined}) UNION ALL "
            f"SELECT user, ts, 'one' FROM {_source(rng)}",
        ]
    )
    return {"sql": sql, "output_mode": rng.choice(["append", "append", "append", "update"])}


def tables_on_either_side(rng: random.Random) -> Case:
    source, size = _source(rng), rng.choice(WINDOWS)
    kind = rng.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
    on = rng.choice(["user = k", "qty = n", "user = k AND qty > n", "amount = v", "day = d"])
    beside = f"{source} {kind} tab ON {on}"
    other = f"tab {kind} {source} ON {on}"
    named = "'x'" if "SEMI" in kind or "ANTI" in kind else "k"
    sql = rng.choice(
        [
            f"SELECT user, qty, {named} AS k FROM {beside}",
            f"SELECT k, n FROM {other}",
            f"SELECT {size} AS w, {named} AS k, count(*) AS n, sum(qty) AS s FROM {beside} "
            "GROUP BY 1, 2",
            f"SELECT DISTINCT ts, user FROM {beside}",
            f"SELECT w, c, k FROM (SELECT {size} AS w, user, count(*) AS c FROM {source} "
            "GROUP BY 1, 2) LEFT JOIN tab ON user = k",
            f"SELECT user, c FROM (SELECT user, count(*) AS c FROM {source} GROUP BY 1) "
            "WHERE user NOT IN (SELECT k FROM tab WHERE k IS NOT NULL)",
            f"SELECT a.user, b.k, c.n FROM {source} AS a LEFT JOIN tab AS b ON a.user = b.k "
            "LEFT JOIN tab AS c ON a.qty = c.n",
            f"SELECT user, ts FROM {source} UNION ALL SELECT k, TIMESTAMP '2026-01-01' FROM tab",
            f"SELECT user, (SELECT max(n) FROM tab WHERE k = user) AS m FROM {source}",
        ]
    )
    return {"sql": sql, "output_mode": rng.choice(MODES)}


def unions(rng: random.Random) -> Case:
    one, two, size = _source(rng), _source(rng, "clicks"), rng.choice(WINDOWS)
    both = f"SELECT ts, user, qty FROM {one} UNION ALL SELECT at, user, qty FROM {two}"
    sql = rng.choice(
        [
            f"SELECT {size} AS w, user, count(*) AS n FROM ({both}) GROUP BY 1, 2",
            f"SELECT session_window(ts, '6 seconds') AS s, user, sum(qty) AS n FROM ({both}) "
            "GROUP BY 1, 2",
            f"SELECT DISTINCT ts, user FROM ({both})",
            f"SELECT e.user, e.ts, c.qty FROM ({both}) AS e JOIN (SELECT at AS t, user, qty FROM "
            f"{_source(rng, 'clicks')}) AS c ON e.user = c.user AND c.t >= e.ts AND c.t <= e.ts + "
            "INTERVAL 5 SECONDS",
            f"SELECT w, sum(n) AS n FROM (SELECT {size} AS w, count(*) AS n FROM {one} GROUP BY 1 "
            f"UNION ALL SELECT {size.replace('ts', 'at')}, count(*) FROM {two} GROUP BY 1) "
            "GROUP BY 1",
            f"({both} LIMIT 7) UNION ALL SELECT ts, user, qty FROM {_source(rng)}",
        ]
    )
    policy = rng.choice(["min", "max"])
    conf = {"spark.sql.streaming.multipleWatermarkPolicy": policy}
    return {"sql": sql, "output_mode": rng.choice(MODES), "conf": conf}


def programs(rng: random.Random) -> Case:
    """Deduplication in PySpark's words, above and below other operators."""
    late = f"events.withWatermark('ts', '{rng.choice([0, 5, 15])} seconds')"
    other = f"clicks.withWatermark('at', '{rng.choice([0, 5, 15])} seconds')"
    kind = rng.choice(["inner", "left", "right", "full", "leftsemi"])
    window = "F.window('ts', '10 seconds')"
    within = "dropDuplicatesWithinWatermark"
    joined = (
        f"{late}.alias('e').join({other}.alias('c'), F.expr('e.user = c.user AND "
        f"{rng.choice(RANGES)}'), '{kind}')"
    )
    code = rng.choice(
        [
            f"{late}.{within}(['user']).groupBy({window}, 'ok').count()",
            f"{late}.{within}(['user', 'qty']).select('user', 'qty', 'ts')",
            f"{late}.dropDuplicates(['user', 'ts']).groupBy({window}).agg(F.sum('qty').alias('s'))",
            f"{late}.groupBy({window}, 'user').count().dropDuplicates(['window', 'count'])"
            ".select('window', 'count')",
            f"{late}.groupBy({window}, 'user').count()"
            ".groupBy(F.window(F.window_time('window'), '20 seconds')).agg(F.max('count'))",
            f"{late}.dropDuplicates(['user', 'ts']).alias('e').join({other}"
            ".dropDuplicates(['user', 'at']).alias('c'), F.expr('e.user = c.user AND "
            f"{rng.choice(RANGES)}'), '{kind}')"
            + (
                ".select('e.user', 'ts')" if kind == "leftsemi" else ".select('e.user', 'ts', 'at')"
            ),
            f"{joined}.select('e.ts', 'e.user', 'e.qty').dropDuplicates(['ts', 'user'])"
            ".select('ts', 'user')",
            f"{joined}.select('e.ts', 'e.user', 'e.qty').{within}(['user']).select('user')",
            f"{late}.groupBy({window}, F.struct('user', 'ok').alias('k')).agg(F.count('*')"
            ".alias('n'), F.expr('count_if(qty > 2) FILTER (WHERE ok)').alias('c'))",
            f"{late}.groupBy(F.session_window('ts', F.when(F.col('ok'), '3 seconds')"
            ".otherwise('9 seconds')), 'user').agg(F.count('*').alias('n'))",
            f"{late}.where('qty > 1').withColumn('v', F.col('qty') * 2).dropDuplicates(['v'])"
            ".select('v')",
            f"{late}.select('ts', 'user').unionByName({other}.select(F.col('at').alias('ts'), "
            "'user')).dropDuplicates(['user', 'ts']).select('user', 'ts')",
            f"{late}.groupBy('user').pivot('ok', [True, False]).count()",
            f"{late}.groupBy({window}).agg(F.count_distinct('user'))",
            f"{late}.select('user', 'ts').limit(11).select(F.lit(1).alias('one'))",
            f"{late}.dropDuplicates().select('user', 'ts', 'qty')",
            f"{late}.join(tab, F.expr('user = k'), '{rng.choice(['left', 'inner', 'left_anti'])}')"
            f".groupBy({window}).count()",
        ]
    )
    return {"python": code, "output_mode": rng.choice(MODES)}


SHAPES: dict[str, Callable[[random.Random], Case]] = {
    shape.__name__: shape
    for shape in (
        rare_values,
        rare_keys,
        grouping_sets,
        dynamic_sessions,
        window_times,
        joins_in_chains,
        tables_on_either_side,
        unions,
        programs,
    )
}


def case(shape: str, seed: int, batches: int = 4) -> Case:
    """A scenario without expectation."""
    rng = random.Random(f"variety-{shape}-{seed}")
    made = SHAPES[shape](rng)
    query = made.get("sql") or made["python"]
    sources: Case = {"events": {"schema": SCHEMA + COLLATED * ("cs AS" in query)}}
    if "clicks" in query:
        sources["clicks"] = {"schema": CLICKS}
    steps: list[Case] = []
    for step in range(batches):
        at = step if rng.random() > 0.1 else max(step - 2, 0)
        rows = [widened(rng, event_near(rng, at)) for _ in range(rng.choice([0, 1, 6, 12, 20]))]
        batch = {"events": [row | {"cs": rng.choice(["bob", "Bob", "é", None])} for row in rows]}
        for row in batch["events"]:
            del row["bin"]
        if "clicks" in sources:
            batch["clicks"] = [click(rng, step) for _ in range(rng.choice([0, 1, 6, 15]))]
        steps.append({"batch": batch, "crash": rng.random() < 0.1})
        if rng.random() < 0.15:
            steps.append({"restart": True})
    if "tab" in query:
        sources["tab"] = {"schema": TABLE, "static": True, "rows": table(rng)}
    conf = {"spark.sql.shuffle.partitions": rng.choice(["1", "2", "3"])}
    if rng.random() < 0.5:
        conf |= rng.choice(SETTINGS)
    return {"sources": sources, "conf": conf | made.pop("conf", {}), "steps": steps, **made}
