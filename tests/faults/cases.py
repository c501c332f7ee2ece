"""Queries over every stateful operator, their input, sinks and settings, from a seed.

What a query computes is exact and independent of the order of rows, so that runs compare by
equality: sums of whole numbers and quarters, no `first`, sets instead of lists.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stateplan.planner.builder import QueryBuilder, stream
from stateplan.planner.description import SourceDescription
from stateplan.planner.query import Query

from .user_state import CONF, USER_STATE

SCHEMA = "user STRING, ts TIMESTAMP, n INT, amount DOUBLE"
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
FIRST_FILE_TIME = 1_700_000_000
FUNCTIONS = (
    *("count(*) AS c", "sum(n) AS s", "avg(amount) AS a", "min(user) AS least"),
    *("max(ts) AS latest", "max_by(n, struct(ts, n, amount)) AS newest", "bit_xor(n) AS x"),
    *("approx_count_distinct(user) AS d", "sum(amount) FILTER (WHERE n > 3) AS f"),
    *("collect_set(n) AS members",),
)
BATCHES = 4
Row = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A query and its input.

    Attributes:
        seed: it is made of.
        kind: a name of `KINDS`.
        sql: the query; empty where `DEDUPLICATIONS` or `USER_STATE` has it.
        mode: the output mode.
        stores: the number of logical stores.
        tasks: how many tasks run each operator, start by start; a start beyond takes the last.
        sink: a name of `sinks.SINKS`.
        portions: the rows of each input file; a batch reads one file. The last one lies far ahead
            in time: it drives out what came before.
        no_data: whether batches without data may run (then no row is late, see `portions`).
        kept: how many batches logs and state keep.
        compact: every so many batches the log of files is compacted.
        format: of the input files; tasks read Parquet by themselves where they can.
    """

    seed: int
    kind: str
    sql: str = ""
    mode: str = "append"
    stores: int
    tasks: tuple[int, ...]
    sink: str
    portions: tuple[tuple[Row, ...], ...]
    no_data: bool
    kept: int
    compact: int
    format: Literal["json", "parquet"]

    @property
    def conf(self) -> dict[str, str]:
        return {
            "spark.sql.shuffle.partitions": str(self.stores),
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.streaming.minBatchesToRetain": str(self.kept),
            "spark.sql.streaming.noDataMicroBatches.enabled": str(self.no_data).lower(),
            **(CONF if self.kind in USER_STATE else {}),
        }

    def query(self) -> Query:
        """The query, to be planned."""
        if self.kind in DEDUPLICATIONS:
            return DEDUPLICATIONS[self.kind]().query(output_mode=self.mode, conf=self.conf)
        source = SourceDescription(schema=SCHEMA)
        from stateplan.planner.model.settings.conf import Conf

        made = self.sql or (lambda events: USER_STATE[self.kind](events, mode=self.mode))
        return Query(made, sources={"events": source}, output_mode=self.mode, conf=Conf(self.conf))

    def write_input(self, folder: Path, count: int) -> None:
        """Write the first portions as files, the first the oldest; those that are there stay."""
        folder.mkdir(parents=True, exist_ok=True)
        for number, rows in enumerate(self.portions[:count]):
            path = folder / f"portion-{number:03d}.{self.format}"
            if not path.exists():
                hidden = folder / f".{path.name}"
                WRITERS[self.format](hidden, rows)
                os.utime(hidden, (FIRST_FILE_TIME + number, FIRST_FILE_TIME + number))
                hidden.rename(path)

    def tasks_of(self, start: int) -> int:
        return self.tasks[min(start, len(self.tasks) - 1)]


