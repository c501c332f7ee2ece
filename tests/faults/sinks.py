"""Sinks that keep what they were given by batch id, whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stateplan.runtime.sinks import FileSink, ForeachBatchSink, Sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SINKS = ("files", "kept", "kept once", "looked at often")


def make_sink(name: str, folder: Path, fails_at: int | None = None) -> Sink:
    """A sink under a folder; from the batch `fails_at` on it takes the rows, but fails.

    files: a directory of JSON files. kept: `foreachBatch` that keeps the rows by batch id. kept
    once: the same over a batch that is evaluated once, not kept by the runtime. looked at often:
    the function evaluates the batch several times and fails if it differs.
    """
    if name == "files":
        return FileSink("json", str(folder / "out"))
    folder = folder / "kept"
    folder.mkdir(exist_ok=True)

    def function(frame: DataFrame, batch_id: int) -> None:
        found = _often(frame) if name == "looked at often" else texts(frame)
        keep(folder, batch_id, found)
        if fails_at is not None and batch_id >= fails_at:
            raise SinkFails(f"the sink fails behind batch {batch_id}")

    return ForeachBatchSink(function, evaluates_once=name == "kept once")


class SinkFails(Exception):
    """The failure of a sink that has taken a batch."""


def _often(frame: DataFrame) -> list[str]:
    frame.isEmpty()
    found = texts(frame)
    again = texts(frame.repartition(3).union(frame.coalesce(1)))
    if sorted([*found, *found]) != again:
        raise AssertionError("the batch differs from one evaluation to the next")
    return found


def texts(frame: DataFrame) -> list[str]:
    """The rows as sorted JSON texts; lists in them are sets and are sorted too."""
    return sorted(map(row_text, frame.toArrow().to_pylist()))


def row_text(row: Any) -> str:
    """A row as text that does not tell the order of sets."""
    return json.dumps(_canonical(row), sort_keys=True, default=str)


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    return sorted(value) if isinstance(value, list) else value


def keep(folder: Path, batch_id: int, rows: list[str]) -> None:
    """Keep a batch under its id, over an earlier attempt's."""
    path = folder / f"{batch_id}.json"
    if path.exists() and json.loads(path.read_text()) != rows:
        (folder / f"changed.{batch_id}").write_text(json.dumps(rows))
    hidden = folder / f".{batch_id}.{os.getpid()}"
    hidden.write_text(json.dumps(rows))
    os.replace(hidden, path)
