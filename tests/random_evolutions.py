"""Changes at random to queries like the corpora's, as cases to ask a live Spark about.

    python tests/random_evolutions.py COUNT --seed S --out DIR

writes cases without expectation, in the form of EVOLUTIONS.md: `spark_evolutions.py DIR` adds what
Spark did and the checkpoints, `check_evolutions.py DIR` compares. A shape is a query with slots; a
change gives one or two slots another value, so both sides stay close to what people write.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from check_evolutions import side
from evolution_shapes import EVENTS, LEFT, NAMES, RIGHT, SHAPES, WATERMARKS, WINDOWS, Side
from evolution_state_shapes import STATE_SHAPES

from stateplan.planner.model.errors import StateplanError

ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STATE = "spark.sql.streaming.stateStore"

SETTINGS = (
    "spark.sql.shuffle.partitions=3",
    "spark.sql.ansi.enabled=false",
    "spark.sql.session.timeZone=Asia/Tokyo",
    "spark.sql.streaming.noDataMicroBatches.enabled=false",
    "spark.sql.streaming.multipleWatermarkPolicy=max",
    f"{STATE}.providerClass={ROCKS}",
    f"{STATE}.stateSchemaCheck=false",
    f"{STATE}.compression.codec=zstd",
    "spark.sql.streaming.statefulOperator.useStrictDistribution=false",
    "spark.sql.streaming.sessionWindow.merge.sessions.in.local.partition=true",
    "spark.sql.streaming.aggregation.stateFormatVersion=1",
    "spark.sql.streaming.join.stateFormatVersion=1",
    "spark.sql.streaming.optimizeOneRowPlan.enabled=true",
    "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan=true",
    "spark.sql.caseSensitive=true",
    "spark.sql.adaptive.enabled=false",
)
_TABLE = [
    {"k": "a", "label": "one", "factor": 2},
    {"k": "b", "label": "two", "factor": 3},
    {"k": "o", "label": "one", "factor": 5},
    {"k": "x", "label": "four", "factor": 7},
]
_WEIGHTS = {"agg": 8, "join": 6, "dedup": 4, "session": 3, "union": 2, "chain": 3, "table": 2}
_WEIGHTS |= {"grouped": 3, "processed": 3}
_OFTEN = ("state", "timeout", "variable", "other", "ttl")
_ALL = {**SHAPES, **STATE_SHAPES}


# ------------------------------------------------------------------------------------ the changes


def case(
    number: int, seed: int, steps: Mapping[str, Any], names: Sequence[str] = tuple(_ALL)
) -> dict[str, Any]:
    """A change without expectation; `steps` are the rows for `events` and for the two sides."""
    rng = random.Random(f"evolution-{seed}-{number}")
    shape = rng.choices(names, [_WEIGHTS.get(name, 1) for name in names])[0]
    build, slots = _ALL[shape]
    was = {name: rng.choice(values) for name, values in slots.items()}
    if was.get("mode") == "append" and "watermark" in was:
        was["watermark"] = rng.choice(WATERMARKS[:3])
        if "window" in was:
            was["window"] = rng.choice(WINDOWS[:5])
    now, changed = dict(was), []
    likely = [*slots, *(name for name in _OFTEN for _ in range(3) if name in slots)]
    for name in dict.fromkeys(rng.sample(likely, rng.choice([0, 1, 1, 1, 1, 2]))):
        others = [value for value in slots[name] if value != was[name]]
        if others:
            now[name] = rng.choice(others)
            changed.append(f"{name}: {was[name]!r} to {now[name]!r}")
    sides = {"before": build(was), "after": build(now)}
    both = _settings(rng, 0.15)
    for one in sides.values():
        one["conf"] = {**both, **one.get("conf", {})}
    if not changed or rng.random() < 0.12:
        added = _settings(rng, 1)
        sides[rng.choice(["before", "after", "after"])]["conf"] |= added
        changed.append(f"settings: {added}")
    for which, one in sides.items():
        sides[which] = {key: value for key, value in one.items() if value}
    return {
        "id": f"{shape}-{seed}-{number}",
        "title": "; ".join(changed),
        "topic": shape,
        **sides,
        **_input(shape, rng, sides, steps),
    }


def _settings(rng: random.Random, share: float) -> dict[str, str]:
    if rng.random() >= share:
        return {}
    key, value = rng.choice(SETTINGS).split("=")
    return {key: value}


def _input(
    shape: str, rng: random.Random, sides: dict[str, Side], steps: Mapping[str, Any]
) -> dict[str, Any]:
    """Sources and rows, sometimes with another schema after the restart."""
    if shape in ("join", "union"):
        sources = {"l": {"schema": LEFT}, "r": {"schema": RIGHT}}
        return {"sources": sources, "steps": steps["sides"]}
    sources = {"events": {"schema": EVENTS}}
    if shape == "table":
        sources["names"] = {"schema": NAMES, "static": True, "rows": _TABLE}
    elif rng.random() < 0.08:
        schema = rng.choice(
            [
                EVENTS.replace("v INT", "v BIGINT"),
                EVENTS.replace("v INT, w INT", "w INT, v INT"),
                EVENTS + ", extra STRING",
            ]
        )
        sides["after"]["sources"] = {"events": {"schema": schema}}
    return {"sources": sources, "steps": steps["events"]}


def main() -> None:
    """Write the cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True, help="where the rows are taken from")
    parser.add_argument("--shapes", nargs="+", choices=_ALL, default=tuple(_ALL), metavar="SHAPE")
    options = parser.parse_args()
    steps = {
        name: yaml.safe_load((options.corpus / f"{like}.yaml").read_text(encoding="utf-8"))["steps"]
        for name, like in (("events", "limit-raised"), ("sides", "join-inner-to-left"))
    }
    options.out.mkdir(parents=True, exist_ok=True)
    number = written = 0
    while written < options.count:
        content = case(number, options.seed, steps, options.shapes)
        number += 1
        try:
            _ = side(content, "before").execution.executed_plan
        except StateplanError:
            continue  # a query that never ran cannot be changed
        written += 1
        text = yaml.safe_dump(content, sort_keys=False, width=1000, allow_unicode=True)
        (options.out / f"{content['id']}.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
