"""The works that the runtime grew up with: plain columns of Parquet files, one operator each."""

from __future__ import annotations

from dataclasses import replace

from .data import Dataset
from .job import EMBEDDED, NATIVE, ROCKSDB, SPARK, Step
from .work import Goal, Stream, Work


def _events(kind: str, keys: int, delay: int | None) -> dict[str, Stream]:
    data = Dataset(kind=kind, rows=1_000_000, keys=keys)
    return {"events": Stream(data=data, watermark=None if delay is None else ("ts", delay))}


def _goals(spark: float, embedded: float) -> dict[str, Goal]:
    return {SPARK: Goal(ratio=spark), EMBEDDED: Goal(ratio=embedded)}


def _within(spark: float, embedded: float) -> dict[str, Goal]:
    return {SPARK: Goal(seconds=spark), EMBEDDED: Goal(seconds=embedded)}


SESSION = Work(
    name="session",
    title="session windows",
    set="main",
    streams=_events("events", 500_000, 10),
    steps=(
        Step(
            sql="SELECT session_window(ts, '5 seconds') AS w, key, count(*) AS n, "
            "sum(value) AS total FROM {events} GROUP BY 1, 2"
        ),
    ),
    mode="append",
    goals=_goals(8, 15),
)
DEDUP = Work(
    name="dedup",
    title="dropDuplicates with a watermark",
    set="main",
    streams=_events("repeats", 0, 30),
    steps=(Step(sql="SELECT * FROM {events}", distinct=("key", "ts")),),
    mode="append",
    goals=_goals(2.5, 3.5),
)
WINDOW = Work(
    name="window",
    title="10 s tumbling window and key, append",
    set="main",
    streams=_events("events", 200_000, 10),
    steps=(
        Step(
            sql="SELECT window(ts, '10 seconds') AS w, key, count(*) AS n, sum(value) AS total "
            "FROM {events} GROUP BY 1, 2"
        ),
    ),
    mode="append",
    goals=_goals(3, 4.5),
)
UPDATE = Work(
    name="update",
    title="keyed aggregate, update mode",
    set="main",
    streams=_events("events", 500_000, None),
    steps=(Step(sql="SELECT key, count(*) AS n, sum(value) AS total FROM {events} GROUP BY key"),),
    mode="update",
    goals=_goals(3, 4.5),
)
LIMIT = Work(
    name="limit",
    title="limit",
    set="main",
    streams=_events("events", 500_000, None),
    steps=(Step(sql="SELECT * FROM {events} LIMIT 1000000000"),),
    mode="append",
    goals=_goals(1.3, 4),
)
_LARGE_STATE = replace(
    UPDATE,
    name="large-state",
    title="10,000 changed rows against 10M keys",
    streams={
        "events": Stream(
            data=Dataset(kind="changes", rows=10_000, keys=10_000_000, preload=1_000_000)
        )
    },
    stores=8,
    goals=_within(0.3, 0.2),
    natives=(NATIVE, ROCKSDB),
    warmup=2,
    batches=10,
    driver_memory="8g",
)
_LARGE_STATE_100K = replace(
    _LARGE_STATE,
    name="large-state-100k",
    title="10,000 changed rows against 100k keys",
    streams={
        "events": Stream(data=Dataset(kind="changes", rows=10_000, keys=100_000, preload=100_000))
    },
    driver_memory="4g",
)


def _small(work: Work) -> Work:
    data = replace(work.streams["events"].data, rows=2_000, keys=1_000, parts=1)
    return replace(
        work,
        name=f"small-{work.name}",
        title=f"{work.title}, 2,000-row batches, 200 stores",
        streams={"events": replace(work.streams["events"], data=data)},
        stores=200,
        goals={SPARK: Goal(ratio=20), EMBEDDED: Goal(seconds=0.08)},
        batches=8,
    )


_BIG = (SESSION, DEDUP, WINDOW, UPDATE)
MAIN = (*_BIG, *map(_small, _BIG), _LARGE_STATE, _LARGE_STATE_100K, LIMIT)
