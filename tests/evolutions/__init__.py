"""Changed queries with what a live Spark did: `<topic>.yaml`, written by derive_evolutions.py.

A case is the query as it was and as it is now, output modes and settings; `spark` is what Spark
did with the change on its checkpoint, measured over `ROWS`; `verdict` is what we say. It is never
less than Spark's, and may be more where these rows do not show a danger.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml_files

from stateplan.physical.plan import StateStoreWriter
from stateplan.planner.description import parse_description
from stateplan.planner.evolution.check import check_against
from stateplan.planner.evolution.reading import read_checkpoint
from stateplan.planner.evolution.report import CheckReport
from stateplan.planner.evolution.side import side_of
from stateplan.planner.model.settings.pinned import PINNED
from stateplan.planner.query import Query
from stateplan.runtime.state_files import write_state_files

FOLDER = Path(__file__).parent
SCHEMAS = {
    "events": "ts TIMESTAMP, k STRING, g STRING, v INT, w INT",
    "l": "lt TIMESTAMP, k STRING, g STRING, v INT",
    "r": "rt TIMESTAMP, k STRING, g STRING, w INT",
}
CONF = {"spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC"}


def _event(second: int, k: str, g: str, v: int, w: int) -> dict[str, Any]:
    time = f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z"
    return {"ts": time, "lt": time, "rt": time, "k": k, "g": g, "v": v, "w": w}


# One batch a line. The restart comes before the last two.
ROWS = (
    [_event(5, "a", "x", 1, 9), _event(20, "b", "y", 7, 2), _event(40, "a", "y", 3, 5)],
    [_event(70, "b", "x", 8, 1), _event(75, "c", "x", 2, 6), _event(80, "a", "x", 6, 4)],
    [_event(100, "a", "y", 5, 8), _event(110, "d", "y", 4, 3)],
    [_event(115, "b", "x", 9, 7), _event(150, "a", "x", 1, 2), _event(118, "e", "y", 3, 3)],
    [_event(190, "c", "y", 6, 1), _event(260, "a", "x", 2, 8), _event(20, "a", "x", 4, 4)],
)
BEFORE = 3


@dataclass(frozen=True, kw_only=True)
class Case:
    """One change; `was` and `now` are SQL, or Python where they start with a source's name."""

    id: str
    was: str
    now: str
    mode: str = "update"
    now_mode: str | None = None
    key: list[str] | None = None
    schema: str | None = None
    now_schema: str | None = None
    was_conf: dict[str, str] = field(default_factory=dict)
    conf: dict[str, str] = field(default_factory=dict)
    spark: dict[str, Any] = field(default_factory=dict)
    verdict: str = ""

    def query(self, which: str) -> Query:
        """`was` or `now` as a query."""
        text = self.was if which == "was" else self.now
        schema = self.schema if which == "was" else self.now_schema or self.schema
        own = self.was_conf if which == "was" else self.conf
        sources = {n: {"schema": s} for n, s in SCHEMAS.items()}
        if schema is not None:
            sources["events"] = {"schema": schema}
        used = {n: s for n, s in sources.items() if _reads(text, n)}
        return Query.of(
            parse_description(
                {
                    "sources": used,
                    "python" if is_python(text) else "sql": text,
                    "output_mode": self.mode if which == "was" else self.now_mode or self.mode,
                    "conf": {**CONF, **own},
                }
            )
        )


def is_python(text: str) -> bool:
    """Whether a query is an expression over DataFrames."""
    return text.startswith(tuple(f"{name}." for name in SCHEMAS))


def _reads(text: str, source: str) -> bool:
    return f"STREAM {source}" in text or f"{source}." in text


def load() -> list[Case]:
    """All cases."""
    return [
        Case(**content)
        for path in sorted(FOLDER.glob("*.yaml"))
        for content in yaml_files.load(path)
    ]


def spark_verdicts(spark: dict[str, Any]) -> tuple[str, ...]:
    """The verdicts that fit what Spark did."""
    if spark["restart"] != "accepted":
        return ("refused",)
    if spark["since_restart"] == "same":
        return ("same",) if spark["meaning"] == "same" else ("stale",)
    return ("stale", "differs") if spark["meaning"] == "same" else ("differs",)


def lay_checkpoint(folder: Path, query: Query, batches: int = BEFORE) -> Path:
    """A checkpoint of a query that ran, as Spark writes it, without rows of state."""
    pinned = {key: query.conf.settings.get(key, value) for key, value in PINNED.items()}
    side = side_of(query.execution, {})
    for name in ("offsets", "commits", "state"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "metadata").write_text('{"id":"00000000-0000-0000-0000-000000000000"}')
    for batch in range(batches):
        head = {"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": pinned}
        offset = json.dumps({"logOffset": batch})
        lines = ["v1", json.dumps(head), *[offset] * len(side.sources)]
        (folder / "offsets" / str(batch)).write_text("\n".join(lines))
        (folder / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
        for place, source in enumerate(side.sources):
            log = folder / "sources" / str(place)
            log.mkdir(parents=True, exist_ok=True)
            path = f"file:///data/{source.identity}/step-{batch:05d}.json"
            entry = {"path": path, "timestamp": 0, "batchId": batch}
            (log / str(batch)).write_text(f"v1\n{json.dumps(entry)}")
    plan = query.execution.executed_plan
    if plan.collect(StateStoreWriter):
        write_state_files(folder / "state", plan)
    else:
        (folder / "state").rmdir()
    return folder


def checked(was: Query, now: Query, folder: Path, *, alone: bool = False) -> CheckReport:
    """What is said of a change, with the old query or without, on a checkpoint of that query."""
    stored = read_checkpoint(lay_checkpoint(folder, was))
    return check_against(now, stored, None if alone else was)


def queries(was: str, now: str, **more: Any) -> tuple[Query, Query]:
    """Two queries, as the sides of a case."""
    case = Case(id="x", was=was, now=now, **more)
    return case.query("was"), case.query("now")
