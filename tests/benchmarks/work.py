"""What is measured: a query, its data, the stores, and the figures that each engine is to reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from .data import Dataset
from .job import NATIVE, Input, Job, Step


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What an engine is to reach on a work; all of what is given.

    Attributes:
        ratio: how many times native's rows a second.
        seconds: the time of a batch.
        near_floor: at most 1.1 times Spark's floor and 0.1 s for each stateful operator.
    """

    ratio: float | None = None
    seconds: float | None = None
    near_floor: bool = False

    def most(self, floor: float | None, operators: int) -> float | None:
        """The seconds that a batch may take; None if that is not limited or not known."""
        if self.near_floor and floor is not None:
            return 1.1 * floor + 0.1 * operators
        return self.seconds


@dataclass(frozen=True, kw_only=True)
class Stream:
    """A stream over a data set, with the event-time column and its delay in seconds."""

    data: Dataset
    watermark: tuple[str, int] | None = None


@dataclass(frozen=True, kw_only=True)
class Work:
    """One query over its streams and tables.

    Attributes:
        set: `main`: the works of the first days; `ordinary`: what people write; `joins`: those of
            several streams, and of a user's own state; `unseen`: works that nothing was tuned for.
        steps: the SELECTs of the query, the same text for all systems; see `job.Step`.
        function: in their place, a query in PySpark: its name in `functions`.
        stores: `spark.sql.shuffle.partitions`.
        ordered: whether the order of the rows is part of the answer.
        goals: by engine.
        natives: the native state stores it is compared with.
        warmup: batches at the start of each run that do not count: the JVM still compiles.
        batches: batches of each run that count.
        driver_memory: of the JVM of either system.
    """

    name: str
    title: str
    set: Literal["main", "ordinary", "joins", "unseen"]
    streams: Mapping[str, Stream]
    tables: Mapping[str, Dataset] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    function: str = ""
    mode: str
    stores: int = 2
    ordered: bool = False
    goals: Mapping[str, Goal] = field(default_factory=dict)
    natives: tuple[str, ...] = (NATIVE,)
    warmup: int = 8
    batches: int = 5
    driver_memory: str = "4g"

    @property
    def preload_batches(self) -> int:
        """The batches that make the state before those that are of interest."""
        return max(stream.data.preload_batches for stream in self.streams.values())

    @property
    def files(self) -> int:
        """How many batches there are data for: one more than count, to see the last one end."""
        return self.preload_batches + self.warmup + self.batches + 1

    def job(
        self,
        system: str,
        root: Path,
        checkpoint: Path,
        *,
        watch_memory: bool = False,
        keep_rows: bool = False,
    ) -> Job:
        """The job of a run, its data made if they are not there.

        Args:
            system: who runs it.
            root: where data are kept.
            checkpoint: where the run's checkpoint is to be.
            watch_memory: whether to look at memory.
            keep_rows: whether the rows are wanted.
        """
        streams = [self._input(n, s.data, root, s.watermark) for n, s in self.streams.items()]
        tables = [self._input(name, data, root, None) for name, data in self.tables.items()]
        tables = [replace(table, files=None) for table in tables]
        first = self.files - self.batches - 1
        return Job(
            work=self.name,
            system=system,
            inputs=(*streams, *tables),
            steps=self.steps,
            function=self.function,
            mode=self.mode,
            stores=self.stores,
            batches=self.files,
            counted=(first, first + self.batches),
            checkpoint=str(checkpoint),
            driver_memory=self.driver_memory,
            watch_memory=watch_memory,
            keep_rows=keep_rows,
        )

    def _input(
        self, name: str, data: Dataset, root: Path, watermark: tuple[str, int] | None
    ) -> Input:
        batches = 1 if name in self.tables else self.files
        return Input(
            name=name,
            schema=data.schema,
            format=data.format,
            path=str(data.path(root, batches)),
            files=data.parts,
            watermark=watermark,
            reader_options=data.options,
        )


def tiny(work: Work, rows: int = 200) -> Work:
    """The work small enough for a test: the same query over a handful of rows."""
    streams = {n: replace(s, data=_tiny(s.data, rows)) for n, s in work.streams.items()}
    return replace(work, streams=streams, stores=min(work.stores, 4), warmup=1, batches=1)


def _tiny(data: Dataset, rows: int) -> Dataset:
    keys, preload = min(data.keys, rows), min(data.preload, rows)
    return replace(data, rows=rows, keys=keys, preload=preload, parts=1)
