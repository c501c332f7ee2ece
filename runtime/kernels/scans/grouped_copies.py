"""Copies of groups of rows in place of the copies of rows, where that leaves fewer.

A row is in several sliding windows, or grouping sets, and an aggregation groups its copies. Rows
that are alike in all that their copies' keys are made of fall into the same groups: they are
grouped first, and each group is copied, with what its rows give.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ..aggregates.key_runs import KeyCodes
from ..expressions.evaluator import Evaluator
from ..expressions.values.vectors import joined
from .early_groups import EarlyGroups, codes_of_all, key_codes
from .placed_rows import passing
from .row_copies import RowCopies


@dataclass(frozen=True)
class GroupedCopies:
    """The last step of a scan, whose copies an aggregation takes.

    Attributes:
        step: it.
        keys: of copies, what is hashed; of those that fulfil the conditions.
        columns: of copies, what buffers are made of: the same for all copies of a row.
        key_places: which of `keys` travel, in this order.
        value_places: which of `columns` do, behind them.
        early: what groups rows.
        float_sums: which buffers are sums of floats. Their last digits depend on the order of
            rows, so that each window's are added up row by row, as if rows had been copied.
    """

    step: RowCopies
    keys: Evaluator
    columns: Evaluator
    key_places: tuple[int, ...]
    value_places: tuple[int, ...]
    early: EarlyGroups
    float_sums: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        step: object,
        keys: Evaluator,
        columns: Evaluator,
        places: Sequence[int],
        early: EarlyGroups | None,
    ) -> GroupedCopies | None:
        """What groups before it copies; None: the order of rows matters, or copies differ in more.

        Args:
            step: the last one.
            keys, columns: the values of a `Scan` that are hashed, and the others.
            places: as a `Scan` has them.
            early: what groups rows; None: they are no aggregation's.
        """
        if early is None or not isinstance(step, RowCopies):
            return None
        sums = early.kernel.buffers.float_sums() if step.order == "rows" else []
        if sums is None:
            return None
        number = len(keys.program.results)
        key_places, value_places = tuple(places[: early.width]), places[early.width :]
        if any(p >= number for p in key_places) or any(p < number for p in value_places):
            return None
        if any(len({copy[c] for copy in step.copies}) > 1 for c in columns.program.read):
            return None
        if keys.program.conditions and any(one.raises for one in columns.program.steps):
            return None  # of the rows that conditions drop nothing may be computed
        value_places = tuple(place - number for place in value_places)
        return cls(step, keys, columns, key_places, value_places, early, tuple(sums))

    def over(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The copies of some batches: of groups of their rows, as `Groups`, or of rows, as batches.

        Raises:
            KernelError: a value cannot be computed.
        """
        for batch in batches:
            values, count = self.step.made(batch)
            groups = self._groups(values, count)
            yield from self.step.of_rows(values, count) if groups is None else groups

    def _groups(self, values: Sequence[Any], count: int) -> Iterable[Groups] | None:
        """The copies of groups; None: rows are too different to be grouped."""
        copies, used = self.step.copies, sorted(self.keys.program.read)
        needed = sorted({copy[column] for copy in copies for column in used})
        given = [values[place] for place in needed]
        coded = key_codes(given, count)
        if coded is None:
            return None
        first = passing([values[place] for place in copies[0]], count)
        computed = self.columns.evaluate(first)
        taken = [computed[place] for place in self.value_places]
        rows = self.early.buffers(taken, count) if self.step.order == "rows" else None
        if rows is not None and self._sees_order(rows):
            return None
        grouping = replace(self.early, width=len(given))
        made = grouping.group([*given, *taken], count, coded)
        copied = self._copied(dict(zip(needed, made, strict=False)), made[len(given) :], used)
        if not self.float_sums:
            return (groups for groups, _ in copied)
        ((groups, kept),) = copied
        return self._with_float_sums(groups, kept, coded, rows)

    def _sees_order(self, rows: Any) -> bool:
        """Whether of zeros of both signs, which are equal, the first one may be an extremum."""
        floats = [
            column.fill_null(1.0).to_numpy()
            for number, column in enumerate(rows.columns)
            if pa.types.is_floating(column.type) and number not in self.float_sums
        ]
        return any(np.signbit(values[values == 0]).any() for values in floats)

    def _copied(
        self, given: dict[int, Any], buffers: Sequence[Any], used: Sequence[int]
    ) -> Iterator[tuple[Groups, Any]]:
        """The copies of groups, and which of all copies, the first of all groups first, are kept
        (None: all are)."""
        width, groups = len(self.step.copies[0]), len(buffers[0])
        apart = self.step.order == "apart"
        unused = pa.nulls(groups)
        copies = [
            [given[copy[c]] if c in used else unused for c in range(width)]
            for copy in self.step.copies
        ]
        for some in [[copy] for copy in copies] if apart else [copies]:
            columns = [joined(parts) for parts in zip(*some, strict=True)]
            keys, kept = self.keys.select(passing(columns, groups * len(some)), encoded=True)
            parts = [pa.concat_arrays([buffer] * len(some)) for buffer in buffers]
            if kept is not None:
                parts = [part.filter(kept) for part in parts]
            travelling = [*(keys[place] for place in self.key_places), *parts]
            yield Groups(keys, travelling, len(parts[-1])), kept

    def _with_float_sums(
        self, copies: Groups, kept: Any, coded: KeyCodes, rows: Any
    ) -> list[Groups] | None:
        """The copies of groups, those of one key as one, with the sums of floats over rows.

        Args:
            copies: those of the groups of rows.
            kept: see `_copied`.
            coded: which group each row is in.
            rows: the buffers of rows.
        """
        keys = codes_of_all(copies.columns[: self.early.width], copies.count)
        if keys is None:
            return None
        groups, many = len(coded.first), len(self.step.copies)
        key_of_copy = np.full(groups * many, len(keys.first), np.int32)  # by default of no key
        at = np.arange(groups * many) if kept is None else np.flatnonzero(kept)
        key_of_copy[at] = keys.codes
        keys_of_group = np.ascontiguousarray(key_of_copy.reshape(many, groups).T)
        keys_of_row = keys_of_group[coded.codes].ravel()
        columns = self.early.merge(copies.columns, copies.count, keys)
        for number in self.float_sums:
            values = rows.column(number)
            copied = np.repeat(values.fill_null(0.0).to_numpy(), many)
            sums = np.bincount(keys_of_row, copied, len(keys.first) + 1)[:-1]
            place = self.early.width + number
            missing = columns[place].is_null().to_numpy(zero_copy_only=False)
            columns[place] = pa.array(sums, values.type, mask=missing)
        first = pa.array(keys.first)
        return [Groups([key.take(first) for key in copies.keys], columns, len(keys.first))]


@dataclass(frozen=True)
class Groups:
    """Groups of rows, as `EarlyGroups` makes them.

    Attributes:
        keys: what is hashed.
        columns: what travels to the kernel.
        count: how many groups there are.
    """

    keys: list[Any]
    columns: list[Any]
    count: int
