"""Keep the number of runs small at a cost in proportion to what changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .rows import Keys, StateRows, concat_rows

if TYPE_CHECKING:
    from .run import Run
    from .store import RunStore

GROWTH = 2
"""A run is merged once the newer ones together have at least half its rows: a row is rewritten at
most as often as the state doubles, and a state of n rows lies in about log2(n) runs."""

MOST_ROWS = 32_000_000
MOST_BYTES = 1 << 30
"""Beyond these a run stays as it is: an Arrow array of texts holds at most 2 GiB."""


SPARED = 4
"""So many runs stay as they are where look-ups pass over those of other times and where a watermark
evicts: most of these go as a whole before a merge would have paid."""


def choose(runs: Sequence[Run], rows: int, *, spare: bool = False) -> list[Run]:
    """Which of the runs, newest first, to merge with the rows of a batch: the newest few.

    None of them if there are few runs and `spare` says that they will soon go by themselves.
    """
    chosen: list[Run] = []
    if spare and len(runs) < SPARED:
        return chosen
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
    """The rows of a batch and those of the chosen runs that still stand beside some keys."""
    if not runs:
        return rows
    older = store.merged(runs, besides, evicted if store.layout.timed else None)
    return concat_rows([rows, older]) if len(older) else rows
