"""A generated stream of Nexmark's events: persons, auctions and bids, as Parquet files.

Of fifty events one is a person, three are auctions and 46 are bids, as in the original generator.
An event comes every 20 ms; all of it follows from the number of the event and a seed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GAP_US = 20_000
START_US = 1_700_000_000_000_000
HOUR_US = 3_600_000_000
STREAMS = ("person", "auction", "bid")
STATES = np.array(["AZ", "CA", "ID", "OR", "WA", "WY"])
CITIES = np.array(["Phoenix", "Los Angeles", "Boise", "Portland", "Seattle", "Cheyenne"])
CHANNELS = np.array(["Google", "Facebook", "Baidu", "Apple"])
TIME = pa.timestamp("us", "UTC")
Columns = Mapping[str, pa.Array]


def write(folder: Path, events: int, files: int = 10, seed: int = 1) -> None:
    """Write a stream below a folder, unless it is there.

    `open/STREAM` has the events in order, each file a part of the time; `closed/STREAM` has in
    addition one event an hour later, which closes all windows. `side_input` is q13's table.

    Args:
        folder: where to.
        events: how many, all streams together.
        files: how many files each stream has.
        seed: of what is random.
    """
    if (folder / "side_input").is_dir():
        return
    random = np.random.default_rng(seed)
    for number, part in enumerate(np.array_split(np.arange(events), files)):
        for stream, columns in _events(part, random).items():
            name = f"{number:04}.parquet"
            path = folder / "open" / stream / name
            _write(path, columns)
            closed = folder / "closed" / stream
            closed.mkdir(parents=True, exist_ok=True)
            os.link(path, closed / name)
    # Numbers that no other event names: what closes the windows is in no answer.
    last = np.arange(50) + (events // 50 + 10_000) * 50
    for stream, columns in _events(last, random, later_us=HOUR_US).items():
        one = {name: column.slice(0, 1) for name, column in columns.items()}
        _write(folder / "closed" / stream / f"{files:04}.parquet", one)
    keys = pa.array(range(0, 10_000, 7), pa.int64())
    values = pa.array([f"value {key}" for key in keys.to_pylist()])
    _write(folder / "side_input" / "0000.parquet", {"key": keys, "value": values})


def _write(path: Path, columns: Columns) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(dict(columns)), path)


def _events(
    numbers: np.ndarray, random: np.random.Generator, later_us: int = 0
) -> dict[str, Columns]:
    """The events of some numbers, by stream."""
    kind = numbers % 50
    return {
        "person": _persons(numbers[kind == 0], later_us),
        "auction": _auctions(numbers[(kind > 0) & (kind < 4)], random, later_us),
        "bid": _bids(numbers[kind > 3], random, later_us),
    }


def _times(numbers: np.ndarray, later_us: int) -> np.ndarray:
    return START_US + numbers * GAP_US + later_us


def _texts(prefix: str, numbers: np.ndarray) -> pa.Array:
    return pa.array([f"{prefix}{number}" for number in numbers.tolist()])


def _persons(numbers: np.ndarray, later_us: int) -> Columns:
    ids = numbers // 50
    return {
        "id": pa.array(ids),
        "name": _texts("Person ", ids % 997),
        "emailAddress": _texts("person@example.org/", ids),
        "creditCard": _texts("4000 0000 0000 ", ids % 9000 + 1000),
        "city": pa.array(CITIES[ids * 7 % len(CITIES)]),
        "state": pa.array(STATES[ids * 7 % len(STATES)]),
        "dateTime": pa.array(_times(numbers, later_us), TIME),
        "extra": _texts("p", ids),
    }


def _auctions(numbers: np.ndarray, random: np.random.Generator, later_us: int) -> Columns:
    ids = numbers // 50 * 3 + numbers % 50 - 1
    times = _times(numbers, later_us)
    first = random.integers(100, 10_000, len(numbers))
    return {
        "id": pa.array(ids),
        "itemName": _texts("Item ", ids % 1009),
        "description": _texts("What is sold as number ", ids),
        "initialBid": pa.array(first),
        "reserve": pa.array(first + random.integers(0, 10_000, len(numbers))),
        "dateTime": pa.array(times, TIME),
        "expires": pa.array(times + random.integers(1_000, 20_000, len(numbers)) * 1000, TIME),
        "seller": pa.array(np.maximum(numbers // 50 - random.integers(0, 20, len(numbers)), 0)),
        "category": pa.array(10 + ids % 5),
        "extra": _texts("a", ids),
    }


def _bids(numbers: np.ndarray, random: np.random.Generator, later_us: int) -> Columns:
    count = len(numbers)
    group = numbers // 50
    # Half of the bids are on the newest hot auction, the others on one of the last hundred.
    hot = group * 3 // 30 * 30
    recent = np.maximum(group * 3 - random.integers(0, 100, count), 0)
    named = random.integers(0, 4, count)
    other = random.integers(0, 2, count) == 1
    numbered = random.integers(0, 10_000, count)
    channels = np.where(other, np.char.add("channel-", numbered.astype(str)), CHANNELS[named])
    suffix = np.where(other, np.char.add("&channel_id=", numbered.astype(str)), "")
    letters = random.integers(97, 107, (count, 12), dtype=np.uint8)
    return {
        "auction": pa.array(np.where(random.integers(0, 2, count) == 1, hot, recent)),
        "bidder": pa.array(np.maximum(group - random.integers(0, 50, count), 0)),
        "price": pa.array((100 * 10 ** (random.random(count) * 5)).astype(np.int64)),
        "channel": pa.array(channels),
        "url": pa.array(
            [
                f"https://auctions.example.org/{a}/{b}/{c}/item.htm?query=1{end}"
                for a, b, c, end in zip(
                    (named * 11).tolist(),
                    (numbered % 13).tolist(),
                    (numbered % 7).tolist(),
                    suffix.tolist(),
                    strict=True,
                )
            ]
        ),
        "dateTime": pa.array(_times(numbers, later_us), TIME),
        "extra": pa.array([bytes(row).decode() for row in letters]),
    }
