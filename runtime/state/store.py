"""One task's view of one operator's state in one batch, and what it writes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from .compaction import choose, merge_runs
from .errors import StateError
from .manifests import delete_files
from .parts import is_variable
from .rows import Int64, Keys, Mask, StateRows, concat_rows
from .run import Layout, Run
from .sorting import stable_order
from .storage import Place
from .version import RunInfo, StateVersion, Writes
from .written import write_run


class Found(NamedTuple):
    """What a look-up found: row i of `rows` belongs to the key at position `queries[i]`."""

    queries: Int64
    rows: StateRows


class StateStore(Protocol):
    """What a kernel knows of its state.

    Reads see the version that the batch started from. A key's event times never decrease from one
    version to the next (a window's end, a session's end, a moment of expiry), so a row whose event
    time the watermark has passed needs no mark to be gone. Where a batch adds rows to a key's
    (`Layout.adds`), all rows of the key stand, each until its own time.
    """

    def get(self, keys: Keys, times: Int64 | None = None) -> Found:
        """All live rows of some keys, which are distinct; in the order of the keys, and the rows of
        a key in that of the batches that added them.

        `times` are the event times of the rows where a key alone decides them.
        """

    def expired(self, watermark: int, besides: Keys) -> StateRows:
        """The live rows with an event time at or below a watermark in microseconds.

        Those that an earlier batch added come first. Rows of the keys `besides` (sorted by hash)
        are left out: the batch has newer ones.
        """

    def count_expired(self, watermark: int) -> int:
        """How many live rows have an event time at or below a watermark in microseconds.

        Only where no key is written again as long as a row of it lives.
        """

    def scan(self, besides: Keys) -> StateRows:
        """All live rows but those of the keys `besides` (sorted by hash)."""

    def commit(self, rows: StateRows, evicted: int | None, replaced: Keys | None = None) -> Writes:
        """Write what the batch changed: for each key it has, all the rows that now stand for it,
        or those that are added.

        Nothing is visible until a manifest names it. Rows at or below `evicted` are not kept.
        `replaced` are the keys (as `get` had them) whose earlier rows need not be looked at: those
        of the rows, and others whose rows `evicted` has passed; by default those of the rows.
        """

    def abort(self) -> None:
        """Delete what was written."""

    @property
    def number(self) -> int:
        """The number of the version that the batch makes, from 1."""

    @property
    def stores(self) -> int:
        """How many logical stores the operator has: a key's is `pmod(place, stores)`."""


