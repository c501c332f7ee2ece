"""Queries like the corpora's, with slots: what `random_evolutions.py` changes.

A shape makes one side of a case of what its slots hold, in the form of EVOLUTIONS.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

EVENTS = "ts TIMESTAMP, at TIMESTAMP, k STRING, g STRING, v INT, w INT"
LEFT = "lt TIMESTAMP, k STRING, g STRING, v INT"
RIGHT = "rt TIMESTAMP, k STRING, g STRING, w INT"
NAMES = "k STRING, label STRING, factor INT"
Slots = dict[str, str]
Side = dict[str, Any]

WATERMARKS = (
    "WATERMARK ts DELAY OF INTERVAL 10 SECONDS",
    "WATERMARK ts DELAY OF INTERVAL 10 SECONDS",
    "WATERMARK ts DELAY OF INTERVAL 45 SECONDS",
    "WATERMARK at DELAY OF INTERVAL 10 SECONDS",
    "",
)
FILTERS = (
    "",
    "",
    "WHERE v > 2",
    "WHERE k <> 'o'",
    "WHERE w < 20 AND g = 'x'",
    "WHERE v IS NOT NULL",
)
KEYS = ("k", "g", "upper(k)", "v % 2", "length(k)", "coalesce(g, 'none')", "v > 5", "to_date(ts)")
WINDOWS = (
    "window(ts, '30 seconds')",
    "window(ts, '1 minute')",
    "window(ts, '60 seconds')",
    "window(ts, '1 minute', '30 seconds')",
    "window(ts, '1 minute', '1 minute', '10 seconds')",
    "window(at, '1 minute')",
)
AGGREGATES = (
    *("count(*)", "count(v)", "count(1)", "sum(v)", "sum(w)", "sum(v + 1)", "sum(v * w)"),
    *("max(v)", "min(v)", "max(w)", "avg(v)", "avg(w)", "sum(CAST(v AS BIGINT))", "max(g)"),
    *("min(g)", "first(g)", "last(g)", "any_value(g)", "max_by(g, v)", "max_by(g, w)"),
    *("stddev(v)", "var_pop(v)", "var_samp(v)", "bool_or(v > 5)", "bool_and(v > 1)"),
    *("sort_array(collect_list(v))", "sort_array(collect_set(v))", "approx_count_distinct(v)"),
    *("percentile(v, 0.5)", "percentile(v, 0.25)", "median(v)", "sum(v) FILTER (WHERE w > 5)"),
    *("count_if(v > 5)", "sum(CAST(v AS DECIMAL(10,2)))", "sum(CAST(v AS DOUBLE))", "bit_xor(v)"),
    *("count(*) FILTER (WHERE g = 'x')", "corr(v, w)", "covar_pop(v, w)", "kurtosis(v)"),
    *("sum(if(g = 'x', v, 0))", "max(struct(v, w))", "mode(g)", "skewness(v)", "min_by(g, v)"),
)
MODES = ("update", "update", "append", "complete")


# ------------------------------------------------------------------------------------- the shapes


def _outputs(names: Sequence[str], texts: Sequence[str]) -> str:
    return ", ".join(f"{text} AS {name}" for name, text in zip(names, texts, strict=True))


def _aggregate(s: Slots) -> Side:
    keys = [s[name] for name in ("window", "key", "second") if s[name]]
    names = [f"k{i}" for i in range(len(keys))]
    values = [s[name] for name in ("one", "two", "three") if s[name]]
    own = [f"a{i}" for i in range(len(values))]
    having = s["having"] and f" HAVING {s['having']}"
    grouping = f" GROUP BY {', '.join(keys)}" if keys else ""
    rows = f"STREAM events {s['watermark']} {s['filter']}"
    if s["spelling"] == "subquery":
        rows = f"(SELECT * FROM STREAM events {s['watermark']}) {s['filter']}"
    elif s["spelling"] == "narrow":
        rows = f"(SELECT w, v, k, g, ts, at FROM STREAM events {s['watermark']}) e {s['filter']}"
    sql = f"SELECT {_outputs(names + own, keys + values)} FROM {rows}{grouping}{having}"
    if s["spelling"] == "cte":
        sql = f"WITH t AS ({sql}) SELECT * FROM t"
    return {"sql": sql, "output_mode": s["mode"], "key": names or None}


def _session(s: Slots) -> Side:
    keys = [s["session"], *([s["key"]] if s["key"] else [])]
    names = ["s", "k0"][: len(keys)]
    values = [s[name] for name in ("one", "two") if s[name]]
    own = [f"a{i}" for i in range(len(values))]
    rows = f"STREAM events {s['watermark']} {s['filter']}"
    sql = f"SELECT {_outputs(names + own, keys + values)} FROM {rows} GROUP BY {', '.join(keys)}"
    return {"sql": sql, "output_mode": s["mode"], "key": names}


def _deduplicate(s: Slots) -> Side:
    rows = f"events{s['mark']}{s['filter']}{s['computed']}.{s['method']}({s['columns']})"
    above = s["above"]
    key = ["k"] if "groupBy" in above else None
    mode = s["mode"] if key else "append"
    return {"python": rows + above, "output_mode": mode, "key": key}


def _join(s: Slots) -> Side:
    on = " AND ".join(c for c in (s["keys"], s["range"], s["condition"]) if c)
    left = f"STREAM l {s['left mark']}"
    right = f"STREAM r {s['right mark']}"
    sql = f"SELECT {s['columns']} FROM {left} {s['type']} JOIN {right} ON {on} {s['filter']}"
    if s["above"]:
        sql = f"SELECT {s['above']} FROM ({sql}) GROUP BY 1"
    mode = "complete" if s["above"] and s["mode"] == "complete" else "append"
    if s["above"] and s["mode"] == "update":
        mode = "update"
    return {"sql": sql, "output_mode": mode, "key": ["k0"] if s["above"] else None}


def _limit(s: Slots) -> Side:
    sql = f"SELECT {s['columns']} FROM STREAM events {s['filter']} LIMIT {s['limit']}"
    if s["distinct"]:
        return {"python": f"events{s['distinct']}.limit({s['limit']}).select('k', 'v')"}
    return {"sql": sql, "output_mode": "append"}


def _union(s: Slots) -> Side:
    parts = [
        f"SELECT {s['left']} FROM STREAM l {s['left mark']} {s['filter']}",
        f"SELECT {s['right']} FROM STREAM r {s['right mark']}",
    ]
    if s["order"]:
        parts.reverse()
    rows = " UNION ALL ".join(parts)
    sql = f"SELECT {s['keys']}, {s['values']} FROM ({rows}) GROUP BY {s['keys']}"
    return {"sql": sql, "output_mode": s["mode"], "key": [k.strip() for k in s["keys"].split(",")]}


def _chain(s: Slots) -> Side:
    inner = f"SELECT {s['window']} AS win, {s['key']} AS key, {s['inner']} AS x"
    inner += f" FROM STREAM events {s['watermark']} {s['filter']} GROUP BY 1, 2"
    sql = f"SELECT {s['outer window']} AS w2, {s['outer']} AS y FROM ({inner}) {s['between']}"
    return {"sql": f"{sql} GROUP BY 1", "output_mode": "append"}


def _table(s: Slots) -> Side:
    rows = f"STREAM events {s['watermark']} {s['type']} JOIN names n ON {s['on']} {s['filter']}"
    if not s["agg"]:
        return {"sql": f"SELECT {s['key']} AS k0, v FROM {rows}"}
    sql = f"SELECT {s['key']} AS k0, {s['agg']} AS a0 FROM {rows} GROUP BY 1"
    return {"sql": sql, "output_mode": s["mode"], "key": ["k0"]}


def _stateless(s: Slots) -> Side:
    sql = f"SELECT {s['columns']} FROM STREAM events {s['watermark']} {s['filter']}"
    return {"sql": sql, "output_mode": "append"}


_PLAIN_KEYS = ("", *KEYS)
_DELAYS = (".withWatermark('ts', '10 seconds')", ".withWatermark('ts', '50 seconds')", "")
SHAPES: dict[str, tuple[Callable[[Slots], Side], dict[str, Sequence[str]]]] = {
    "agg": (
        _aggregate,
        {
            "watermark": WATERMARKS,
            "filter": FILTERS,
            "window": ("", *WINDOWS),
            "key": _PLAIN_KEYS,
            "second": ("", "", "g", "k"),
            "one": AGGREGATES,
            "two": ("", *AGGREGATES),
            "three": ("", "", *AGGREGATES),
            "having": ("", "", "", "count(*) > 1", "max(v) < 9"),
            "spelling": ("", "", "subquery", "narrow", "cte"),
            "mode": MODES,
        },
    ),
    "session": (
        _session,
        {
            "watermark": WATERMARKS[:4],
            "filter": FILTERS,
            "session": (
                *("session_window(ts, '20 seconds')", "session_window(ts, '70 seconds')"),
                "session_window(at, '20 seconds')",
                "session_window(ts, CASE WHEN g = 'x' THEN '10 seconds' ELSE '40 seconds' END)",
                "session_window(ts, CASE WHEN g = 'y' THEN '10 seconds' ELSE '40 seconds' END)",
            ),
            "key": ("k", "k", "g", "upper(k)"),
            "one": AGGREGATES,
            "two": ("", *AGGREGATES),
            "mode": ("append", "append", "complete"),
        },
    ),
    "dedup": (
        _deduplicate,
        {
            "mark": (*_DELAYS, ".withWatermark('at', '10 seconds')"),
            "filter": ("", "", ".where('v > 2')", ".where(F.col('k') != 'o')"),
            "computed": (
                "",
                "",
                ".withColumn('v', F.col('v') + 1)",
                ".withColumn('k', F.upper('k'))",
            ),
            "method": ("dropDuplicates", "dropDuplicates", "dropDuplicatesWithinWatermark"),
            "columns": (
                "['k', 'v']",
                "['v', 'k']",
                "['k', 'w']",
                "['k']",
                "['k', 'ts']",
                "['k', 'v', 'g']",
            ),
            "above": (
                *("", "", ".select('k', 'v')", ".select('k', 'w')", ".where('w > 5')"),
                *(".groupBy('k').count()", ".groupBy('k').agg(F.sum('v').alias('s'))"),
                ".limit(8)",
            ),
            "mode": ("update", "complete"),
        },
    ),
    "join": (
        _join,
        {
            "type": ("INNER", "INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI"),
            "left mark": ("WATERMARK lt DELAY OF INTERVAL 10 SECONDS",) * 2
            + ("WATERMARK lt DELAY OF INTERVAL 25 SECONDS",),
            "right mark": ("WATERMARK rt DELAY OF INTERVAL 10 SECONDS",) * 2
            + ("WATERMARK rt DELAY OF INTERVAL 25 SECONDS", ""),
            "keys": (
                "l.k = r.k",
                "r.k = l.k",
                "l.k = r.k AND l.g = r.g",
                "l.g = r.g",
                "upper(l.k) = upper(r.k)",
            ),
            "range": (
                "rt BETWEEN lt - INTERVAL 10 SECONDS AND lt + INTERVAL 10 SECONDS",
                "rt >= lt - INTERVAL 10 SECONDS AND rt <= lt + INTERVAL 10 SECONDS",
                "rt BETWEEN lt - INTERVAL 20 SECONDS AND lt + INTERVAL 10 SECONDS",
                "rt BETWEEN lt AND lt + INTERVAL 10 SECONDS",
                "",
            ),
            "condition": ("", "", "v < w", "v > 2", "w > 15", "l.g = 'x'", "v + w > 20"),
            "columns": (
                *("l.k AS c0, lt, v", "l.k AS c0, v, lt", "l.k AS c0, lt, v, rt, w"),
                *("l.g AS c0, lt, v + 1 AS v", "l.k AS c0, v"),
            ),
            "filter": ("", "", "", "WHERE l.v > 2", "WHERE l.k <> 'a'", "WHERE l.v IS NOT NULL"),
            "above": ("", "", "", "c0 AS k0, count(*) AS n", "c0 AS k0, sum(v) AS n"),
            "mode": ("append", "update", "complete"),
        },
    ),
    "limit": (
        _limit,
        {
            "columns": ("k, v", "k, w", "k, v, g", "upper(k) AS k, v"),
            "filter": FILTERS,
            "limit": ("5", "8", "13", "18", "100"),
            "distinct": ("", "", ".dropDuplicates(['k', 'v'])", ".dropDuplicates(['k', 'w'])"),
        },
    ),
    "union": (
        _union,
        {
            "left": ("k, v AS x, lt AS t", "k, v + 1 AS x, lt AS t", "g AS k, v AS x, lt AS t"),
            "right": ("k, w AS x, rt AS t", "upper(k) AS k, w AS x, rt AS t"),
            "left mark": ("", "WATERMARK lt DELAY OF INTERVAL 10 SECONDS"),
            "right mark": ("", "WATERMARK rt DELAY OF INTERVAL 10 SECONDS"),
            "filter": ("", "", "WHERE v > 2"),
            "order": ("", "", "", "reversed"),
            "keys": ("k", "k", "k, x", "x"),
            "values": ("count(*) AS n", "sum(x) AS n", "count(*) AS n, max(x) AS m", "max(x) AS n"),
            "mode": ("update", "complete"),
        },
    ),
    "chain": (
        _chain,
        {
            "watermark": WATERMARKS[:3],
            "filter": FILTERS,
            "window": WINDOWS[:3],
            "key": ("k", "g", "upper(k)"),
            "inner": ("count(*)", "sum(v)", "max(v)", "sum(w)"),
            "between": ("", "", "WHERE x > 1", "WHERE key <> 'a'"),
            "outer window": (
                "window(win, '2 minutes')",
                "window(win, '3 minutes')",
                "window(window_time(win), '2 minutes')",
            ),
            "outer": ("count(*)", "sum(x)", "max(x)", "count(key)"),
        },
    ),
    "table": (
        _table,
        {
            "watermark": ("", "", WATERMARKS[0]),
            "type": ("INNER", "INNER", "LEFT"),
            "on": (
                "events.k = n.k",
                "n.k = events.k",
                "events.g = n.k",
                "events.k = n.k AND v > factor",
            ),
            "filter": ("", "", "WHERE label <> 'two'", "WHERE v > 2"),
            "key": ("label", "events.k", "upper(label)", "coalesce(label, 'none')"),
            "agg": ("sum(v)", "sum(v * factor)", "count(*)", "max(v)", "sum(factor)", ""),
            "mode": ("update", "complete"),
        },
    ),
    "stateless": (
        _stateless,
        {
            "watermark": WATERMARKS,
            "filter": FILTERS,
            "columns": (
                "k, v",
                "v, k",
                "*",
                "k, v + 1 AS v",
                "explode(array(k, g)) AS k, v",
                "k, w",
            ),
        },
    ),
}
