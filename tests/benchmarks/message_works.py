"""Works over JSON in a column, as queues have it, and over columns with parts."""

from __future__ import annotations

from .data import Dataset
from .job import Step
from .ordinary_works import GOALS
from .work import Stream, Work

_MESSAGES = Dataset(kind="messages", rows=300_000, keys=5_000)
_TRIPS = Dataset(kind="trips", rows=500_000, keys=0)
_SCHEMA = (
    "device STRING, temp DOUBLE, level INT, place STRUCT<site: STRING, floor: INT>, at TIMESTAMP"
)


def _work(
    name: str, title: str, sql: str, *, data: Dataset = _MESSAGES, mode: str = "update"
) -> Work:
    """A SELECT over one stream; in append mode it has a watermark."""
    stream = Stream(data=data, watermark=("ts", 20) if mode == "append" else None)
    return Work(
        name=name,
        title=title,
        set="ordinary",
        streams={"messages": stream},
        steps=(Step(sql=sql),),
        mode=mode,
        goals=GOALS,
    )


MESSAGES = (
    _work(
        "from-json",
        "from_json, a filter, a window by a field, 300k rows",
        "SELECT window(ts, '10 seconds') AS w, v.device, count(*) AS n, max(v.level) AS most, "
        f"avg(v.level) AS mean FROM (SELECT from_json(value, '{_SCHEMA}') AS v, ts "
        "FROM {messages}) WHERE v.temp > 10 GROUP BY 1, 2",
        mode="append",
    ),
    _work(
        "json-paths",
        "get_json_object, two keys, 300k rows",
        "SELECT get_json_object(value, '$.place.site') AS site, "
        "get_json_object(value, '$.device') AS device, count(*) AS n, "
        "max(CAST(get_json_object(value, '$.temp') AS DOUBLE)) AS most FROM {messages} "
        "GROUP BY 1, 2",
    ),
    _work(
        "json-maps",
        "from_json to maps of strings, their names counted, 300k rows",
        "SELECT name, count(*) AS n, max(value) AS last FROM (SELECT explode(from_json(value, "
        "'MAP<STRING, STRING>')) AS (name, value) FROM {messages}) GROUP BY 1",
    ),
    _work(
        "to-json",
        "columns as JSON, 500k rows",
        "SELECT CAST(id AS STRING) AS key, to_json(struct(id, place, fares, ts)) AS value "
        "FROM {messages} WHERE paid",
        data=_TRIPS,
        mode="append",
    ),
    _work(
        "parts",
        "fields of structs, functions of lists, 500k rows",
        "SELECT place.country, sum(size(filter(fares, x -> x > 10))) AS dear, "
        "max(array_max(fares)) AS most, count_if(place.latitude > 0) AS north FROM {messages} "
        "GROUP BY 1",
        data=_TRIPS,
    ),
)