@dataclass
class RunStore:
    """The state store over runs.

    Attributes:
        location: the operator's directory.
        base: the version the batch starts from.
        layout: schemas of keys and values.
        tasks, task: this task serves the places `p` with `pmod(p, tasks) == task`.
        attempt: a text that no other attempt at any batch uses.
        part: which part of the operator's state it is.
        metrics: runs `opened`; runs `skipped` by eviction, by their event-time bounds; rows
            `compacted`; `eviction_us`, the time of looking for what a watermark has passed;
            `hits` and `misses`, the blocks of files that this process had read before, or not.
    """

    location: Place
    base: StateVersion
    layout: Layout
    tasks: int
    task: int
    attempt: str
    part: str = ""
    metrics: Counter[str] = field(default_factory=Counter)
    _runs: list[Run] | None = None
    _files: list[str] = field(default_factory=list)
    _asked: Keys | None = None
    _matched: dict[str, Int64] = field(default_factory=dict)
    _by_time: bool = False

    @property
    def runs(self) -> list[Run]:
        """The runs that this task reads, newest first, opened.

        Raises:
            StateError: a file cannot be used, or the state is another query's.
        """
        if self._runs is None:
            own, stored = schema_text({self.part: self.layout}), self.base.schema.split(_PARTED)
            evolves = self.layout.evolves is not None
            if self.base.schema and own not in stored and not evolves:
                raise StateError(
                    "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
                    f"The state in {self.location} holds {self.base.schema}, "
                    f"this query keeps {own}.",
                )
            infos = self.base.runs_for(self.tasks, self.task, self.part)
            opened = Run.open_evolving if evolves else Run.open
            self._runs = [opened(self.location, info, self.layout) for info in infos]
            self.metrics["opened"] += len(infos)
        return self._runs

    def get(self, keys: Keys, times: Int64 | None = None) -> Found:
        wanted = np.arange(len(keys), dtype=np.int64)
        self._by_time = times is not None
        missing = np.ones(len(keys), dtype=np.bool_)
        self._asked, self._matched = keys, {}
        queries: list[Int64] = []
        parts: list[StateRows] = []
        for run in self.runs:
            if len(wanted) == 0:
                break
            sought = wanted
            if times is not None:
                sought = sought[run.info.spans(times[sought])]
            at, rows = run.match(keys, sought)
            if run.info.taken and len(at):
                mine = self._owned(run, rows)
                at, rows = at[mine], rows[mine]
            if len(at) == 0:
                continue
            self._matched[run.info.file] = rows
            if not self.layout.adds:
                missing[at] = False
                wanted = wanted[missing[wanted]]
            alive = run.alive(rows)
            queries.append(at[alive])
            parts.append(run.rows(rows[alive]))
        if not parts:
            return Found(np.empty(0, np.int64), self.layout.empty())
        if len(parts) == 1:
            return Found(queries[0], parts[0])
        together = np.concatenate(queries[::-1])
        order = stable_order(together)
        return Found(together[order], concat_rows(parts[::-1]).take(order))

    def expired(self, watermark: int, besides: Keys) -> StateRows:
        runs, started = self.runs, time.perf_counter_ns()
        self.metrics["skipped"] += sum(run.info.skipped_by(watermark) for run in runs)
        found = self._joined(self._newest(((r, r.passed(watermark)) for r in runs), besides))
        self.metrics["eviction_us"] += (time.perf_counter_ns() - started) // 1000
        return found

    def count_expired(self, watermark: int) -> int:
        runs, started = self.runs, time.perf_counter_ns()
        self.metrics["skipped"] += sum(run.info.skipped_by(watermark) for run in runs)
        count = 0
        for run in runs:
            rows = run.passed(watermark)
            whole = run.live is None and run.info.wholly(self.tasks, self.task)
            alive = None if whole else run.alive(rows) & self._owned(run, rows)
            count += len(rows) if alive is None else int(alive.sum())
        self.metrics["eviction_us"] += (time.perf_counter_ns() - started) // 1000
        return count

    def scan(self, besides: Keys) -> StateRows:
        everything = ((run, np.arange(run.info.rows, dtype=np.int64)) for run in self.runs)
        return self._joined(self._newest(everything, besides))

    def merged(self, runs: Sequence[Run], besides: Keys, evicted: int | None) -> list[StateRows]:
        """The rows of the newest few runs that stand, oldest first, to be written as one run.

        Marks of keys that are gone are kept as long as an older run may hold such a key; rows at or
        below `evicted` are not.
        """
        everything = ((run, run.above(evicted)) for run in runs)
        found = self._newest(everything, besides, gone=len(runs) < len(self.runs))
        self.metrics["compacted"] += sum(map(len, found))
        return found

    def _joined(self, parts: list[StateRows]) -> StateRows:
        return concat_rows(parts) if parts else self.layout.empty()

    def _newest(
        self, chosen: Iterable[tuple[Run, Int64]], besides: Keys, *, gone: bool = False
    ) -> list[StateRows]:
        """Of some rows of each run, those alive, this task's, and in no newer run or `besides`.

        The runs come newest first, their rows go oldest first.
        """
        parts: list[StateRows] = []
        for i, (run, rows) in enumerate(chosen):
            rows = rows[run.alive(rows, gone=gone) & self._owned(run, rows)]
            asked = besides is self._asked
            if asked and run.info.file in self._matched:
                stale = np.zeros(run.info.rows, dtype=np.bool_)
                stale[self._matched[run.info.file]] = True
                rows = rows[~stale[rows]]
            if len(rows) == 0:
                continue
            found = run.whole() if len(rows) == run.info.rows else run.rows(rows)
            if self.layout.adds:
                parts.append(found)
                continue
            # A key that `get` found in a newer run has not been looked for in this one: that it is
            # in a newer run comes out below.
            stale = np.zeros(len(rows), np.bool_) if asked else present(found.keys, besides)
            for newer in self.runs[:i]:
                sought = np.flatnonzero(~stale)
                if self._by_time:
                    sought = sought[newer.info.spans(found.times[sought])]
                at, matching = newer.match(found.keys, sought)
                stale[at[self._owned(newer, matching)]] = True
            parts.append(found.take(~stale) if stale.any() else found)
        return parts[::-1]

    def _owned(self, run: Run, rows: Int64) -> Mask:
        if run.info.wholly(self.tasks, self.task):
            return np.ones(len(rows), dtype=np.bool_)
        return run.info.owned(run.places[rows], self.tasks, self.task)

    def commit(self, rows: StateRows, evicted: int | None, replaced: Keys | None = None) -> Writes:
        if evicted is not None and self.layout.timed:
            rows = self._without_expired(rows, evicted)
        hashes = rows.keys.hashes
        if replaced is None and not bool((hashes[1:] >= hashes[:-1]).all()):
            rows = rows.take(stable_order(hashes))
        written: list[RunInfo] = []
        absorbed: list[Run] = []
        if len(rows):
            adds = self.layout.adds
            spare = (self._by_time or adds) and evicted is not None
            matched = {} if adds else {file: len(at) for file, at in self._matched.items()}
            absorbed = choose(self.runs, len(rows), matched, spare=spare)
            besides = rows.keys if replaced is None else replaced
            merged = merge_runs(self, absorbed, rows, besides, evicted)
            written.append(self._write(merged, evicted))
        opened = [run.sealed for run in self._runs or () if run.sealed is not None]
        self.metrics["hits"] = sum(sealed.hits for sealed in opened)
        self.metrics["misses"] = sum(sealed.misses for sealed in opened)
        return Writes(
            self.tasks, self.task, tuple(written), tuple(run.info.file for run in absorbed)
        )

    @staticmethod
    def _without_expired(rows: StateRows, evicted: int) -> StateRows:
        kept = rows.times > evicted
        return rows if kept.all() else rows.take(kept)

    @property
    def number(self) -> int:
        return self.base.version + 1

    @property
    def stores(self) -> int:
        return self.base.stores

    def _write(self, rows: StateRows, evicted: int | None) -> RunInfo:
        part = f"-{self.part}" if self.part else ""
        file = f"r{self.number:010d}-{self.task}-{self.attempt}{part}.arrow"
        self._files.append(file)
        info = {
            "sequence": self.number,
            "tasks": self.tasks,
            "task": self.task,
            "evicted": evicted,
            "part": self.part,
        }
        return write_run(self.location, file, rows, self.layout, info)

    def abort(self) -> None:
        delete_files(self.location, self._files)


