"""The flights examples recomputed with pandas from the whole table: no streaming engine in it.

The files come in portions; each portion is one run of the query until all is read, four files a
batch, and at its end a batch for the watermark alone. A batch runs under the watermark that the
batches before it gave (the latest scheduled time less the delay): what is at or before it leaves.
Its own rows are late by the watermark of the batch before.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

FILES_PER_BATCH = 4
DELAY = pd.Timedelta(minutes=30)
START = pd.Timestamp(0, tz="UTC")
Batch = tuple[pd.DataFrame, pd.Timestamp, pd.Timestamp]


def batches(files: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """The rows of each micro-batch of a portion."""
    return [
        pd.concat(files[i : i + FILES_PER_BATCH], ignore_index=True)
        for i in range(0, len(files), FILES_PER_BATCH)
    ]


def with_watermarks(portions: list[list[pd.DataFrame]]) -> Iterator[Batch]:
    """Each batch with the watermark that makes rows late and the one that it runs under."""
    latest, before, current = START, START, START
    for portion in portions:
        parts = batches(portion)
        for rows in [*parts, parts[0].iloc[:0]]:
            yield rows, before, current
            before = current
            if len(rows):
                latest = max(latest, rows["scheduled"].max())
                current = max(current, latest - DELAY)


def departures_per_hour(portions: list[list[pd.DataFrame]]) -> tuple[pd.DataFrame, int]:
    """Closed hours with departures and mean delay per carrier, and how many rows were late."""
    kept, late, final = [], 0, START
    hour = pd.Timedelta(hours=1)
    for rows, before, current in with_watermarks(portions):
        on_time = rows[rows["scheduled"].dt.floor("h") + hour > before]
        late += len(rows) - len(on_time)
        kept.append(on_time)
        final = current
    counted = pd.concat(kept)
    counted["hour"] = counted["scheduled"].dt.floor("h")
    table = (
        counted.groupby(["hour", "carrier"])
        .agg(departures=("flight", "size"), mean_delay=("delay", "mean"))
        .reset_index()
    )
    return table[table["hour"] + hour <= final].reset_index(drop=True), late


def merge_sessions(rows: pd.DataFrame) -> pd.DataFrame:
    """Sessions of rows (since, until, tailnum, departures, worst): touching ones become one."""
    rows = rows.sort_values(["tailnum", "since"], kind="stable", ignore_index=True)
    until = rows.groupby("tailnum")["until"].cummax()
    new = (rows["tailnum"] != rows["tailnum"].shift()) | (rows["since"] > until.shift())
    return (
        rows.groupby(new.cumsum())
        .agg(
            since=("since", "min"),
            until=("until", "max"),
            tailnum=("tailnum", "first"),
            departures=("departures", "sum"),
            worst=("worst", "max"),
        )
        .reset_index(drop=True)
    )


def aircraft_sessions(portions: list[list[pd.DataFrame]]) -> pd.DataFrame:
    """The sessions that closed, batch after batch."""
    gap = pd.Timedelta(days=1)
    closed: list[pd.DataFrame] = []
    portions = [[rows[rows["tailnum"].notna()] for rows in portion] for portion in portions]
    opened: pd.DataFrame | None = None
    for rows, before, current in with_watermarks(portions):
        own = pd.DataFrame(
            {
                "since": rows["scheduled"],
                "until": rows["scheduled"] + gap,
                "tailnum": rows["tailnum"],
                "departures": 1,
                "worst": rows["delay"],
            }
        )
        own = own[own["until"] > before]
        sessions = merge_sessions(own if opened is None else pd.concat([opened, own]))
        closed.append(sessions[sessions["until"] <= current])
        opened = sessions[sessions["until"] > current]
    return pd.concat(closed, ignore_index=True)
