"""Works of other kinds: nothing in the runtime may be tuned for them, they are only reported."""

from __future__ import annotations

from dataclasses import replace

from .data import Dataset
from .job import Step
from .ordinary_works import GOALS
from .work import Stream, Work

_ORDERS = Dataset(kind="orders", rows=1_000_000, keys=20_000)

_CSV = Work(
    name="csv-casts",
    title="CSV files of texts, casts, tumbling window by a cast key, 300k rows",
    set="unseen",
    streams={
        "orders": Stream(
            data=replace(
                _ORDERS,
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
_WITHIN = Work(
    name="within-watermark",
    title="dropDuplicatesWithinWatermark over a computed key, then an aggregate",
    set="unseen",
    streams={"orders": Stream(data=replace(_ORDERS, kind="deliveries"), watermark=("ts", 20))},
    steps=(
        Step(name="labelled", sql="SELECT concat(country, '-', id) AS label, * FROM {orders}"),
        Step(
            name="first_seen",
            sql="SELECT * FROM labelled",
            distinct=("label",),
            within_watermark=True,
        ),
        Step(
            sql="SELECT window(ts, '10 seconds') AS w, count(*) AS n, sum(price) AS total "
            "FROM first_seen GROUP BY 1"
        ),
    ),
    mode="append",
    goals=GOALS,
)
_GROUPING_SETS = Work(
    name="grouping-sets",
    title="grouping sets of two keys, update",
    set="unseen",
    streams={"orders": Stream(data=_ORDERS)},
    steps=(
        Step(
            sql="SELECT shop, country, count(*) AS n, sum(quantity) AS items, min(ts) AS first "
            "FROM {orders} GROUP BY GROUPING SETS ((shop, country), (country), ())"
        ),
    ),
    mode="update",
    goals=GOALS,
)
_SESSION_LISTS = Work(
    name="session-lists",
    title="sessions with collect_list and max_by, 300k rows",
    set="unseen",
    streams={
        "orders": Stream(data=replace(_ORDERS, rows=300_000, keys=50_000), watermark=("ts", 10))
    },
    steps=(
        Step(
            sql="SELECT session_window(ts, '3 seconds') AS w, shop, "
            "sort_array(collect_list(product)) AS products, "
            "max_by(status, struct(ts, id)) AS latest FROM {orders} GROUP BY 1, 2"
        ),
    ),
    mode="append",
    goals=GOALS,
)
_DECIMALS = Work(
    name="decimal-moments",
    title="min_by, max_by and stddev over decimals by two keys, update",
    set="unseen",
    streams={"orders": Stream(data=_ORDERS)},
    steps=(
        Step(
            sql="SELECT country, shop, min_by(id, struct(price, id)) AS cheapest, "
            "max_by(id, struct(price, id)) AS dearest, round(stddev(price), 4) AS spread, "
            "avg(price) AS mean FROM {orders} WHERE shop IS NOT NULL GROUP BY country, shop"
        ),
    ),
    mode="update",
    goals=GOALS,
)
_UNION = Work(
    name="union-global",
    title="union of two streams, then a global aggregate, complete",
    set="unseen",
    streams={
        "orders": Stream(data=replace(_ORDERS, rows=500_000)),
        "deliveries": Stream(data=replace(_ORDERS, kind="deliveries", rows=500_000)),
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
UNSEEN = (_CSV, _WITHIN, _GROUPING_SETS, _SESSION_LISTS, _DECIMALS, _UNION)
