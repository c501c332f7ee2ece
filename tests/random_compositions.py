"""Random streams of composed plans: any operator above any other, and times and types at the edges.

`composed` draws a program in PySpark's words as a tree of operators over one row type (who, t, n):
windows, sessions, deduplication, joins of two such trees or of one with itself, unions, tables, and
state of the user's own on top. The other shapes draw joins of three and four inputs, changes of
clocks, times at the ends of the calendar, decimals, nested keys and several windows of one stream.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable

import random_joins
import random_variety
from random_joins import CLICKS, RANGES, click, event_near
from random_streams import START, WINDOWS, Case, aggregates, stamp, watermarked
from random_tables import TABLE, table, widened
from random_variety import MODES, SCHEMA, SETTINGS
from user_state_streams import PROVIDER, ROCKS

SIZES = ["'10 seconds'", "'20 seconds', '5 seconds'", "'30 seconds'"]
KINDS = ["inner", "left", "right", "full", "leftsemi"]
AGGREGATES = [
    *("sum(n)", "count(*)", "max(n)", "CAST(avg(n) AS BIGINT)", "CAST(median(n) AS BIGINT)"),
    *("count(n) FILTER (WHERE who > 'a')", "approx_count_distinct(n)", "bit_xor(n)"),
    *(
        "mode(n, true)",
        "CAST(length(listagg(who)) AS BIGINT)",
        "CAST(size(max_by(n, n, 2)) AS INT)",
    ),
    "size(collect_set(n))",
]
BOUNDS = [
    "b.t BETWEEN a.t AND a.t + INTERVAL 20 SECONDS",
    "b.t >= a.t - INTERVAL 10 SECONDS AND b.t < a.t + INTERVAL 10 SECONDS",
    "a.t > b.t - INTERVAL 15 SECONDS AND a.t < b.t + INTERVAL 5 SECONDS",
    "a.t = b.t",
]
ZONES = {
    "America/New_York": ["2026-03-08T07:00", "2026-11-01T06:00"],
    "Europe/Berlin": ["2026-03-29T01:00", "2026-10-25T01:00"],
    "Australia/Lord_Howe": ["2026-04-04T15:00", "2026-10-03T15:30"],
    "Pacific/Apia": ["2011-12-30T10:00"],
    "Asia/Kathmandu": ["1985-12-31T18:30"],
    "Europe/Amsterdam": ["1937-06-30T23:40", "1940-05-15T23:40"],
    "-03:30": ["2026-01-01T00:00"],
}
IN_ZONES = [
    *("date_trunc('HOUR', ts)", "date_trunc('DAY', ts)", "CAST(ts AS DATE)", "hour(ts)"),
    *("CAST(ts AS STRING)", "ts + INTERVAL 1 DAY", "ts - INTERVAL '1' MONTH", "dayofweek(ts)"),
    *("CAST(CAST(ts AS TIMESTAMP_NTZ) AS TIMESTAMP)", "date_format(ts, 'yyyy-MM-dd HH:mm')"),
    *("to_timestamp(date_format(ts, 'yyyy-MM-dd HH:mm:ss'))", "unix_timestamp(ts)"),
    *("from_utc_timestamp(ts, 'Europe/Berlin')", "to_utc_timestamp(ts, 'America/New_York')"),
    *("CAST(CAST(ts AS DATE) AS TIMESTAMP)", "months_between(ts, TIMESTAMP '2026-01-31')"),
    *("timestampdiff(HOUR, TIMESTAMP '2026-03-01 00:00:00', ts)", "last_day(ts)"),
    *("timestampadd(DAY, qty, ts)", "make_date(year(ts), month(ts), 1)", "minute(ts)"),
]
FAR = [
    *("1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00.000000Z", "0001-01-01T00:00:00.000000Z"),
    *("1883-11-18T17:00:00.000000Z", "1582-10-15T00:00:00.000000Z", "2026-01-01T00:00:00.000001Z"),
]
END = "9999-12-31T23:59:59.999999Z"
DECIMALS = [
    *("price", "CAST(price AS DECIMAL(10,4))", "price * 3", "price / 7", "price % 1.3"),
    *("round(price, 1)", "bround(price, -1)", "CAST(price AS DECIMAL(5,1))", "price + qty"),
    *("abs(price - 500)", "floor(price)", "ceil(price, 1)", "CAST(amount AS DECIMAL(38,10))"),
    *("try_divide(price, qty)", "greatest(price, 12.345)", "-price", "price * price * price"),
    *("coalesce(price, 0)", "CAST(big AS DECIMAL(20,0))", "price div 2", "nullif(price, 3.00)"),
]
OVER_DECIMALS = [
    *("sum({})", "avg({})", "max({})", "min({})", "count({})", "first({}, true)", "try_avg({})"),
    *("try_sum({})", "sum({}) / count(*)", "sum({} * 1.5)", "stddev_pop({})", "mode({}, true)"),
    *("percentile({}, 0.5)", "sort_array(collect_set({}))", "CAST(sum({}) AS STRING)"),
]
NESTED = [
    *("place.x", "place", "place.y", "ss[0].a", "m['a']", "struct(place, tags)", "array(place)"),
    *("named_struct('s', named_struct('t', tags, 'p', price))", "ss", "struct(ss, amount)"),
    *("get(ss, 0)", "ss.a", "map_entries(m)", "array(amount, small)", "array(tags, tags)"),
    *("struct(amount, array(small))", "transform(ss, s -> s.b)", "struct(day, ok, price)"),
]
OPS = ["append:1 list", "set:6 map", "append:3 timer:40 list", "timer:10 timers", "set:1 get:1"]


def _leaf(rng: random.Random) -> str:
    """A stream with its watermark."""
    name, time = rng.choice([("events", "ts"), ("events", "ts"), ("clicks", "at")])
    late = f"{name}.withWatermark('{time}', '{rng.choice([0, 5, 15])} seconds')"
    return (
        f"{late}.select(F.col('user').alias('who'), F.col('{time}').alias('t'), "
        "F.col('qty').cast('bigint').alias('n'))"
    )


def _grouped(rng: random.Random, rows: str, window: str, name: str) -> str:
    """Groups of a window and a key, as rows again."""
    value = f"F.expr({rng.choice(AGGREGATES)!r}).cast('bigint').alias('n')"
    having = rng.choice(["", "", ".where('n > 1')"])
    return (
        f"{rows}.groupBy({window}, 'who').agg({value}){having}"
        f".select('who', F.window_time('{name}').alias('t'), 'n')"
    )


def _joined(rng: random.Random, one: str, other: str) -> str:
    kind = rng.choice(KINDS)
    more = rng.choice(["", "", " AND a.n < b.n", " AND a.n > 0", " AND coalesce(b.n, 9) > 1"])
    condition = f"a.who = b.who AND {rng.choice(BOUNDS)}{more}"
    chosen = {
        "leftsemi": "'a.who', 'a.t', 'a.n'",
        "right": "F.col('b.who'), F.col('b.t'), F.expr('a.n + b.n').alias('n')",
    }.get(kind, "F.col('a.who'), F.col('a.t'), F.expr('a.n + b.n').alias('n')")
    return (
        f"{one}.alias('a').join({other}.alias('b'), F.expr({condition!r}), '{kind}')"
        f".select({chosen})"
    )


def _relation(rng: random.Random, depth: int) -> str:
    """A program of so many operators above its streams."""
    if depth == 0:
        return _leaf(rng)
    kind = rng.choice(["join", "join", "union", "window", "window", "session", "rows", "table"])
    if kind in ("join", "union"):
        one = _relation(rng, depth - 1)
        other = one if rng.random() < 0.15 else _relation(rng, rng.randint(0, depth - 1))
        return f"{one}.union({other})" if kind == "union" else _joined(rng, one, other)
    rows = _relation(rng, depth - 1)
    if kind == "window":
        return _grouped(rng, rows, f"F.window('t', {rng.choice(SIZES)})", "window")
    if kind == "session":
        gap = rng.choice(
            ["'6 seconds'", "F.expr(\"CASE WHEN n > 3 THEN '9 seconds' ELSE '2 s' END\")"]
        )
        return _grouped(rng, rows, f"F.session_window('t', {gap})", "session_window")
    if kind == "table":
        how = rng.choice(["left", "inner", "left_anti", "leftsemi"])
        return f"{rows}.join(tab, F.expr('who = k'), '{how}').select('who', 't', 'n')"
    return rows + rng.choice(
        [
            ".where('n > 0 OR who IS NULL')",
            ".withColumn('n', F.col('n') * 2 - 1)",
            ".dropDuplicates()",
            ".distinct()",
            # Which row of a key is kept is not said, but its key is.
            ".dropDuplicates(['who', 't']).withColumn('n', F.lit(1).cast('bigint'))",
            ".dropDuplicatesWithinWatermark(['who', 't']).withColumn('n', F.lit(1).cast('bigint'))",
        ]
    )


def composed(rng: random.Random) -> Case:
    rows = _relation(rng, rng.choice([2, 2, 3]))
    size = rng.choice(SIZES)
    by_window = f"{rows}.groupBy(F.window('t', {size}))"
    code, mode = rng.choice(
        [
            (rows, rng.choice(MODES)),
            (rows, "append"),
            (f"{by_window}.agg(F.sum('n'), F.count('*'))", "append"),
            (f"{rows}.groupBy('who').agg(F.sum('n'), F.count('*'))", rng.choice(MODES)),
            (f"{rows}.limit(7).select(F.lit(1).alias('one'))", "append"),
            (f"{by_window}.agg(F.max('n')).limit(3).select(F.lit(1))", "append"),
        ]
    )
    return {"python": code, "output_mode": mode}


def with_user_state(rng: random.Random) -> Case:
    """State of the user's own above other operators."""
    rows = _relation(rng, rng.choice([1, 1, 2]))
    chosen = (
        f"{rows}.select(F.col('who').alias('user'), F.col('t').alias('ts'), "
        f"F.col('n').cast('int').alias('qty'), F.lit({rng.choice(OPS)!r}).alias('ops'))"
    )
    module = "__import__('user_state_processors')"
    code = rng.choice(
        [
            f"{module}.with_processor({chosen}, 'EventTime', rows={rng.random() < 0.5})",
            f"{module}.with_processor({chosen}, 'None', rows={rng.random() < 0.5})",
            f"{module}.with_one_state({chosen.replace(' timer', ' update')}, 'EventTimeTimeout')",
        ]
    )
    mode = rng.choice(["append", "update", "update"])
    return {"python": code, "output_mode": mode, "conf": {PROVIDER: ROCKS}}


