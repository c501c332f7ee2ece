"""Queries of every stateful operator that Structured Streaming itself runs for the tests."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

from stateplan.planner.described_sources import described_sources
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.query import Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Functions travel to workers whole, as nobody there can import them.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
SCHEMA = "id INT, user STRING, ts TIMESTAMP, qty INT, price DOUBLE, cost DECIMAL(24,2), tags STRING"
BASE = {"spark.sql.shuffle.partitions": "2"}
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
BOTH = (HDFS, ROCKSDB)
START_MS = 1_767_225_660_000
PROVIDER = "spark.sql.streaming.stateStore.providerClass"

EVENTS = "STREAM events WATERMARK ts DELAY OF INTERVAL 10 SECONDS"
LATER = "STREAM events WATERMARK ts DELAY OF INTERVAL 20 SECONDS"
OTHERS = "STREAM others WATERMARK ts DELAY OF INTERVAL 5 SECONDS"


def _sides(join: str, on: str) -> str:
    columns = "a.id, a.user, a.price" if "SEMI" in join else "a.id, a.price, b.id AS other, b.qty"
    return (
        f"SELECT {columns} FROM (SELECT * FROM {EVENTS}) a {join} JOIN (SELECT * FROM {OTHERS}) b "
        f"ON a.user = b.user AND {on}"
    )


def remembering(events: DataFrame) -> DataFrame:
    """How many rows each user had, the last id, and whether there were none for a while."""
    return (
        events.withWatermark("ts", "10 seconds")
        .groupBy("user")
        .applyInPandasWithState(
            remember,
            "user STRING, n BIGINT, last INT, gone BOOLEAN",
            "n BIGINT, last INT",
            "update",
            "EventTimeTimeout",
        )
    )


def remember(key: Any, frames: Any, state: Any) -> Iterator[Any]:
    """Keeps the figures of a user for 20 seconds of the watermark."""
    import pandas as pd

    count, last = state.getOption or (0, -1)
    for frame in filter(len, frames):  # there is one without rows for a timeout
        count, last = count + len(frame), int(frame["id"].max())
    if state.hasTimedOut:
        state.remove()
    else:
        state.update((count, last))
        now = max(state.getCurrentWatermarkMs(), START_MS)
        state.setTimeoutTimestamp(now + 20_000 + 1_000 * (last % 7))
    yield pd.DataFrame(
        {"user": [key[0]], "n": [count], "last": [last], "gone": [state.hasTimedOut]}
    )


class Ledger(StatefulProcessor):
    """Keeps a value, a list and a map for each user, and asks to be called later.

    Args:
        rows: whether it gets rows, or DataFrames.
        ttl_ms: the time to live of what it keeps.
    """

    def __init__(self, rows: bool, ttl_ms: int | None) -> None:
        self._rows, self._ttl_ms = rows, ttl_ms

    def init(self, handle: Any) -> None:
        """Declare the variables."""
        self._timers = handle if self._ttl_ms is None else None
        self._last = handle.getValueState("last", "n INT, cost DECIMAL(24,2)", self._ttl_ms)
        self._ids = handle.getListState("ids", "id INT, tags STRING", self._ttl_ms)
        self._by_size = handle.getMapState("by size", "size INT", "n LONG", self._ttl_ms)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        """Take in rows, and show all that is kept."""
        for part in rows:
            for row in [part] if self._rows else part.itertuples(index=False):
                seen = self._last.get() or (0, None)
                self._last.update((seen[0] + 1, row.cost))
                self._ids.appendValue((int(row.id), row.tags))
                size = (len(row.tags),)
                count = self._by_size.getValue(size) or (0,)
                self._by_size.updateValue(size, (count[0] + 1,))
        if self._timers is not None:
            now = max(timerValues.getCurrentWatermarkInMs(), START_MS)
            self._timers.registerTimer(now + 15_000 + 1_000 * (self._last.get()[0] % 9))
        yield self._shown(key[0], "rows")

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Any]:
        """Show what is kept, and forget half of it."""
        yield self._shown(key[0], str(expiredTimerInfo.getExpiryTimeInMs() - START_MS))
        self._ids.clear()
        self._by_size.removeKey((0,))

    def _shown(self, user: Any, why: str) -> Any:
        timers = [] if self._timers is None else sorted(self._timers.listTimers())
        kept = (self._last.get(), list(self._ids.get()), list(self._by_size.iterator()), timers)
        if self._rows:
            return Row(user=user, why=why, kept=str(kept))
        import pandas as pd

        return pd.DataFrame({"user": [user], "why": [why], "kept": [str(kept)]})


def with_ledger(
    rows: bool, time_mode: str, ttl_ms: int | None = None
) -> Callable[[DataFrame], DataFrame]:
    """What makes a query with a processor of a stream."""

    def made(events: DataFrame) -> DataFrame:
        groups = events.withWatermark("ts", "10 seconds").groupBy("user")
        run = groups.transformWithState if rows else groups.transformWithStateInPandas
        schema = "user STRING, why STRING, kept STRING"
        return run(Ledger(rows, ttl_ms), schema, "update", time_mode)

    return made


NEAR = "b.ts BETWEEN a.ts - INTERVAL 20 SECONDS AND a.ts + INTERVAL 20 SECONDS"


@dataclass(frozen=True)
class NativeQuery:
    """A query: its SQL, its output mode, settings.

    For DISTINCT ON, which is ours alone, `unique` are its columns, `within` says up to when. Of a
    query in Python `sql` names the source, and `code` is made of its DataFrame. `on` are the
    providers that a checkpoint is kept of.
    """

    sql: str
    mode: str = "append"
    conf: Mapping[str, str] = field(default_factory=dict)
    unique: tuple[str, ...] = ()
    within: bool = False
    code: Callable[[DataFrame], DataFrame] | None = None
    on: tuple[str, ...] = (HDFS,)

    def frame(self, session: SparkSession) -> DataFrame:
        """The query in Spark."""
        if self.code is not None:
            return self.code(session.table("events"))
        if not self.unique:
            return session.sql(self.sql)
        if self.within:
            rows = session.sql(f"SELECT * FROM {LATER}")
            return rows.dropDuplicatesWithinWatermark(self.unique).select("id", "user", "ts")
        rows = session.sql(f"SELECT * FROM {EVENTS}")
        return rows.dropDuplicates(self.unique).select("id", "user", "ts")


QUERIES: dict[str, NativeQuery] = {
    "windows": NativeQuery(
        "SELECT window(ts, '20 seconds') AS w, user, count(*) AS n, sum(qty) AS q, avg(qty) AS a, "
        "sum(cost) AS c, avg(cost) AS ac, min(user) AS lo, max(cost) AS hi, stddev(price) AS d, "
        "corr(price, qty) AS r, first(id) AS f, max_by(id, price) AS m "
        f"FROM {EVENTS} GROUP BY 1, 2",
        on=BOTH,
    ),
    "totals": NativeQuery(
        "SELECT user, count(qty) AS n, sum(price) AS p, collect_list(id) AS l, sum(cost) AS c, "
        "collect_set(qty) AS s, approx_count_distinct(id) AS k, bool_or(qty > 3) AS o "
        f"FROM {EVENTS} GROUP BY user",
        "update",
    ),
    "all": NativeQuery(
        f"SELECT count(*) AS n, max(user) AS u, avg(price) AS a FROM {EVENTS}", "complete"
    ),
    "old formats": NativeQuery(
        f"SELECT upper(user) AS u, price, count(*) AS n FROM {EVENTS} GROUP BY 1, 2",
        "update",
        {
            "spark.sql.streaming.aggregation.stateFormatVersion": "1",
            "spark.sql.streaming.stateStore.compression.codec": "snappy",
        },
    ),
    "dedup": NativeQuery(
        f"SELECT DISTINCT ON (user, ts) id, user, ts FROM {EVENTS}", unique=("user", "ts")
    ),
    "dedup for ever": NativeQuery(
        f"SELECT DISTINCT ON (user, price) id, user, ts FROM {EVENTS}", unique=("user", "price")
    ),
    "dedup within": NativeQuery(
        f"SELECT DISTINCT ON (user) WITHIN WATERMARK id, user, ts FROM {LATER}",
        unique=("user",),
        within=True,
        on=BOTH,
    ),
    "sessions": NativeQuery(
        "SELECT session_window(ts, '8 seconds') AS s, user, count(*) AS n, collect_list(id) AS l "
        f"FROM {EVENTS} GROUP BY 1, 2",
        on=BOTH,
    ),
    "user state": NativeQuery("FROM STREAM events", "update", code=remembering),
    "counted": NativeQuery(
        "SELECT user, percentile(qty, 0.4) AS p, median(price) AS m, percentile(brief, array(0.2, "
        "0.9), qty) AS q, percentile_disc(0.5) WITHIN GROUP (ORDER BY price DESC) AS e, mode() "
        "WITHIN GROUP (ORDER BY tags) AS t, percentile_approx(price, array(0.3, 0.8)) AS a, "
        "percentile_approx(brief, 0.5, 50) AS c, approx_percentile(ts, 0.5) AS w, "
        f"histogram_numeric(price, 3) AS h FROM (SELECT *, CAST(cost AS DECIMAL(18, 2)) AS "
        f"brief FROM {EVENTS}) GROUP BY user",
        "update",
    ),
    "gathered": NativeQuery(
        "SELECT user, listagg(tags, ',') AS t, listagg(tags) WITHIN GROUP (ORDER BY tags DESC) "
        "AS d, listagg(tags, '-') WITHIN GROUP (ORDER BY id DESC) AS i, collect_set(CAST(tags AS "
        "BINARY)) AS b, CAST(1e9 * regr_slope(price, id) AS BIGINT) AS s, CAST(1e6 * "
        "regr_intercept(id, price) AS BIGINT) AS r, bitmap_construct_agg(id) AS u, bitmap_or_agg("
        "CAST(tags AS BINARY)) AS o, bitmap_and_agg(CAST(tags AS BINARY)) AS n, hll_sketch_agg("
        f"id) AS l, theta_sketch_agg(id) AS h FROM {EVENTS} GROUP BY user",
        "update",
    ),
    "best": NativeQuery(
        "SELECT user, max_by(tags, id, 3) AS x, min_by(qty, price, 4) AS y, max(struct(qty, tags)) "
        f"AS m FROM {EVENTS} GROUP BY user",
        "update",
    ),
    "maps": NativeQuery(
        "SELECT user, first(map(tags, id, 'k', qty)) AS f, max_by(map(id, price, 0, 1D), id) AS m, "
        "last(IF(id % 3 = 0, NULL, map('a', array(tags, NULL), tags || 'b', array()))) AS l, "
        "min_by(named_struct('m', map(qty, cost), 'n', id), id) AS s, last(map(ts, qty = 1)) AS t "
        f"FROM {EVENTS} WHERE qty IS NOT NULL GROUP BY user",
        "update",
    ),
    "variables": NativeQuery(
        "FROM STREAM events", "update", code=with_ledger(False, "EventTime"), on=(ROCKSDB,)
    ),
    "living variables": NativeQuery(
        "FROM STREAM events",
        "update",
        # By the clock each batch would ask for another one.
        {"spark.sql.streaming.noDataMicroBatches.enabled": "false"},
        code=with_ledger(True, "ProcessingTime", ttl_ms=100 * 365 * 86_400_000),
        on=(ROCKSDB,),
    ),
    "limit": NativeQuery(f"SELECT id FROM {EVENTS} LIMIT 33", on=BOTH),
    "chain": NativeQuery(
        "SELECT window(w, '40 seconds') AS v, sum(n) AS s FROM (SELECT window(ts, '10 seconds') "
        f"AS w, user, count(*) AS n FROM {EVENTS} GROUP BY 1, 2) GROUP BY 1"
    ),
    "inner join": NativeQuery(_sides("INNER", NEAR)),
    "full join": NativeQuery(_sides("FULL OUTER", NEAR), on=BOTH),
    "semi join": NativeQuery(_sides("LEFT SEMI", NEAR)),
    "window join": NativeQuery(
        "SELECT a.user, w, a.id, b.id AS other FROM (SELECT user, id, window(ts, '10 seconds') AS "
        f"w FROM {EVENTS}) a LEFT JOIN (SELECT user, id, window(ts, '10 seconds') AS v FROM "
        f"{OTHERS}) b ON a.user = b.user AND w = v AND b.id % 3 > 0"
    ),
}


def rows_of_batch(number: int, side: int) -> Iterator[dict[str, Any]]:
    """The rows of a batch: several keys, late rows, nulls, both zeros."""
    for i in range(14):
        n = 100 * number + 2 * i + side
        second = 30 * number + (7 * i) % 40 - 12 * (i % 5 == 4)
        yield {
            "id": n,
            "user": None if n % 13 == 0 else f"user {n * 7 % 5}",
            "ts": f"2026-01-01T00:{1 + second // 60:02}:{second % 60:02}Z",
            "qty": None if n % 7 == 0 else n % 6,
            "price": [0.5, -0.0, 0.0, 2.25, None, 1e10][n % 6],
            "cost": f"{n * 12345678901}.{n % 100:02}",
            "tags": "x" * (n % 11),
        }


class World:
    """Folders with the input of two streams: the files of so many batches."""

    def __init__(self, folder: Path, batches: int = 4) -> None:
        self.sources = {name: folder / name for name in ("events", "others")}
        for side, path in enumerate(self.sources.values()):
            path.mkdir(parents=True)
            for number in range(batches):
                file = path / f"{number}.json"
                lines = map(json.dumps, rows_of_batch(number, side))
                file.write_text("\n".join(lines) + "\n", encoding="utf-8")
                os.utime(file, (1_700_000_000 + number,) * 2)

    def native(
        self,
        spark: SparkSession,
        query: NativeQuery,
        provider: str,
        place: Path,
        fails: int | None = None,
    ) -> Rows:
        """What Structured Streaming emits of all there is, by batch; up to one that fails."""
        from pyspark.errors import StreamingQueryException

        found: Rows = {}
        session = spark.newSession()
        for key, value in {**BASE, **query.conf, PROVIDER: provider}.items():
            session.conf.set(key, value)
        for name, path in self.sources.items():
            stream = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
            stream.json(str(path)).createOrReplaceTempView(name)
        writer = query.frame(session).writeStream.outputMode(query.mode)
        writer = writer.option("checkpointLocation", str(place)).foreachBatch(_into(found, fails))
        running = writer.trigger(availableNow=True).start()
        if fails is None:
            running.awaitTermination()
        else:
            with contextlib.suppress(StreamingQueryException):
                running.awaitTermination()
        return found

    def query(self, query: NativeQuery) -> Query:
        """The same query here."""
        options = {"maxFilesPerTrigger": "1"}
        sources = {
            name: {"schema": SCHEMA, "format": "json", "path": str(path), "options": options}
            for name, path in self.sources.items()
            if f"STREAM {name}" in query.sql
        }
        return Query(
            query.sql if query.code is None else query.code,
            sources=described_sources(sources),
            output_mode=query.mode,
            conf=Conf({**BASE, **query.conf}),
        )

    def ours(
        self, spark: SparkSession, query: NativeQuery, place: Path, fails: int | None = None
    ) -> Rows:
        """What our runtime emits of all there is, by batch; up to one that fails."""
        found: Rows = {}
        running = self.query(query).run(
            spark,
            checkpoint=place,
            foreach_batch=_into(found, fails),
            trigger="available_now",
            background=False,
        )
        if fails is None:
            running.await_termination()
        return found


@dataclass(frozen=True)
class Stopped:
    """A native query that was stopped in the middle of a batch, and what it emitted then."""

    checkpoint: Path
    then: Rows

    def write(self, file: Path, folder: Path, was: Path) -> None:
        """Pack it; the folders of the input and of the checkpoint as it `was` go without names."""
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(self.checkpoint.rglob("*")):
                if path.is_file() and not path.name.startswith("."):
                    name = f"checkpoint/{path.relative_to(self.checkpoint)}"
                    data = path.read_bytes().replace(f"file://{folder}".encode(), _FOLDER)
                    if "/_metadata/" in name:  # Spark has the place of a processor's schemas there
                        data = data.replace(f"file:{was}".encode(), _CHECKPOINT)
                    archive.writestr(zipfile.ZipInfo(name), data)
            archive.writestr(zipfile.ZipInfo("then.json"), json.dumps(self.then, indent=1))

    @classmethod
    def read(cls, file: Path, folder: Path, to: Path) -> Stopped:
        """Unpack it, for an input in a folder."""
        with zipfile.ZipFile(file) as archive:
            for name in archive.namelist():
                data = archive.read(name)
                if "/sources/" in name:
                    data = data.replace(_FOLDER, f"file://{folder}".encode())
                if "/_metadata/" in name:
                    data = data.replace(_CHECKPOINT, f"file:{to / 'checkpoint'}".encode())
                path = to / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        then = json.loads((to / "then.json").read_text(encoding="utf-8"))
        return cls(to / "checkpoint", {int(number): rows for number, rows in then.items()})


_FOLDER, _CHECKPOINT = b"file:///input", b"file:/checkpoint"
Rows = dict[int, list[str]]


def _into(found: Rows, fails: int | None) -> Callable[[Any, int], None]:
    def take(frame: Any, number: int) -> None:
        if number == fails:
            raise ValueError(f"batch {number}")
        found[number] = sorted(map(_text, frame.toArrow().to_pylist()))

    return take


def _text(row: dict[str, Any]) -> str:
    return str({k: sorted(v, key=str) if isinstance(v, list) else v for k, v in row.items()})
