"""Random queries over what lies at the edges: changes of clocks, decimals, nested keys, windows."""

from __future__ import annotations

import datetime as dt
import random

import random_joins
from random_joins import RANGES
from random_streams import WINDOWS, Case, aggregates, watermarked
from random_variety import MODES

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
