"""Works of other kinds: nothing in the runtime may be tuned for them, they are only reported."""

from __future__ import annotations

from dataclasses import replace

from .data import Dataset
from .job import Step
from .ordinary_works import GOALS
from .work import Stream, Work

_ORDERS = Dataset(kind="orders", rows=1_000_000, keys=20_000)

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
_REGEXP = Work(
    name="regexp-minutes",
    title="a number found in a text, minutes as texts, update",
    set="unseen",
    streams={"orders": Stream(data=_ORDERS)},
    steps=(
        Step(
            sql="SELECT regexp_extract(shop, '([0-9]+)', 1) AS number, "
            "date_format(ts, 'yyyy-MM-dd HH:mm') AS minute, count(*) AS n, sum(price) AS total "
            "FROM {orders} WHERE status IS NOT NULL GROUP BY 1, 2"
        ),
    ),
    mode="update",
    goals=GOALS,
)
_FIRST_LAST = Work(
    name="first-last",
    title="first, last and greatest of each shop, update",
    set="unseen",
    streams={"orders": Stream(data=_ORDERS)},
    steps=(
        Step(
            sql="SELECT shop, first(status) AS first, last(price) AS last, max(ts) AS latest "
            "FROM {orders} GROUP BY shop"
        ),
    ),
    mode="update",
    goals=GOALS,
)
_JSON_JOIN = Work(
    name="json-join",
    title="JSON files left-joined with a 200k-row table, two keys, update, 300k rows",
    set="unseen",
    streams={"orders": Stream(data=replace(_ORDERS, rows=300_000, format="json"))},
    tables={"products": Dataset(kind="products", rows=200_000, keys=0)},
    steps=(
        Step(
            sql="SELECT o.shop, p.category, count(*) AS n, sum(o.price) AS total "
            "FROM {orders} AS o LEFT JOIN {products} AS p ON o.product = p.product GROUP BY 1, 2"
        ),
    ),
    mode="update",
    goals=GOALS,
)
_PERCENTILES = Work(
    name="percentiles",
    title="percentile_approx of decimals by window and country, append",
    set="unseen",
    streams={"orders": Stream(data=_ORDERS, watermark=("ts", 10))},
    steps=(
        Step(
            sql="SELECT window(ts, '30 seconds') AS w, country, "
            "percentile_approx(price, array(0.5, 0.95)) AS p, avg(quantity) AS items "
            "FROM {orders} GROUP BY 1, 2"
        ),
    ),
    mode="append",
    goals=GOALS,
)
_FIRST_WORDS = Work(
    name="first-words",
    title="a text's first word without blanks, two conditions on texts, update",
    set="unseen",
    streams={"orders": Stream(data=_ORDERS)},
    steps=(
        Step(
            sql="SELECT upper(trim(substring_index(shop, ' ', 1))) AS word, "
            "length(status) AS size, count(*) AS n, avg(price) AS mean FROM {orders} "
            "WHERE shop LIKE '%1%' AND status NOT LIKE 'L%' GROUP BY 1, 2"
        ),
    ),
    mode="update",
    goals=GOALS,
)
_TO_DECIMALS = Work(
    name="to-decimals",
    title="doubles cast to decimals, added up by site, update",
    set="unseen",
    streams={"readings": Stream(data=Dataset(kind="readings", rows=1_000_000, keys=5_000))},
    steps=(
        Step(
            sql="SELECT site, sum(CAST(temperature AS DECIMAL(10, 2))) AS heat, "
            "avg(CAST(humidity AS DECIMAL(5, 1))) AS humid FROM {readings} GROUP BY site"
        ),
    ),
    mode="update",
    goals=GOALS,
)
UNSEEN = (
    *(_WITHIN, _SESSION_LISTS, _DECIMALS, _REGEXP, _FIRST_LAST, _JSON_JOIN),
    *(_PERCENTILES, _FIRST_WORDS, _TO_DECIMALS),
)
