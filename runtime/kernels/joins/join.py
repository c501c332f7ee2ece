"""Joins of two streams: each side's new rows with all rows of the other side that are kept.

In Spark's order, which shows where rows leave in the batch in which they come: the left side's rows
are joined with the kept right ones and stored; then the right side's with all the left ones. A left
semi join has the right side first. A row of the second side that leaves at once is not stored for
those that come with it, nor counted, unless it is to come out padded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ...state import Found
from ...state.marks import GONE, MATCHED
from ...state.rows import columns_of
from ..kernel import (
    Changes,
    Decision,
    Figures,
    Input,
    Int64,
    Kernel,
    Layout,
    Mask,
    StateRows,
    StateStore,
    at_or_below,
    take,
)
from .pairs import Condition as Condition
from .pairs import Partners
from .side import Arrived, Kept, arrived, rows_by_side
from .side import JoinSide as JoinSide
from .side import Moment as Moment

_OTHER = {"left": "right", "right": "left"}


@dataclass(frozen=True)
class JoinKernel(Kernel):
    """Joins two streams.

    The state has the parts `left` and `right`, to which each batch adds rows. In an outer join
    `left-matched` and `right-matched` name those of them that had their first match in a later
    batch than their own, in a left semi join `left-gone` those that left with it.

    Attributes:
        rows: the Arrow schema of the rows: whether a row is of the right side, the keys, the
            columns of both sides.
        keys: the schema of the keys.
        semi: whether left rows come out, with their first match, instead of pairs.
        padded: the sides whose rows without a match come out when they leave the state.
        left, right: the sides.
        condition: what else a match fulfils.
    """

    rows: Any
    keys: Any
    left: JoinSide
    right: JoinSide
    semi: bool = False
    padded: tuple[str, ...] = ()
    condition: Condition | None = None

    @property
    def sides(self) -> Mapping[str, JoinSide]:
        """The sides by name."""
        return {"left": self.left, "right": self.right}

    @property
    def layouts(self) -> Mapping[str, Layout]:
        found = {}
        for name, side in self.sides.items():
            flagged = name in self.flagged
            found[name] = side.layout(self.keys, flagged=flagged)
            if flagged:
                found[self.marks(name)] = side.marks
        return found

    @property
    def input(self) -> Any:
        return self.rows

    @property
    def output(self) -> Any:
        right = () if self.semi else self.right.columns
        return pa.schema([*self.left.columns, *right])

    @property
    def evictions(self) -> Mapping[str, int | None]:
        return {part: self.sides[part.split("-")[0]].evict for part in self.layouts}

    @property
    def flagged(self) -> tuple[str, ...]:
        """The sides of whose rows it is kept whether they have had a match."""
        return ("left",) if self.semi else self.padded

    def marks(self, name: str) -> str:
        """The part of the state that names rows of a side with a match."""
        return name + (GONE if self.semi else MATCHED)

    def decide(self, rows: Input, stores: Mapping[str, StateStore]) -> Decision:
        return _Batch(self, rows, stores).decision()


class _Batch:
    """One task's rows of a batch, and what of the state has to do with them."""

    def __init__(self, kernel: JoinKernel, rows: Input, stores: Mapping[str, StateStore]) -> None:
        self.kernel = kernel
        self.stores = stores
        self.semi = kernel.semi
        self.new = {
            name: arrived(rows, own, kernel.sides[name], kernel.keys)
            for name, own in rows_by_side(rows).items()
        }
        self.kept = {name: self._found(name, _OTHER[name]) for name in self.new}

    def _found(self, name: str, other: str) -> Kept:
        """The kept rows of a side whose keys new rows of the other side have."""
        found = self.stores[name].get(self.new[other].grouped.keys)
        kept = Kept.of(found, self.kernel.sides[name], len(self.kernel.keys))
        if self.semi and name == "left":
            # Those that have come out take no part any more.
            kept = kept.take(kept.unmatched_before(self._marks(name), kept.all))
        return kept

    def decision(self) -> Decision:
        """What comes of it."""
        output = list(self._matches())
        if self.semi:
            for side in (self.kept["left"], self.new["left"]):
                output.append(take(side.columns, np.flatnonzero(side.hit)))
        changes: dict[str, Changes] = {}
        updated = removed = 0
        for name, new in self.new.items():
            flagged = name in self.kernel.flagged
            stored = self._stored(name)
            rows = new.kept(self.kernel.sides[name], self.stores[name].number, flagged=flagged)
            changes[name] = Changes(rows if stored.all() else rows.take(stored))
            updated += int(stored.sum())
            removed += int((stored & new.gone).sum())
            marks = self._first_matches(name) if flagged else None
            if marks is not None:
                changes[self.kernel.marks(name)] = Changes(marks)
            if name in self.kernel.padded:
                alone = take(new.columns, np.flatnonzero(new.gone & ~new.hit))
                count, old = self._evicted_alone(name, marks)
                removed += count
                output += [self._padded(name, found) for found in (new.unfit, *old, alone)]
            else:
                removed += self._evicted(name, marks)
        dropped = sum(new.dropped for new in self.new.values())
        figures = Figures(
            updated=updated, removed=removed, dropped=dropped, added=updated - removed
        )
        return Decision([batch for batch in output if batch.num_rows], figures, changes)

    # ----------------------------------------------------------------------------------- matches

    def _matches(self) -> Iterator[Any]:
        """The pairs that match, as output; notes which rows have a match."""
        left, right = self.new["left"], self.new["right"]
        kept_left, kept_right = self.kept["left"], self.kept["right"]
        for i, at in kept_right.of_each(left.grouped).pairs():
            yield from self._paired(left, i, kept_right, at)
        for j, at in kept_left.of_each(right.grouped).pairs():
            yield from self._paired(kept_left, at, right, j)
        for j, i in Partners.between(right.grouped, left.grouped).pairs():
            if self.semi:
                stored = ~right.gone[j]
                i, j = i[stored], j[stored]
            yield from self._paired(left, i, right, j)

    def _paired(
        self, left: Arrived | Kept, i: Int64, right: Arrived | Kept, j: Int64
    ) -> Iterator[Any]:
        if self.kernel.condition is not None:
            fine = self.kernel.condition.holds(left.columns, i, right.columns, j)
            if len(fine) < len(i):
                i, j = i[fine], j[fine]
        left.hit[i] = True
        right.hit[j] = True
        if not self.semi and len(i):
            here, there = take(left.columns, i), take(right.columns, j)
            yield columns_of([*here.columns, *there.columns], self.kernel.output, len(i))

    # ------------------------------------------------------------------------------------- state

    def _stored(self, name: str) -> Mask:
        """Which new rows Spark stores, if only until the end of the batch."""
        new = self.new[name]
        if name == "left":
            return ~new.hit if self.semi else np.ones(len(new.hit), np.bool_)
        return ~(new.gone & new.hit) if name in self.kernel.padded else ~new.gone

    def _first_matches(self, name: str) -> StateRows:
        """What names the kept rows that have their first match in this batch."""
        kept = self.kept[name]
        hit = np.flatnonzero(kept.hit)
        if not self.semi:
            hit = kept.unmatched_before(self._marks(name), hit)
        return kept.marked(hit)

    def _marks(self, name: str) -> StateStore:
        return self.stores[self.kernel.marks(name)]

    def _evicted(self, name: str, gone: StateRows | None) -> int:
        """How many kept rows leave: with the watermark, or with their first match."""
        evict = self.kernel.sides[name].evict
        count = 0 if evict is None else self.stores[name].count_expired(evict)
        if gone is None:
            return count
        count += len(gone)
        if evict is not None:
            # The watermark passes rows that count no more.
            count -= self._marks(name).count_expired(evict)
            count -= int(at_or_below(gone.times, evict).sum())
        return count

    def _evicted_alone(self, name: str, marks: StateRows | None) -> tuple[int, list[Any]]:
        """How many kept rows leave, and those of them that never had a match."""
        side = self.kernel.sides[name]
        if side.evict is None:
            return 0, []
        store = self.stores[name]
        none = self.new[name].grouped.keys.take(np.empty(0, np.int64))
        rows = store.expired(side.evict, none)
        old = Kept.of(Found(np.arange(len(rows)), rows), side, len(self.kernel.keys))
        alone = old.unmatched_before(self._marks(name), old.all)
        if marks is not None:
            alone = old.without(alone, marks)
        return len(rows), [take(old.columns, alone)]

    def _padded(self, name: str, rows: Any) -> Any:
        """Rows of one side in the output, with nulls for the other side's columns."""
        other = self.kernel.sides[_OTHER[name]]
        nulls = [pa.nulls(rows.num_rows, field.type) for field in other.columns]
        columns = [*rows.columns, *nulls] if name == "left" else [*nulls, *rows.columns]
        return columns_of(columns, self.kernel.output, rows.num_rows)
