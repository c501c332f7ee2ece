"""Cases of large batches: their steps hold recipes of rows (`large_streams`)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import large_streams
from derive_scenarios import LiveRun

from stateplan.planner.model.schemas.types import StructType
from stateplan.runtime.scenario_run import CaughtRows, ScenarioRun
from stateplan.runtime.sources import FileSource, MemorySource, Source


def _place(folder: Path, name: str, step: int, rows: Sequence[Any], kind: str) -> None:
    """Write the rows of a recipe as the file that comes next."""
    (recipe,) = rows or [{"seed": 0, "rows": 0, "step": 0}]
    hidden = folder / f".{name}-{step}"
    time = "at" if name == "clicks" else "ts"
    large_streams.write(hidden, recipe, kind, time)
    os.utime(hidden, (1_700_000_000 + step, 1_700_000_000 + step))
    hidden.rename(folder / name / f"step-{step:04d}.{kind}")


class LargeLiveRun(LiveRun):
    """A case on a real streaming query."""

    def _format(self, name: str) -> str:
        found: str = self.scenario["sources"][name].get("format", "json")
        return "parquet" if found == "memory" else found

    def read(self, reader: Any, name: str) -> Any:
        return reader.format(self._format(name)).load(str(self.folder / name))

    def _write(self, name: str, step: int, rows: list[Any]) -> None:
        if self.scenario["sources"][name].get("static"):
            super()._write(name, step, rows)
        else:
            _place(self.folder, name, step, rows, self._format(name))

    def kept(self, rows: list[Any]) -> list[Any]:
        return large_streams.shown(rows, ordered=bool(self.scenario.get("ordered")))


class _Digests(CaughtRows):
    def write(self, frame: Any, batch_id: int) -> int | None:
        ordered, self.ordered = self.ordered, True
        try:
            return super().write(frame, batch_id)
        finally:
            self.ordered = ordered
            if batch_id in self.rows:
                self.rows[batch_id] = large_streams.shown(self.rows[batch_id], ordered=ordered)


class LargeRun(ScenarioRun):
    """A case on an engine of ours."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._caught = _Digests((), self._scenario.ordered)
        self._memory: dict[str, MemorySource] = {}

    def _source(self, name: str, path: Path, schema: StructType) -> Source:
        kind = self._scenario.sources[name].format
        if kind != "memory":
            return FileSource(kind, str(path), schema, {"maxFilesPerTrigger": "1"})
        # A restart goes on with the same object, which holds the rows.
        return self._memory.setdefault(name, MemorySource(schema, 1))

    def _write(self, name: str, step: int, rows: Sequence[Any]) -> None:
        source = self._scenario.sources[name]
        if source.static:
            super()._write(name, step, rows)
        elif source.format == "memory":
            found = large_streams.table(dict(rows[0]), "at" if name == "clicks" else "ts")
            self._memory[name].add(list(zip(*(c.to_pylist() for c in found.columns), strict=True)))
        else:
            _place(self._folder, name, step, rows, source.format)
