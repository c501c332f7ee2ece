"""Works whose keys and values are computed: words, structs, lists, times and truths."""

from __future__ import annotations

from .data import Dataset
from .job import Step
from .ordinary_works import GOALS
from .work import Stream, Work

_DATA = {
    "orders": Dataset(kind="orders", rows=1_000_000, keys=20_000),
    "trips": Dataset(kind="trips", rows=500_000, keys=0),
}


def _work(name: str, title: str, stream: str, sql: str) -> Work:
    """An aggregate over one stream, in update mode."""
    return Work(
        name=name,
        title=title,
        set="ordinary",
        streams={stream: Stream(data=_DATA[stream])},
        steps=(Step(sql=sql),),
        mode="update",
        goals=GOALS,
    )


KEYS = (
    _work(
        "case-keys",
        "CASE and coalesce as keys, an average, a greatest decimal",
        "orders",
        "SELECT CASE WHEN price > 5000 THEN 'dear' WHEN price > 500 THEN 'middle' ELSE 'cheap' END "
        "AS class, coalesce(status, 'none') AS status, count(*) AS n, avg(quantity) AS items, "
        "max(price) AS dearest FROM {orders} GROUP BY 1, 2",
    ),
    _work(
        "struct-keys",
        "a struct of two strings as the key",
        "orders",
        "SELECT named_struct('c', country, 's', status) AS pair, count(*) AS n, "
        "min(price) AS cheapest FROM {orders} GROUP BY 1",
    ),
    _work(
        "text-keys",
        "keys made of strings and numbers by several functions",
        "orders",
        "SELECT lower(replace(split(shop, ' ')[0], 'é', 'e')) AS word, "
        "initcap(coalesce(status, 'x')) AS status, "
        "concat_ws('-', country, lpad(CAST(quantity AS STRING), 3, '0')) AS label, count(*) AS n "
        "FROM {orders} GROUP BY 1, 2, 3",
    ),
    _work(
        "truths",
        "count_if, bool_or, every, FILTER and a sum of CASE by shop",
        "orders",
        "SELECT shop, count_if(price > 1000) AS dear, bool_or(status = 'LOST') AS lost, "
        "count(*) FILTER (WHERE country = 'DE') AS german, "
        "sum(CASE WHEN status = 'ok' THEN price END) AS paid, every(quantity > 0) AS some "
        "FROM {orders} GROUP BY shop",
    ),
    _work(
        "explode",
        "the elements of lists as rows",
        "trips",
        "SELECT place.country AS country, count(*) AS n, avg(fare) AS mean FROM {trips} "
        "LATERAL VIEW explode(fares) AS fare WHERE paid GROUP BY 1",
    ),
    _work(
        "list-functions",
        "aggregate, filter and array_max of lists",
        "trips",
        "SELECT place.country AS country, sum(aggregate(fares, 0D, (a, x) -> a + x)) AS total, "
        "max(array_max(fares)) AS most, sum(size(filter(fares, x -> x > 10))) AS n FROM {trips} "
        "GROUP BY 1",
    ),
    _work(
        "clock",
        "date_trunc, unix_timestamp and timestampdiff",
        "orders",
        "SELECT date_trunc('MINUTE', ts) AS minute, country, count(*) AS n, "
        "sum(unix_timestamp(ts)) AS seconds, "
        "max(timestampdiff(SECOND, ts, timestamp'2026-02-01')) AS left FROM {orders} GROUP BY 1, 2",
    ),
)
