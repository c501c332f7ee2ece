"""Streams from a seed through functions with state of the user's own (`user_state_processors`)."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

from random_streams import START, sometimes, stamp

Case = dict[str, Any]
EVENTS = "user STRING, ts TIMESTAMP, qty INT, ops STRING"
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"
_LATE = "events.withWatermark('ts', '5 seconds')"
_STATE = ("update:1", "update:7", "update:3", "remove", "")
_VARIABLES = (
    *("value", "count:1", "count:5", "forget", "list", "append:3", "extend:2", "clear"),
    *("map", "set:1", "set:6", "set:11", "get:6", "unset:1", "empty", "count:2", "append:9"),
)
# Spark 4.3 keeps the expiry of a map's key that was removed. Later it counts the key once more as
# removed, and takes away what was put under it meanwhile: a loss of values, which we do not copy.
_KEPT = tuple(op for op in _VARIABLES if op != "unset:1")
# Spark's count of updated rows starts anew at each put of a list without a time to live.
_PUT = ("put:4", "put:1")
_TIMERS = ("timer:10", "timer:31", "timer:46", "timer:64", "untimer:31", "timers")
_SOON = ("soon:1", "soon:3600000", "timers")
SHAPES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "no timeout": ("with_one_state", f"{_LATE}, 'NoTimeout'", (*_STATE, "at:9")),
    "event time": (
        "with_one_state",
        f"{_LATE}, 'EventTimeTimeout'",
        (*_STATE, "at:15", "at:40", "at:70", "after:5"),
    ),
    "processing time": (
        "with_one_state",
        "events, 'ProcessingTimeTimeout'",
        (*_STATE, "after:1", "after:3600000"),
    ),
    "pandas": ("with_processor", f"{_LATE}, 'EventTime'", (*_VARIABLES, *_TIMERS)),
    "rows": ("with_processor", f"{_LATE}, 'EventTime', rows=True", (*_VARIABLES, *_TIMERS)),
    "no time": ("with_processor", f"{_LATE}, 'None'", _VARIABLES),
    "expiring": (
        "with_processor",
        "events, 'ProcessingTime', ttl_ms=1",
        (*_KEPT, *_PUT, *_SOON),
    ),
    "expiring values": (
        "with_processor",
        "events, 'ProcessingTime', rows=True, ttl_ms=1, values=True",
        (*_KEPT, *_PUT, *_SOON),
    ),
    "living": (
        "with_processor",
        "events, 'ProcessingTime', rows=True, ttl_ms=3600000",
        (*_VARIABLES, *_PUT, *_SOON),
    ),
    "initial": ("with_processor", f"{_LATE}, 'EventTime', initial=given", (*_VARIABLES, *_TIMERS)),
    "initial rows": ("with_processor", "events, 'None', rows=True, initial=given", _VARIABLES),
}


def case(shape: str, seed: int, batches: int) -> Case:
    """A scenario without expectation."""
    rng = random.Random(f"user-state-{shape}-{seed}")
    maker, arguments, ops = SHAPES[shape]
    code = f"__import__('user_state_processors').{maker}({arguments})"
    steps: list[Case] = []
    for step in range(batches):
        rows = [_event(rng, step, ops) for _ in range(rng.choice([1, 4, 9]))]
        steps.append({"batch": {"events": rows}, "crash": rng.random() < 0.15})
        if rng.random() < 0.2:
            steps.append({"restart": True})
    # By the clock each batch would ask for another one.
    by_clock = "rocessingTime" in arguments
    sources: Case = {"events": {"schema": EVENTS}}
    if "initial" in arguments:
        # A key's rows come in no order, so that each has one.
        users = rng.sample(["ann", "bob", "zed", "", None], rng.choice([0, 2, 4]))
        rows = [{"user": user, "qty": rng.choice([None, 0, 3])} for user in users]
        sources["given"] = {"schema": "user STRING, qty INT", "static": True, "rows": rows}
    return {
        "title": shape,
        "sources": sources,
        "python": code,
        "output_mode": "update",
        "conf": {PROVIDER: ROCKS, _NO_DATA: str(not by_clock).lower()},
        "steps": steps,
    }


def _event(rng: random.Random, step: int, ops: tuple[str, ...]) -> Case:
    seconds = 20 * step + rng.uniform(-12, 20)
    moment = START + dt.timedelta(seconds=round(seconds))
    return {
        "user": sometimes(rng, lambda: rng.choice(["ann", "bob", "cy", "dora", "é"])),
        "ts": sometimes(rng, lambda: stamp(moment)),
        "qty": sometimes(rng, lambda: rng.randrange(9)),
        "ops": " ".join(rng.choices(ops, k=rng.randrange(1, 6))),
    }
