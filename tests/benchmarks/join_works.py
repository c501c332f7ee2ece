"""Works of several streams at once, and of a user's own state."""

from __future__ import annotations

from dataclasses import replace

from .data import Dataset
from .job import EMBEDDED, SPARK, Step
from .work import Goal, Stream, Work

_ROWS = 300_000


def _streams(rows: int, parts: int = 2) -> dict[str, Stream]:
    """Orders, and what is sent for them: as many rows of each."""
    orders = Dataset(kind="orders", rows=rows, keys=2_000, parts=parts)
    sent = replace(orders, kind="shipments", keys=0)
    return {name: Stream(data=data, watermark=("ts", 30)) for name, data in
            (("orders", orders), ("shipments", sent))}  # fmt: skip


def _goals(spark: float, embedded: float) -> dict[str, Goal]:
    return {SPARK: Goal(ratio=spark), EMBEDDED: Goal(ratio=embedded)}


_RANGE = Work(
    name="join-range",
    title="inner join of two streams on a key and a time range, 600k rows over both",
    set="joins",
    streams=_streams(_ROWS),
    steps=(
        Step(
            sql="SELECT o.id, o.shop, s.carrier, s.ts AS sent FROM {orders} AS o "
            "JOIN {shipments} AS s ON o.id = s.id AND s.ts >= o.ts "
            "AND s.ts <= o.ts + INTERVAL 10 SECONDS"
        ),
    ),
    mode="append",
    goals=_goals(5, 8),
)
_LEFT = Work(
    name="join-left",
    title="left outer join of two streams on a window and a key, 600k rows over both",
    set="joins",
    streams=_streams(_ROWS),
    steps=(
        Step(name="ordered", sql="SELECT window(ts, '10 seconds') AS w, id, shop FROM {orders}"),
        Step(name="sent", sql="SELECT window(ts, '10 seconds') AS w, id, carrier FROM {shipments}"),
        Step(
            sql="SELECT o.w, o.id, o.shop, s.carrier FROM ordered AS o "
            "LEFT JOIN sent AS s ON o.w = s.w AND o.id = s.id"
        ),
    ),
    mode="append",
    goals=_goals(5, 8),
)
_SMALL = replace(
    _RANGE,
    name="small-join-range",
    title="inner join on a key and a time range, 2,000 rows over both, 200 stores",
    streams=_streams(1_000, parts=1),
    stores=200,
    goals=_goals(20, 40),
    batches=8,
)
_CHAIN = Work(
    name="join-chain",
    title="dedup, then a join of two streams, then a window, 600k rows over both",
    set="joins",
    streams=_streams(_ROWS),
    steps=(
        Step(name="once", sql="SELECT * FROM {shipments}", distinct=("id", "ts")),
        Step(
            name="joined",
            sql="SELECT o.ts, o.quantity, s.carrier FROM {orders} AS o "
            "JOIN once AS s ON o.id = s.id AND s.ts >= o.ts "
            "AND s.ts <= o.ts + INTERVAL 10 SECONDS",
        ),
        Step(
            sql="SELECT window(ts, '10 seconds') AS w, carrier, count(*) AS n, "
            "sum(quantity) AS items FROM joined GROUP BY 1, 2"
        ),
    ),
    mode="append",
    goals=_goals(2, 4),
)
_STATE = Work(
    name="user-state",
    title="applyInPandasWithState over 50k keys, 200k rows",
    set="joins",
    streams={"events": Stream(data=Dataset(kind="events", rows=200_000, keys=50_000))},
    function="totals",
    mode="update",
    warmup=2,
    batches=3,
    goals=_goals(1, 3),
)
JOINS = (_RANGE, _LEFT, _SMALL, _CHAIN, _STATE)