_PARTED = ";"


def schema_text(layouts: Mapping[str, Layout]) -> str:
    """The types of all parts of an operator's state, for the manifest."""
    return _PARTED.join(
        f"{part}:{layout.text}" if part else layout.text for part, layout in layouts.items()
    )


def with_left_parts(schema: str, base: str, gone: Iterable[str]) -> str:
    """The types of an operator's parts, and of variables that it declares no more.

    Those of `gone` are left out: the operator's own parts, and the variables that it deletes.
    """
    own = schema.split(_PARTED)
    names = {text.partition(":")[0] for text in own}.union(gone)
    left = [t for t in base.split(_PARTED) if is_variable(t) and t.partition(":")[0] not in names]
    return _PARTED.join([*own, *left])


def present(keys: Keys, among: Keys) -> Mask:
    """Which keys are among others that are sorted by hash."""
    found = np.zeros(len(keys), dtype=np.bool_)
    found[matching_keys(keys, among)[0]] = True
    return found


def matching_keys(keys: Keys, among: Keys) -> tuple[Int64, Int64]:
    """Where keys are, and where the same ones among others that are sorted by hash: in step."""
    if len(keys) == 0 or len(among) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return _as_run(among).match(keys, np.arange(len(keys), dtype=np.int64))


def _as_run(keys: Keys) -> Run:
    info = RunInfo("", 0, len(keys), 0, 1, 0, 0, 0)
    run = Run(info, keys.columns, Layout(keys.columns.schema, None, False))
    run.__dict__.update(hashes=keys.hashes, places=keys.places, _kept_keys=keys.columns)
    return run
