"""Works over what sensors measure: sums, averages and moments of doubles."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from .data import Dataset
from .job import Step
from .ordinary_works import GOALS
from .work import Stream, Work

_MILLION = Dataset(kind="readings", rows=1_000_000, keys=2_000)
_FEW = replace(_MILLION, rows=300_000)


def _work(
    name: str,
    title: str,
    sql: str,
    *,
    set: Literal["ordinary", "unseen"],
    data: Dataset = _MILLION,
    late: int | None = 10,
    mode: str = "append",
) -> Work:
    """A SELECT over one stream of readings, whose watermark is so many seconds late."""
    stream = Stream(data=data, watermark=None if late is None else ("ts", late))
    return Work(
        name=name,
        title=title,
        set=set,
        streams={"readings": stream},
        steps=(Step(sql=f"{sql} GROUP BY 1, 2"),),
        mode=mode,
        goals=GOALS,
    )


READINGS = (
    _work(
        "sliding-doubles",
        "averages and extremes of doubles in sliding windows by sensor",
        "SELECT window(ts, '20 seconds', '5 seconds') AS w, sensor, avg(temperature) AS mean, "
        "max(humidity) AS most, count(*) AS n FROM {readings}",
        set="ordinary",
    ),
    _work(
        "session-doubles",
        "averages of doubles in sessions",
        "SELECT session_window(ts, '5 seconds') AS w, sensor, avg(temperature) AS mean, "
        "count(*) AS n FROM {readings}",
        set="ordinary",
        data=replace(_MILLION, keys=50_000),
    ),
    _work(
        "moments",
        "stddev and corr by window and site",
        "SELECT window(ts, '30 seconds') AS w, site, stddev(temperature) AS spread, "
        "corr(temperature, humidity) AS alike FROM {readings}",
        set="ordinary",
    ),
    _work(
        "json-doubles",
        "JSON files, averages of doubles by window and site, 300k rows",
        "SELECT window(ts, '10 seconds') AS w, site, avg(temperature) AS mean, count(*) AS n "
        "FROM {readings} WHERE charge > 10",
        set="unseen",
        data=replace(_FEW, format="json"),
    ),
    _work(
        "csv-doubles",
        "CSV files, averages of doubles by site and charge, complete, 300k rows",
        "SELECT site, charge DIV 10 AS tenth, count(*) AS n, avg(temperature) AS mean, "
        "min(humidity) AS least FROM {readings}",
        set="unseen",
        data=replace(_FEW, format="csv", options={"header": "true"}),
        late=None,
        mode="complete",
    ),
    _work(
        "buckets",
        "doubles in buckets, complete",
        "SELECT site, floor(temperature / 5) * 5 AS bucket, count(*) AS n, "
        "avg(humidity) AS mean FROM {readings}",
        set="unseen",
        late=None,
        mode="complete",
    ),
)
