"""Ordinary works: queries as people write them, with computed keys, filters, tables and chains."""

from __future__ import annotations

from dataclasses import replace

from .data import Dataset
from .job import EMBEDDED, SPARK, Step
from .main_works import DEDUP, LIMIT, SESSION, UPDATE, WINDOW
from .work import Goal, Stream, Work

GOALS = {SPARK: Goal(ratio=1.3, near_floor=True), EMBEDDED: Goal(ratio=4)}
_MILLION = Dataset(kind="orders", rows=1_000_000, keys=5_000)
_MANY_KEYS = replace(_MILLION, keys=20_000)

_JSON = Work(
    name="json-sliding",
    title="JSON files, filter, sliding window by a string key, 300k rows",
    set="ordinary",
    streams={
        "orders": Stream(
            data=replace(_MILLION, rows=300_000, keys=2_000, format="json"), watermark=("ts", 20)
        )
    },
    steps=(
        Step(
            sql="SELECT window(ts, '20 seconds', '5 seconds') AS w, shop, count(*) AS n, "
            "sum(quantity) AS items FROM {orders} WHERE status <> 'ok' AND quantity > 1 "
            "GROUP BY 1, 2"
        ),
    ),
    mode="append",
    goals=GOALS,
)
_SIX_AGGREGATES = Work(
    name="six-aggregates",
    title="six aggregates by upper(string), update",
    set="ordinary",
    streams={"orders": Stream(data=replace(_MILLION, keys=200_000))},
    steps=(
        Step(
            sql="SELECT upper(shop) AS shop, count(*) AS n, count(status) AS known, "
            "sum(quantity) AS items, avg(quantity) AS mean, min(price) AS least, "
            "max(price) AS most FROM {orders} GROUP BY 1"
        ),
    ),
    mode="update",
    goals=GOALS,
)
_TABLE_JOIN = Work(
    name="table-join",
    title="join with a 200k-row table, then a window, update",
    set="ordinary",
    streams={"orders": Stream(data=_MILLION, watermark=("ts", 10))},
    tables={"products": Dataset(kind="products", rows=200_000, keys=0)},
    steps=(
        Step(
            sql="SELECT window(o.ts, '10 seconds') AS w, p.category, count(*) AS n, "
            "sum(o.quantity) AS items, max(p.weight) AS heaviest FROM {orders} AS o "
            "JOIN {products} AS p ON o.product = p.product GROUP BY 1, 2"
        ),
    ),
    mode="update",
    goals=GOALS,
)
_DEDUP_CHAIN = Work(
    name="dedup-chain",
    title="dedup on two columns, then a window with approx_count_distinct",
    set="ordinary",
    streams={"orders": Stream(data=replace(_MILLION, kind="deliveries"), watermark=("ts", 10))},
    steps=(
        Step(name="delivered", sql="SELECT * FROM {orders}", distinct=("id", "ts")),
        Step(
            sql="SELECT window(ts, '10 seconds') AS w, country, count(*) AS n, "
            "approx_count_distinct(shop) AS shops FROM delivered GROUP BY 1, 2"
        ),
    ),
    mode="append",
    goals=GOALS,
)
_DYNAMIC_SESSIONS = Work(
    name="dynamic-session",
    title="sessions with a gap that depends on the row, 500k rows",
    set="ordinary",
    streams={
        "orders": Stream(data=replace(_MILLION, rows=500_000, keys=100_000), watermark=("ts", 10))
    },
    steps=(
        Step(
            sql="SELECT session_window(ts, CASE WHEN status = 'ok' THEN '2 seconds' "
            "WHEN quantity > 5 THEN '8 seconds' ELSE '4 seconds' END) AS w, shop, "
            "count(*) AS n, sum(price) AS total FROM {orders} GROUP BY 1, 2"
        ),
    ),
    mode="append",
    goals=GOALS,
)
_COMPLETE = Work(
    name="complete-sorted",
    title="two keys, complete mode, ORDER BY",
    set="ordinary",
    streams={"orders": Stream(data=_MILLION)},
    steps=(
        Step(
            sql="SELECT country, status, count(*) AS n, sum(quantity) AS items FROM {orders} "
            "GROUP BY country, status ORDER BY n DESC, country, status"
        ),
    ),
    mode="complete",
    stores=4,
    ordered=True,
    goals=GOALS,
)
_STATELESS = Work(
    name="stateless",
    title="stateless filter and projection",
    set="ordinary",
    streams={"orders": Stream(data=_MILLION)},
    steps=(
        Step(
            sql="SELECT id, concat(shop, '/', lower(status)) AS label, price * quantity AS total, "
            "hour(ts) AS hour FROM {orders} WHERE quantity > 2 AND country <> 'DE'"
        ),
    ),
    mode="append",
    goals=GOALS,
)
_TWO_WINDOWS = Work(
    name="two-windows",
    title="a window over windows",
    set="ordinary",
    streams={"orders": Stream(data=_MILLION, watermark=("ts", 10))},
    steps=(
        Step(
            name="short",
            sql="SELECT window(ts, '5 seconds') AS w, shop, count(*) AS n FROM {orders} "
            "GROUP BY 1, 2",
        ),
        Step(
            sql="SELECT window(w, '20 seconds') AS long, count(*) AS parts, sum(n) AS n, "
            "max(n) AS most FROM short GROUP BY 1"
        ),
    ),
    mode="append",
    goals=GOALS,
)
_CSV_CASTS = Work(
    name="csv-casts",
    title="CSV files of texts, casts, tumbling window by a cast key, 300k rows",
    set="ordinary",
    streams={
        "orders": Stream(
            data=replace(
                _MANY_KEYS,
                rows=300_000,
                format="csv",
                options={"header": "true"},
                declared="id STRING, shop STRING, product STRING, country STRING, status STRING, "
                "quantity STRING, price STRING, ts TIMESTAMP",
            ),
            watermark=("ts", 15),
        )
    },
    steps=(
        Step(
            sql="SELECT window(ts, '15 seconds') AS w, CAST(product AS BIGINT) % 500 AS shelf, "
            "sum(CAST(quantity AS INT)) AS items, max(CAST(price AS DECIMAL(12,2))) AS dearest, "
            "count(nullif(status, 'ok')) AS troubled FROM {orders} "
            "WHERE CAST(id AS BIGINT) % 3 > 0 GROUP BY 1, 2"
        ),
    ),
    mode="append",
    goals=GOALS,
)
_GROUPING_SETS = Work(
    name="grouping-sets",
    title="grouping sets of two keys, update",
    set="ordinary",
    streams={"orders": Stream(data=_MANY_KEYS)},
    steps=(
        Step(
            sql="SELECT shop, country, count(*) AS n, sum(quantity) AS items, min(ts) AS first "
            "FROM {orders} GROUP BY GROUPING SETS ((shop, country), (country), ())"
        ),
    ),
    mode="update",
    goals=GOALS,
)
_UNION = Work(
    name="union-global",
    title="union of two streams, then a global aggregate, complete",
    set="ordinary",
    streams={
        "orders": Stream(data=replace(_MANY_KEYS, rows=500_000)),
        "deliveries": Stream(data=replace(_MANY_KEYS, kind="deliveries", rows=500_000)),
    },
    steps=(
        Step(
            name="both_kinds",
            sql="SELECT shop, price, 'order' AS what FROM {orders} "
            "UNION ALL SELECT shop, price, 'delivery' AS what FROM {deliveries}",
        ),
        Step(
            sql="SELECT count(*) AS n, sum(price) AS total, count_if(what = 'order') AS orders, "
            "approx_count_distinct(shop) AS shops FROM both_kinds"
        ),
    ),
    mode="complete",
    goals=GOALS,
)
_WORDS = Work(
    name="word-count",
    title="words of two columns, counted, complete",
    set="ordinary",
    streams={"orders": Stream(data=_MANY_KEYS)},
    steps=(
        Step(
            name="words",
            sql="SELECT explode(split(concat(shop, ' ', status), ' ')) AS word FROM {orders}",
        ),
        Step(sql="SELECT word, count(*) AS n FROM words GROUP BY word"),
    ),
    mode="complete",
    goals=GOALS,
)
_SLIDING_KEYS = Work(
    name="sliding-keys",
    title="sliding windows of 1 minute every 10 s by a string of many, append",
    set="ordinary",
    streams={"orders": Stream(data=_MANY_KEYS, watermark=("ts", 30))},
    steps=(
        Step(
            sql="SELECT window(ts, '1 minute', '10 seconds') AS w, shop, count(*) AS n, "
            "sum(quantity) AS items FROM {orders} GROUP BY 1, 2"
        ),
    ),
    mode="append",
    goals=GOALS,
)


def _computed(work: Work, spark: Goal) -> Work:
    """The work with a filter and a computed key in front of it."""
    (step,) = work.steps
    front = Step(
        name="kept",
        sql="SELECT key * 3 + 1 AS key, ts, abs(value - 500) AS value FROM {events} "
        "WHERE value % 10 <> 7",
    )
    return replace(
        work,
        name=f"{work.name}-computed",
        title=f"{work.title}, a filter and a computed column in front",
        set="ordinary",
        steps=(front, replace(step, sql=step.sql.replace("{events}", "kept"))),
        goals={SPARK: spark, EMBEDDED: Goal(ratio=4)},
    )


ORDINARY = (
    _JSON,
    _SIX_AGGREGATES,
    _TABLE_JOIN,
    _DEDUP_CHAIN,
    _DYNAMIC_SESSIONS,
    _COMPLETE,
    _STATELESS,
    _TWO_WINDOWS,
    _CSV_CASTS,
    _GROUPING_SETS,
    _UNION,
    _WORDS,
    _SLIDING_KEYS,
    *(_computed(work, work.goals[SPARK]) for work in (SESSION, DEDUP, WINDOW, UPDATE)),
    _computed(LIMIT, GOALS[SPARK]),
)