def _write_json(path: Path, rows: Sequence[Row]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _write_parquet(path: Path, rows: Sequence[Row]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    types = {"user": pa.string(), "ts": pa.timestamp("us", "UTC"), "n": pa.int32()}
    schema = pa.schema({**types, "amount": pa.float64()})
    moments = [{**row, "ts": dt.datetime.fromisoformat(str(row["ts"]))} for row in rows]
    parquet.write_table(pa.Table.from_pylist(moments, schema), path, row_group_size=10)


WRITERS = {"json": _write_json, "parquet": _write_parquet}

Made = tuple[str, tuple[str, ...]]  # SQL and the modes it may have


def _aggregates(rng: random.Random, count: int = 4) -> str:
    return ", ".join(rng.sample(FUNCTIONS, count))


def _events(rng: random.Random) -> str:
    return f"STREAM events WATERMARK ts DELAY OF INTERVAL {rng.choice([5, 20])} SECONDS"


def _keyed(rng: random.Random) -> Made:
    key = rng.choice(["user", "n % 5", "user, n % 2"])
    named = ", ".join(f"{part} AS k{i}" for i, part in enumerate(key.split(", ")))
    places = ", ".join(str(i + 1) for i in range(len(key.split(", "))))
    sql = f"SELECT {named}, {_aggregates(rng)} FROM STREAM events GROUP BY {places}"
    return sql, ("update", "complete")


def _by_time(rng: random.Random) -> Made:
    sql = f"SELECT ts, count(*) AS c, sum(n) AS s FROM {_events(rng)} GROUP BY ts"
    return sql, ("append", "update")


def _whole(rng: random.Random) -> Made:
    return f"SELECT {_aggregates(rng)} FROM STREAM events", ("update", "complete")


def _windowed(rng: random.Random) -> Made:
    window = rng.choice(["window(ts, '10 seconds')", "window(ts, '10 seconds', '5 seconds')"])
    sql = f"SELECT {window} AS w, user, {_aggregates(rng, 3)} FROM {_events(rng)} GROUP BY 1, 2"
    return sql, ("append", "update", "complete")


def _sessions(rng: random.Random) -> Made:
    sql = (
        f"SELECT session_window(ts, '7 seconds') AS s, user, {_aggregates(rng, 3)} "
        f"FROM {_events(rng)} GROUP BY 1, 2"
    )
    return sql, ("append", "complete")


def _distinct(rng: random.Random) -> Made:
    return f"SELECT DISTINCT user, ts FROM {_events(rng)}", ("append", "update")


def _limited(rng: random.Random) -> Made:
    sql = f"SELECT 1 AS one FROM STREAM events LIMIT {rng.choice([5, 23, 1000])}"
    return sql, ("append",)


def _windows_of_windows(rng: random.Random) -> Made:
    inner = f"SELECT window(ts, '5 seconds') AS w, user, count(*) AS c FROM {_events(rng)}"
    sql = (
        "SELECT window(w, '20 seconds') AS v, sum(c) AS s, count(*) AS c "
        f"FROM ({inner} GROUP BY 1, 2) GROUP BY 1"
    )
    return sql, ("append",)


def _windows_of_sessions(rng: random.Random) -> Made:
    inner = f"SELECT session_window(ts, '5 seconds') AS s, user, count(*) AS c FROM {_events(rng)}"
    sql = (
        f"SELECT window(s, '30 seconds') AS v, sum(c) AS t FROM ({inner} GROUP BY 1, 2) GROUP BY 1"
    )
    return sql, ("append",)


def _two_branches(rng: random.Random) -> Made:
    sql = (
        "SELECT user, count(*) AS c FROM STREAM events GROUP BY user UNION ALL "
        "SELECT min(user) AS user, sum(n) AS c FROM STREAM events GROUP BY n % 3"
    )
    return sql, ("update",)


def _joined(rng: random.Random) -> Made:
    kind = rng.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN"])
    events = _events(rng)
    columns = "a.user, a.ts, a.n" + ("" if "SEMI" in kind else ", b.ts AS u, b.n AS m")
    sql = (
        f"SELECT {columns} FROM {events} AS a {kind} {events} AS b ON a.user = b.user "
        "AND b.ts >= a.ts AND b.ts <= a.ts + INTERVAL 10 SECONDS AND a.n < b.n"
    )
    return sql, ("append",)


def _watermarked() -> QueryBuilder:
    return stream("events", SCHEMA).with_watermark("ts", "10 seconds")


# Which row of a key goes through is the first in the order of the input, whatever happens.
DEDUPLICATIONS: dict[str, Callable[[], QueryBuilder]] = {
    "deduplicated": lambda: stream("events", SCHEMA).drop_duplicates("user", "n"),
    "deduplicated by time": lambda: _watermarked().drop_duplicates("user", "ts"),
    "deduplicated within": lambda: _watermarked().drop_duplicates_within_watermark("user", "n"),
    "windows of deduplicated": lambda: (
        _watermarked()
        .drop_duplicates("user", "n")
        .group_by("window(ts, '10 seconds') AS w")
        .agg("count(*) AS c", "sum(amount) AS s")
    ),
}
SHAPES: dict[str, Callable[[random.Random], Made]] = {
    "keyed": _keyed,
    "windowed": _windowed,
    "sessions": _sessions,
    "by time": _by_time,
    "windows of windows": _windows_of_windows,
    "distinct": _distinct,
    "windows of sessions": _windows_of_sessions,
    "limited": _limited,
    "whole": _whole,
    "two branches": _two_branches,
    "joined": _joined,
}
KINDS = (*SHAPES, *DEDUPLICATIONS, *USER_STATE)


def make_case(
    seed: int, kind: str | None = None, *, sink: str | None = None, mode: str | None = None
) -> Case:
    """The case of a seed; kinds go round with the seeds unless one is asked for."""
    rng = random.Random(f"case {seed}")
    chosen = kind or KINDS[seed % len(KINDS)]
    if chosen in SHAPES:
        sql, modes = SHAPES[chosen](rng)
    else:
        sql = ""
        windowed = chosen.startswith("windows") or chosen == "deduplicated within"
        modes = () if windowed else ("append", "update")
    mode = mode or rng.choice(modes or ("append",))
    stores = rng.choice([1, 2, 4, 6])
    files = mode == "append" and rng.random() < 0.5
    # Within a watermark a key counts until a batch evicts it. After a kill the batch without data
    # that would have done so does not run, as in Spark, and the key's next row is a duplicate. So
    # it is with timers: they run behind the rows that came meanwhile.
    no_data = rng.random() < 0.25 and chosen not in ("deduplicated within", *USER_STATE)
    portions = tuple(tuple(_rows(rng, step, late=not no_data)) for step in range(BATCHES))
    return Case(
        seed=seed,
        kind=chosen,
        sql=sql,
        mode=mode,
        stores=stores,
        tasks=tuple(rng.choice([1, 2, 2, 3, 4, 5, 6]) for _ in range(4)),
        sink=sink or ("files" if files else rng.choice(["kept", "kept once", "looked at often"])),
        portions=(*portions, tuple(_drain(BATCHES))),
        no_data=no_data,
        kept=rng.choice([1, 2, 100]),
        compact=rng.choice([2, 3, 10]),
        format=rng.choice(["json", "parquet"]),
    )


def _rows(rng: random.Random, step: int, *, late: bool) -> list[Row]:
    made: list[Row] = []
    for _ in range(rng.choice([0, 8, 20, 40]) if step else 25):
        seconds = 30 * step + rng.uniform(0, 4 if not late else 30)
        if late and rng.random() < 0.2:
            seconds -= rng.uniform(5, 60)
        # Whole and half seconds: windows' borders and equal times are met.
        made.append(_row(rng.choice("abcdefgh"), round(seconds * 2) / 2, rng.randint(0, 9), rng))
    return made + [rng.choice(made) for _ in range(len(made) // 5)]


def _row(user: str, seconds: float, n: int, rng: random.Random) -> Row:
    moment = START + dt.timedelta(seconds=seconds)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"
    return {"user": user, "ts": text, "n": n, "amount": rng.randint(-40, 40) / 4}


def _drain(step: int) -> list[Row]:
    """Far ahead: a batch behind it finds the watermark past all that came before."""
    rng = random.Random(step)
    return [_row("z", 30 * step + 600, 0, rng), _row("z", 30 * step + 660, 1, rng)]
