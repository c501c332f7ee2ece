"""The flights examples recomputed with pandas from the whole table: no streaming engine in it.

A batch is four files. The watermark after a batch is the latest scheduled time so far less
the delay; rows of a batch are late by the watermark before it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

FILES_PER_BATCH = 4
START = pd.Timestamp(0, tz="UTC")


def batches(files: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """The rows of each micro-batch."""
    return [
        pd.concat(files[i : i + FILES_PER_BATCH], ignore_index=True)
        for i in range(0, len(files), FILES_PER_BATCH)
    ]


def with_watermark(
    parts: list[pd.DataFrame], delay: pd.Timedelta
) -> Iterator[tuple[pd.DataFrame, pd.Timestamp, pd.Timestamp]]:
    """Each batch with the watermark before it and after it."""
    latest, before = START, START
    for rows in parts:
        latest = max(latest, rows["scheduled"].max())
        after = max(before, latest - delay)
        yield rows, before, after
        before = after


def departures_per_hour(parts: list[pd.DataFrame]) -> tuple[pd.DataFrame, int]:
    """Closed hours with departures and mean delay per carrier, and how many rows were late."""
    kept, late, final = [], 0, START
    hour = pd.Timedelta(hours=1)
    for rows, before, after in with_watermark(parts, pd.Timedelta(minutes=30)):
        on_time = rows[rows["scheduled"].dt.floor("h") + hour > before]
        late += len(rows) - len(on_time)
        kept.append(on_time)
        final = after
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


def aircraft_sessions(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """The sessions that closed, batch after batch."""
    gap = pd.Timedelta(days=1)
    closed: list[pd.DataFrame] = []
    parts = [rows[rows["tailnum"].notna()] for rows in parts]
    opened: pd.DataFrame | None = None
    for rows, before, after in with_watermark(parts, pd.Timedelta(minutes=30)):
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
        closed.append(sessions[sessions["until"] <= after])
        opened = sessions[sessions["until"] > after]
    return pd.concat(closed, ignore_index=True)
