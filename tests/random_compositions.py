"""Random streams of composed plans: any operator above any other, and times and types at the edges.

`composed` draws a program in PySpark's words as a tree of operators over one row type (who, t, n):
windows, sessions, deduplication, joins of two such trees or of one with itself, unions, tables, and
state of the user's own on top or below. The other shapes draw joins of three and four inputs, times
at the ends of the calendar, and what random_edges.py has.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable

import random_joins
import random_variety
from random_edges import decimals, nested_keys, several_windows, zones
from random_expressions import over_aggregates, over_rows
from random_joins import CLICKS, RANGES, click, event_near
from random_streams import START, Case, stamp, watermarked
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
    *("size(collect_set(n))", "CAST(percentile(n, 0.3) AS BIGINT)", "percentile_approx(n, 0.6)"),
    *("size(histogram_numeric(n, 3))", "length(hll_sketch_agg(n, 4))", "max_by(n, who)"),
]
BOUNDS = [
    "b.t BETWEEN a.t AND a.t + INTERVAL 20 SECONDS",
    "b.t >= a.t - INTERVAL 10 SECONDS AND b.t < a.t + INTERVAL 10 SECONDS",
    "a.t > b.t - INTERVAL 15 SECONDS AND a.t < b.t + INTERVAL 5 SECONDS",
    "a.t = b.t",
]
FAR = [
    *("1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00.000000Z", "0001-01-01T00:00:00.000000Z"),
    *("1883-11-18T17:00:00.000000Z", "1582-10-15T00:00:00.000000Z", "2026-01-01T00:00:00.000001Z"),
]
END = "9999-12-31T23:59:59.999999Z"
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
            (
                f"{rows}.select(F.window('t', {size}).alias('w'), 'who', 'n')"
                f".{rng.choice(['rollup', 'cube'])}('w', 'who').agg(F.sum('n'), F.grouping_id())",
                rng.choice(MODES),
            ),
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


def below_others(rng: random.Random) -> Case:
    """The same below other operators, which go by the times of what it emits."""
    delay = rng.choice([0, 5, 15])
    chosen = (
        f"events.withWatermark('ts', '{delay} seconds')"
        f".select('user', 'ts', 'qty', F.lit({rng.choice(OPS)!r}).alias('ops'))"
    )
    processed = (
        f"__import__('user_state_processors').with_processor({chosen}, 'EventTime', timed=True, "
        f"rows={rng.random() < 0.5})"
    )
    rows = f"{processed}.select(F.col('key').alias('who'), 't', F.length('said').alias('n'))"
    code = rng.choice(
        [
            rows,
            f"{rows}.groupBy(F.window('t', {rng.choice(SIZES)}), 'who').agg(F.count('*'))",
            f"{rows}.groupBy(F.session_window('t', '9 seconds'), 'who').agg(F.count('n'))",
            f"{rows}.dropDuplicates(['who', 't']).select('who', 't')",
            f"{rows}.groupBy('t').agg(F.sum('n'))",
            _joined(rng, rows, _leaf(rng)),
        ]
    )
    return {"python": code, "output_mode": "append", "conf": {PROVIDER: ROCKS}}


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


def far_times(rng: random.Random) -> Case:
    """Queries over event time, with rows at the ends of the calendar."""
    shape = rng.choice(
        [
            *(random_variety.window_times, random_variety.dynamic_sessions, composed, self_joins),
            *(random_variety.joins_in_chains, random_joins.by_range, random_joins.by_window),
        ]
    )
    return {**shape(rng), "far": True}


SHAPES: dict[str, Callable[[random.Random], Case]] = {
    shape.__name__: shape
    for shape in (
        composed,
        with_user_state,
        below_others,
        many_joins,
        self_joins,
        zones,
        far_times,
        decimals,
        nested_keys,
        several_windows,
        over_aggregates,
        over_rows,
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
