"""What is measured: queries, their data, the stores, and the figure that each is to reach."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .data import Dataset

HDFS, ROCKSDB, OURS = "native", "native-rocksdb", "stateplan"
_STREAM = "FROM STREAM events"


@dataclass(frozen=True, kw_only=True)
class Work:
    """One query over one data set.

    Attributes:
        sql: in Spark's streaming SQL, the same text for both systems.
        distinct: columns of dropDuplicates behind the SQL, which Spark's SQL cannot say.
        stores: `spark.sql.shuffle.partitions`.
        ratio: how many times native's rows a second are to be reached; None: no such figure.
        seconds: the time of a batch to be reached; None: no such figure.
        natives: the native state stores it is compared with.
        warmup: batches at the start of each run that do not count: the JVM still compiles.
        batches: batches of each run that count.
        driver_memory: of the JVM of either system.
    """

    name: str
    title: str
    data: Dataset
    sql: str
    mode: str
    distinct: tuple[str, ...] = ()
    stores: int = 2
    ratio: float | None = None
    seconds: float | None = None
    natives: tuple[str, ...] = (HDFS,)
    warmup: int = 8
    batches: int = 5
    driver_memory: str = "4g"

    @property
    def streaming_sql(self) -> str:
        """The SQL that stateplan reads, dropDuplicates included."""
        if not self.distinct:
            return self.sql
        return self.sql.replace("SELECT ", f"SELECT DISTINCT ON ({', '.join(self.distinct)}) ", 1)

    @property
    def files(self) -> int:
        """How many batches there are data for: one more than count, to see the last one end."""
        return self.data.preload_batches + self.warmup + self.batches + 1


def _watermarked(seconds: int) -> str:
    return f"{_STREAM} WATERMARK ts DELAY OF INTERVAL {seconds} SECONDS"


_SESSION = Work(
    name="session",
    title="session windows",
    data=Dataset(kind="events", rows=1_000_000, keys=500_000),
    sql=f"SELECT session_window(ts, '5 seconds') AS w, key, count(*) AS n, sum(value) AS total "
    f"{_watermarked(10)} GROUP BY 1, 2",
    mode="append",
    ratio=15,
)
_DEDUP = Work(
    name="dedup",
    title="dropDuplicates with a watermark",
    data=Dataset(kind="repeats", rows=1_000_000, keys=0),
    sql=f"SELECT * {_watermarked(30)}",
    distinct=("key", "ts"),
    mode="append",
    ratio=3,
)
_WINDOW = Work(
    name="window",
    title="10 s tumbling window and key, append",
    data=Dataset(kind="events", rows=1_000_000, keys=200_000),
    sql=f"SELECT window(ts, '10 seconds') AS w, key, count(*) AS n, sum(value) AS total "
    f"{_watermarked(10)} GROUP BY 1, 2",
    mode="append",
    ratio=3,
)
_UPDATE = Work(
    name="update",
    title="keyed aggregate, update mode",
    data=Dataset(kind="events", rows=1_000_000, keys=500_000),
    sql=f"SELECT key, count(*) AS n, sum(value) AS total {_STREAM} GROUP BY key",
    mode="update",
    ratio=2.5,
)
_LIMIT = Work(
    name="limit",
    title="limit",
    data=Dataset(kind="events", rows=1_000_000, keys=500_000),
    sql=f"SELECT * {_STREAM} LIMIT 1000000000",
    mode="append",
    ratio=1.3,
)
_LARGE_STATE = replace(
    _UPDATE,
    name="large-state",
    title="10,000 changed rows against 10M keys",
    data=Dataset(kind="changes", rows=10_000, keys=10_000_000, preload=1_000_000),
    stores=8,
    ratio=None,
    seconds=0.3,
    natives=(HDFS, ROCKSDB),
    warmup=2,
    batches=10,
    driver_memory="8g",
)
_LARGE_STATE_100K = replace(
    _LARGE_STATE,
    name="large-state-100k",
    title="10,000 changed rows against 100k keys",
    data=Dataset(kind="changes", rows=10_000, keys=100_000, preload=100_000),
    driver_memory="4g",
)


def _small(work: Work) -> Work:
    return replace(
        work,
        name=f"small-{work.name}",
        title=f"{work.title}, 2,000-row batches, 200 stores",
        data=replace(work.data, rows=2_000, keys=1_000, parts=1),
        stores=200,
        ratio=20,
        batches=8,
    )


_BIG = (_SESSION, _DEDUP, _WINDOW, _UPDATE)
WORKS: dict[str, Work] = {
    work.name: work for work in (*_BIG, *map(_small, _BIG), _LARGE_STATE, _LARGE_STATE_100K, _LIMIT)
}


def tiny(work: Work, rows: int = 200) -> Work:
    """The work small enough for a test: the same query over a handful of rows."""
    data = work.data
    keys = min(data.keys, rows)
    preload = min(data.preload, rows)
    small = replace(data, rows=rows, keys=keys, preload=preload, parts=1)
    return replace(work, data=small, stores=min(work.stores, 4), warmup=1, batches=1)
