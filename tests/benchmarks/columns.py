"""The rows of the data sets, column by column with numpy: nothing is drawn row by row.

`events`, `repeats` and `changes` are plain numbers with even keys. The others look like data of a
shop: skewed keys, names with accents and other scripts, nulls, rows that come late.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_START_US = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
_BATCH_US = 60_000_000  # the event time that a batch covers
_REPEATED = 0.1
_SHOPS = ("Café {}", "Łódź {}", "Straße {}", "東京 {}", "São Paulo {}", "shop {}", "Ærø {} 🚲")
_STATUS = ("ok", "Retry", "übertragen", "refusé", "déjà vu", "LOST")
_CATEGORIES = 24
_COUNTRIES = ("DE", "FR", "PL", "JP", "BR", "DK", "ES", "IT", "PT", "US")
Random = np.random.Generator


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How many rows and keys; see `Dataset`."""

    rows: int
    keys: int
    preload: int


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One sort of rows: its columns as DDL, and what makes the table of a batch."""

    schema: str
    make: Callable[[Shape, Random, int], pa.Table]


def _numbers(keys: Any, times: Any, random: Random) -> pa.Table:
    values = random.integers(0, 1000, len(keys))
    return pa.table(
        {
            "key": pa.array(keys, pa.int64()),
            "ts": _timestamps(times),
            "value": pa.array(values, pa.int64()),
        }
    )


def _events(shape: Shape, random: Random, number: int) -> pa.Table:
    """Keys at random, 60 s of event time a batch, in no order."""
    keys = random.integers(0, shape.keys, shape.rows)
    return _numbers(keys, number * _BATCH_US + random.integers(0, _BATCH_US, shape.rows), random)


def _repeats(shape: Shape, random: Random, number: int) -> pa.Table:
    """New keys, a tenth of which come twice, in the batch or the one before."""
    first = number * shape.rows
    keys = np.arange(first, first + shape.rows)
    again = random.random(shape.rows) < _REPEATED
    oldest = max(0, first - shape.rows // 4)
    keys[again] = random.integers(oldest, first + shape.rows, int(again.sum()))
    random.shuffle(keys)
    return _numbers(keys, keys * _BATCH_US // shape.rows, random)


def _changes(shape: Shape, random: Random, number: int) -> pa.Table:
    """First every key once, in batches of `preload` rows, then keys at random."""
    first = number * shape.preload
    if first < shape.keys:
        keys = np.arange(first, min(first + shape.preload, shape.keys))
        random.shuffle(keys)
    else:
        keys = random.integers(0, shape.keys, shape.rows)
    return _numbers(keys, number * _BATCH_US + random.integers(0, _BATCH_US, len(keys)), random)


def _orders(shape: Shape, random: Random, number: int) -> pa.Table:
    """Orders of shops: a few shops have most of them, a hundredth has none; most come in time."""
    rows = shape.rows
    shops = _skewed(random, shape.keys, rows)
    late = np.minimum(random.exponential(2_000_000, rows), 25_000_000).astype(np.int64)
    times = number * _BATCH_US + random.integers(0, _BATCH_US, rows) - late
    return pa.table(
        {
            "id": pa.array(number * rows + np.arange(rows), pa.int64()),
            "shop": _with_nulls(_names(shape.keys).take(pa.array(shops)), random, 0.01),
            "product": pa.array(_skewed(random, 200_000, rows), pa.int64()),
            "country": _choice(random, _COUNTRIES, rows),
            "status": _with_nulls(_choice(random, _STATUS, rows), random, 0.02),
            "quantity": pa.array(1 + random.geometric(0.3, rows), pa.int32()),
            "price": _prices(random, rows),
            "ts": _timestamps(times),
        }
    )


def _deliveries(shape: Shape, random: Random, number: int) -> pa.Table:
    """Orders of which a seventh comes again, with the same id, shop and time."""
    table = _orders(shape, random, number)
    places = np.arange(shape.rows)
    again = random.random(shape.rows) < 1 / 7
    places[again] = random.integers(0, shape.rows, int(again.sum()))
    return table.take(pa.array(places))


def _readings(shape: Shape, random: Random, number: int) -> pa.Table:
    """What sensors measure: doubles, of which a few are missing, and most of them in time."""
    rows = shape.rows
    sensors = pa.array([f"sensor-{n:05d}" for n in range(shape.keys)])
    late = np.minimum(random.exponential(2_000_000, rows), 25_000_000).astype(np.int64)
    times = number * _BATCH_US + random.integers(0, _BATCH_US, rows) - late
    return pa.table(
        {
            "sensor": sensors.take(pa.array(_skewed(random, shape.keys, rows))),
            "site": _choice(random, _COUNTRIES, rows),
            "temperature": _with_nulls(pa.array(random.normal(20.0, 8.0, rows)), random, 0.02),
            "humidity": pa.array(np.round(random.uniform(0.0, 100.0, rows), 1)),
            "charge": pa.array(random.integers(0, 101, rows), pa.int64()),
            "ts": _timestamps(times),
        }
    )


def _shipments(shape: Shape, random: Random, number: int) -> pa.Table:
    """What is sent for orders of this batch or, for a fifth, of the one before; some twice."""
    rows = shape.rows
    batches = number - (random.random(rows) < 0.2)
    late = np.minimum(random.exponential(2_000_000, rows), 25_000_000).astype(np.int64)
    table = pa.table(
        {
            "id": pa.array(batches * rows + random.permutation(rows), pa.int64()),
            "carrier": _choice(random, _COUNTRIES, rows),
            "ts": _timestamps(number * _BATCH_US + random.integers(0, _BATCH_US, rows) - late),
        }
    )
    places = np.arange(rows)
    again = random.random(rows) < 1 / 20
    places[again] = random.integers(0, rows, int(again.sum()))
    return table.take(pa.array(places))


def _messages(shape: Shape, random: Random, number: int) -> pa.Table:
    """What a queue holds: devices and what they measured as JSON, of which some come late."""
    rows = shape.rows
    late = np.minimum(random.exponential(2_000_000, rows), 25_000_000).astype(np.int64)
    times = _timestamps(number * _BATCH_US + random.integers(0, _BATCH_US, rows) - late)
    devices = pa.array([f"dev-{n:05d}" for n in range(shape.keys)])
    device = devices.take(pa.array(_skewed(random, shape.keys, rows)))
    value = pc.binary_join_element_wise(
        *('{"device": "', device),
        *('", "temp": ', pa.array(np.round(random.normal(20.0, 8.0, rows), 2)).cast(pa.string())),
        *(', "level": ', pa.array(random.integers(0, 100, rows)).cast(pa.string())),
        *(', "place": {"site": "', _choice(random, _COUNTRIES, rows)),
        *('", "floor": ', pa.array(random.integers(0, 9, rows)).cast(pa.string())),
        *('}, "at": "', pc.replace_substring(times.cast(pa.string()), " ", "T"), '"}', ""),
    )
    return pa.table({"key": device, "value": value, "ts": times})


def _trips(shape: Shape, random: Random, number: int) -> pa.Table:
    """Trips with parts: where they began, and a list of what each leg cost."""
    rows = shape.rows
    late = np.minimum(random.exponential(2_000_000, rows), 25_000_000).astype(np.int64)
    times = _timestamps(number * _BATCH_US + random.integers(0, _BATCH_US, rows) - late)
    ends = np.append(0, np.cumsum(random.integers(0, 5, rows))).astype(np.int32)
    fares = pa.array(np.round(random.gamma(2.0, 6.0, int(ends[-1])), 2))
    latitude = pa.array(np.round(random.uniform(-90, 90, rows), 4))
    place = pa.StructArray.from_arrays(
        [_choice(random, _COUNTRIES, rows), latitude], names=["country", "latitude"]
    )
    return pa.table(
        {
            "id": pa.array(number * rows + np.arange(rows), pa.int64()),
            "place": place,
            "fares": pa.ListArray.from_arrays(pa.array(ends), fares),
            "paid": pa.array(random.random(rows) < 0.8),
            "ts": times,
        }
    )


def _products(shape: Shape, random: Random, number: int) -> pa.Table:
    """A table of products, a row each, with a category that may be missing."""
    names = pa.array([f"catégorie {n}" for n in range(_CATEGORIES)])
    drawn = names.take(pa.array(random.integers(0, _CATEGORIES, shape.rows)))
    return pa.table(
        {
            "product": pa.array(np.arange(shape.rows), pa.int64()),
            "category": _with_nulls(drawn, random, 0.05),
            "weight": pa.array(np.round(random.gamma(2.0, 3.0, shape.rows), 3), pa.float64()),
        }
    )


def _skewed(random: Random, keys: int, rows: int) -> Any:
    """Numbers below `keys`, of which the first tenth is drawn about half of the time."""
    return (keys * random.random(rows) ** 3.3).astype(np.int64)


@lru_cache(maxsize=4)
def _names(count: int) -> pa.Array:
    return pa.array([_SHOPS[n % len(_SHOPS)].format(n) for n in range(count)])


def _choice(random: Random, values: tuple[str, ...], rows: int) -> pa.Array:
    return pa.array(values).take(pa.array(_skewed(random, len(values), rows)))


def _with_nulls(values: pa.Array, random: Random, share: float) -> pa.Array:
    missing = pa.array(random.random(len(values)) < share)
    return pc.if_else(missing, pa.scalar(None, values.type), values)


def _prices(random: Random, rows: int) -> pa.Array:
    cents = np.minimum(random.lognormal(7, 1.2, rows), 9e8).astype(np.int64)
    whole = pc.cast(pa.array(cents), pa.decimal128(19, 0))
    return pc.cast(pc.multiply(whole, pa.scalar("0.01").cast(pa.decimal128(3, 2))), _PRICE)


def _timestamps(times: Any) -> pa.Array:
    return pa.array(_START_US + times, pa.timestamp("us", "UTC"))


_PRICE = pa.decimal128(12, 2)
_NUMBERS = "key BIGINT, ts TIMESTAMP, value BIGINT"
_ORDERS = (
    "id BIGINT, shop STRING, product BIGINT, country STRING, status STRING, quantity INT, "
    "price DECIMAL(12,2), ts TIMESTAMP"
)
KINDS = {
    "events": Kind(schema=_NUMBERS, make=_events),
    "repeats": Kind(schema=_NUMBERS, make=_repeats),
    "changes": Kind(schema=_NUMBERS, make=_changes),
    "orders": Kind(schema=_ORDERS, make=_orders),
    "deliveries": Kind(schema=_ORDERS, make=_deliveries),
    "readings": Kind(
        schema="sensor STRING, site STRING, temperature DOUBLE, humidity DOUBLE, charge BIGINT, "
        "ts TIMESTAMP",
        make=_readings,
    ),
    "messages": Kind(schema="key STRING, value STRING, ts TIMESTAMP", make=_messages),
    "trips": Kind(
        schema="id BIGINT, place STRUCT<country: STRING, latitude: DOUBLE>, "
        "fares ARRAY<DOUBLE>, paid BOOLEAN, ts TIMESTAMP",
        make=_trips,
    ),
    "shipments": Kind(schema="id BIGINT, carrier STRING, ts TIMESTAMP", make=_shipments),
    "products": Kind(schema="product BIGINT, category STRING, weight DOUBLE", make=_products),
}
