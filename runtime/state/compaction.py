"""Keep the number of runs small at a cost in proportion to what changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .rows import Keys, StateRows, concat_rows

if TYPE_CHECKING:
    from .run import Run
    from .store import RunStore

GROWTH = 2
"""A run is merged once the newer ones together have at least half its rows: a row is rewritten at
most as often as the state doubles, and a state of n rows lies in a few times log(n) runs."""

MOST_ROWS = 32_000_000
MOST_BYTES = 1 << 30
"""Beyond these a run stays as it is: an Arrow array of texts holds at most 2 GiB."""


SPARED = 4
"""So many runs stay as they are where look-ups pass over those of other times and where a watermark
evicts: most of these go as a whole before a merge would have paid."""

TOGETHER = 3
"""So many runs are merged with a batch that replaces little of them. Such a merge gains only that
there are fewer to look into, and the files that it makes superfluous stay for the kept versions."""

REPLACED = 4
"""A batch replaces much of some runs if it does one row in so many."""


def choose(
    runs: Sequence[Run], rows: int, replaced: Mapping[str, int], *, spare: bool = False
) -> list[Run]:
    """Which of the runs, newest first, to merge with the rows of a batch: the newest few.

    Args:
        runs: all there are.
        rows: how many the batch has.
        replaced: how many rows of a run the batch replaces, by the run's file.
        spare: whether runs soon go by themselves: then a few stay as they are.
    """
    if spare and len(runs) < SPARED:
        return []
    chosen = _newest(runs, rows)
    if len(chosen) < TOGETHER:
        there = sum(run.info.rows for run in chosen)
        if REPLACED * sum(replaced.get(run.info.file, 0) for run in chosen) < there:
            return []
    return chosen


def _newest(runs: Sequence[Run], rows: int) -> list[Run]:
    """The newest runs that have, each, at most GROWTH times the rows of all that is newer."""
    chosen: list[Run] = []
    size = 0
    for run in runs:
        size += run.info.size
        if run.info.rows > GROWTH * rows or rows + run.info.rows > MOST_ROWS or size > MOST_BYTES:
            break
        rows += run.info.rows
        chosen.append(run)
    return chosen


def merge_runs(
    store: RunStore, runs: Sequence[Run], rows: StateRows, besides: Keys, evicted: int | None
) -> StateRows:
    """The rows of the chosen runs that still stand beside some keys, and those of a batch."""
    if not runs:
        return rows
    older = store.merged(runs, besides, evicted if store.layout.timed else None)
    return concat_rows([*older, rows]) if older else rows