def many_joins(rng: random.Random) -> Case:
    """Three or four inputs, by ranges, equal times and windows."""
    names = ["e", "c", "d", "f"][: rng.choice([3, 3, 4])]
    parts = []
    for number, name in enumerate(names):
        stream = rng.choice(["events", "clicks"]) if number != 1 else "clicks"
        time = "at" if stream == "clicks" else "ts"
        source = watermarked(rng, stream).replace("WATERMARK ts", f"WATERMARK {time}")
        parts.append(f"(SELECT user, {time} AS t, qty FROM {source}) AS {name}")
    sql = parts[0]
    for before, name, part in zip(names, names[1:], parts[1:], strict=False):
        kind = rng.choice(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        with_ = rng.choice([names[0], before])
        bound = rng.choice(BOUNDS).replace("a.t", f"{with_}.t").replace("b.t", f"{name}.t")
        more = rng.choice(["", "", f" AND {with_}.qty < {name}.qty", f" AND {name}.qty > 0"])
        sql += f" {kind} {part} ON {with_}.user = {name}.user AND {bound}{more}"
    shown = ", ".join(f"{name}.t AS {name}t" for name in names)
    rows = f"SELECT {names[0]}.user, {shown}, {names[-1]}.qty AS q FROM {sql}"
    chosen = rng.choice(
        [
            rows,
            rows,
            f"SELECT window(et, '20 seconds') AS w, user, count(*) FROM ({rows}) GROUP BY 1, 2",
            f"SELECT DISTINCT et, user FROM ({rows})",
            f"SELECT user, et FROM ({rows}) WHERE q > 1 OR q IS NULL",
        ]
    )
    return {"sql": chosen, "output_mode": "append"}


def self_joins(rng: random.Random) -> Case:
    """A stream beside what is computed of itself."""
    source = watermarked(rng)
    kind = rng.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN"])
    size = rng.choice(SIZES)
    counted = f"(SELECT window(ts, {size}) AS w, user, count(*) AS n FROM {source} GROUP BY 1, 2)"
    wide = f"(SELECT window(ts, {size}) AS w, user, qty FROM {source})"
    distinct = f"(SELECT DISTINCT user, ts FROM {source})"
    given = "a.user" if "SEMI" in kind else "a.user, b.user AS other"
    sql = rng.choice(
        [
            f"SELECT {given}, a.w FROM {wide} AS a {kind} {counted} AS b ON a.w = b.w "
            "AND a.user = b.user",
            f"SELECT {given}, a.w, a.n FROM {counted} AS a {kind} {counted} AS b ON a.w = b.w "
            "AND a.user < b.user",
            f"SELECT {given}, a.ts FROM {source} AS a {kind} {distinct} AS b ON a.ts = b.ts",
            f"SELECT {given}, a.qty FROM {source} AS a {kind} {source} AS b ON a.user = b.user "
            f"AND {rng.choice(RANGES).replace('e.ts', 'a.ts').replace('c.at', 'b.ts')}",
            f"SELECT {given}, a.w FROM {wide} AS a {kind} {wide} AS b ON a.w = b.w AND "
            "a.qty = b.qty",
        ]
    )
    return {"sql": sql, "output_mode": "append"}


def zones(rng: random.Random) -> Case:
    zone = rng.choice(list(ZONES))
    source = watermarked(rng).replace("SECONDS", "MINUTES")
    chosen = rng.sample(IN_ZONES, 3)
    shown = ", ".join(f"{text} AS f{i}" for i, text in enumerate(chosen))
    size = rng.choice(["'1 hour'", "'1 day'", "'2 hours', '30 minutes'", "'30 minutes'"])
    key, windowed = chosen[0], f"window(ts, {size}) AS w"
    grouped = f"FROM {source} GROUP BY 1"
    session = "session_window(ts, '20 minutes')"
    queries = {
        f"SELECT ts, {shown} FROM {source}": "append",
        f"SELECT {key} AS k, count(*) AS n, max(ts) AS t {grouped}": "update",
        f"SELECT {windowed}, max({key}) AS f, min(CAST(ts AS STRING)) AS s {grouped}": "append",
        f"SELECT CAST(w.start AS STRING) AS s, hour(w.end) AS h, n FROM (SELECT {windowed}, "
        f"count(*) AS n {grouped})": "append",
        f"SELECT {session} AS s, ok, count(*) AS n, max({key}) AS f {grouped}, 2": "append",
    }
    sql, mode = rng.choice(list(queries.items()))
    at = dt.datetime.fromisoformat(rng.choice(ZONES[zone])).replace(tzinfo=dt.UTC)
    conf = {"spark.sql.session.timeZone": zone}
    return {"sql": sql, "output_mode": mode, "conf": conf, "around": at}


def far_times(rng: random.Random) -> Case:
    """Queries over event time, with rows at the ends of the calendar."""
    shape = rng.choice(
        [
            *(random_variety.window_times, random_variety.dynamic_sessions, composed, self_joins),
            *(random_variety.joins_in_chains, random_joins.by_range, random_joins.by_window),
        ]
    )
    return {**shape(rng), "far": True}


def decimals(rng: random.Random) -> Case:
    made = (rng.choice(OVER_DECIMALS).format(f"({rng.choice(DECIMALS)})") for _ in range(4))
    values = ", ".join(f"{text} AS f{i}" for i, text in enumerate(made))
    key = rng.choice([f"{rng.choice(DECIMALS)} AS k", f"{rng.choice(WINDOWS)} AS w", "ok AS k"])
    given = ", ".join(f"{text} AS f{i}" for i, text in enumerate(rng.sample(DECIMALS, 4)))
    left, right = watermarked(rng), random_joins.streams(rng)[1]
    sql = rng.choice(
        [
            f"SELECT {key}, {values} FROM {left} GROUP BY 1",
            f"SELECT {key}, {values} FROM {left} GROUP BY 1",
            f"SELECT {given} FROM STREAM events",
            f"SELECT DISTINCT ts, {rng.choice(DECIMALS)} AS d FROM {left}",
            f"SELECT e.ts, c.price, e.price AS p FROM {left} AS e JOIN {right} AS c ON "
            f"CAST(e.price AS DECIMAL(10,3)) = c.price AND {rng.choice(RANGES)}",
        ]
    )
    return {"sql": sql, "output_mode": rng.choice(MODES)}


def nested_keys(rng: random.Random) -> Case:
    one, other = rng.sample(NESTED, 2)
    left = watermarked(rng)
    sql = rng.choice(
        [
            f"SELECT {one} AS k, {other} AS l, {aggregates(rng, 2)} FROM {left} GROUP BY 1, 2",
            f"SELECT {rng.choice(WINDOWS)} AS w, {one} AS k, {aggregates(rng, 2)} FROM {left} "
            "GROUP BY 1, 2",
            f"SELECT session_window(ts, '7 seconds') AS s, {one} AS k, count(*) AS n FROM {left} "
            "GROUP BY 1, 2",
            f"SELECT DISTINCT ts, {one} AS k, {other} AS l FROM {left}",
            f"SELECT e.k, e.ts, c.ts AS u FROM (SELECT {one} AS k, ts FROM {left}) AS e LEFT JOIN "
            f"(SELECT {one} AS k, ts FROM {left}) AS c ON e.k = c.k AND c.ts BETWEEN e.ts AND "
            "e.ts + INTERVAL 5 SECONDS",
        ]
    )
    return {"sql": sql, "output_mode": rng.choice(MODES)}


def several_windows(rng: random.Random) -> Case:
    source = watermarked(rng)
    one, other, third = rng.sample([*WINDOWS, "session_window(ts, '8 seconds')"], 3)
    outer = third.replace("(ts", "(w")
    counted = "SELECT {} AS w, user, count(*) AS n, sum(qty) AS q FROM {} GROUP BY 1, 2"
    first, second = counted.format(one, source), counted.format(other, source)
    sql = rng.choice(
        [
            f"{first} UNION ALL {second}",
            f"SELECT window(w, '1 minute', '30 seconds') AS v, sum(n) AS n FROM ({first} UNION ALL "
            f"{second}) GROUP BY 1",
            f"SELECT {outer} AS v, user, max(n) AS n FROM ({first}) GROUP BY 1, 2",
            f"SELECT {one} AS w, {other} AS v, count(*) AS n FROM {source} GROUP BY 1, 2",
            f"SELECT {one} AS w, {one} AS v, user, count(*) AS n FROM {source} GROUP BY 1, 2, 3",
            f"SELECT w.start, w.end, window_time(w) AS t, n FROM ({first})",
            f"SELECT {outer} AS v, percentile(n, 0.5) AS p, median(q) AS m, mode(user, true) AS u, "
            f"max_by(user, struct(n, user), 2) AS b FROM (SELECT * FROM ({first}) WHERE n >= 0) "
            "GROUP BY 1",
        ]
    )
    return {"sql": sql, "output_mode": rng.choice(MODES)}


SHAPES: dict[str, Callable[[random.Random], Case]] = {
    shape.__name__: shape
    for shape in (
        composed,
        with_user_state,
        many_joins,
        self_joins,
        zones,
        far_times,
        decimals,
        nested_keys,
        several_windows,
    )
}


def _moved(row: Case, time: str, around: dt.datetime) -> Case:
    """The row with its time near another one, minutes for seconds."""
    if row[time] is None:
        return row
    past = dt.datetime.fromisoformat(row[time]) - START
    return row | {time: stamp(around + past * 60 - dt.timedelta(minutes=50))}


def case(shape: str, seed: int, batches: int = 4) -> Case:
    """A scenario without expectation."""
    rng = random.Random(f"compositions-{shape}-{seed}")
    made = SHAPES[shape](rng)
    query = made.get("sql") or made["python"]
    around, far = made.pop("around", None), made.pop("far", False)
    schemas = {"events": (SCHEMA, "ts"), "clicks": (CLICKS, "at")}
    used = [name for name in schemas if name in query]
    steps: list[Case] = []
    for step in range(batches):
        at = step if rng.random() > 0.1 else max(step - 2, 0)
        batch: Case = {}
        for name in used:
            time = schemas[name][1]
            rows = [event_near(rng, at) for _ in range(rng.choice([0, 1, 6, 12, 18]))]
            rows = [click(rng, at) if name == "clicks" else widened(rng, row) for row in rows]
            for row in rows:
                row.pop("bin", None)
                if far and rng.random() < 0.08:
                    row[time] = rng.choice(FAR)
            if far and step == batches - 1 and rows and rng.random() < 0.3:
                rows[-1][time] = END
            rows += [rng.choice(rows) for _ in range(len(rows) // 6)]
            batch[name] = [_moved(row, time, around) for row in rows] if around else rows
        steps.append({"batch": batch, "crash": rng.random() < 0.1})
        if rng.random() < 0.15:
            steps.append({"restart": True})
    sources: Case = {name: {"schema": schemas[name][0]} for name in used}
    if "tab" in query:
        sources["tab"] = {"schema": TABLE, "static": True, "rows": table(rng)}
    conf = {"spark.sql.shuffle.partitions": rng.choice(["1", "2", "3"])}
    if rng.random() < 0.3:
        conf |= rng.choice(SETTINGS)
    return {"sources": sources, "conf": conf | made.pop("conf", {}), "steps": steps, **made}
