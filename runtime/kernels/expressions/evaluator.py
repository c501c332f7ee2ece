"""What a program of expressions is asked for over a record batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .programs.program import Program
from .rows import CHUNK, Rows, Words
from .values.vectors import (
    joined,
    repeated,
    shown,
    spread,
    truths,
)

_MOST_TOO_MANY = 4
"""A condition is computed for at most so many times the rows that it is needed for."""


@dataclass(frozen=True)
class Evaluator:
    """Computes expressions over batches; small, and it can be pickled.

    Attributes:
        program: what is computed.
    """

    program: Program

    def evaluate(self, batch: Any) -> list[Any]:
        """The results, an Arrow array each, over the rows that pass the conditions.

        Args:
            batch: columns in the order in which the program numbers them.

        Raises:
            KernelError: a value cannot be computed; condition and text are Spark's.
        """
        return self.begin(batch).results()

    def select(self, batch: Any, *, encoded: bool = False) -> tuple[list[Any], Any]:
        """The results over the rows that pass the conditions, and which rows these are.

        Args:
            batch: as in `evaluate`.
            encoded: whether results may be encoded strings.

        Returns:
            The results, and a boolean array over the batch's rows; None: all rows pass.
        """
        computation = self.begin(batch)
        return computation.results(encoded=encoded), computation.kept

    def begin(self, batch: Any) -> Computation:
        """The program over a batch, or what is begun already: nothing is computed unasked."""
        if isinstance(batch, Computation):
            return batch
        words, steps = Words(batch.num_rows), self.program.steps
        parts = (Rows(steps, part, part.num_rows, words) for part in _chunks(batch))
        return Computation(self.program, [_Part(rows, self.program.conditions) for rows in parts])


class Computation:
    """What is computed of a batch: results at different times, each step once.

    Args:
        program: what is computed.
        parts: the rows.
    """

    def __init__(self, program: Program, parts: Sequence[_Part]) -> None:
        self._program = program
        self._parts = parts

    def results(
        self,
        start: int = 0,
        end: int | None = None,
        *,
        encoded: bool = False,
        encoded_lists: bool = False,
    ) -> list[Any]:
        """Some of the program's results over the rows that pass its conditions.

        Args:
            start, end: the first one, and the first behind them; None: all of the rest.
            encoded: whether they may be encoded strings.
            encoded_lists: whether they may be encoded lists, too.

        Raises:
            KernelError: a value cannot be computed.
        """
        places = self._program.results[start:end]
        parts = [
            part.results(places, encoded=encoded, encoded_lists=encoded_lists)
            for part in self._parts
        ]
        return parts[0] if len(parts) == 1 else list(map(joined, zip(*parts, strict=True)))

    @property
    def observed(self) -> list[Any]:
        """What the program observes, one array or several."""
        observed = self._program.observed
        if observed is None:
            return []
        parts = [part.after(observed.passed).rows for part in self._parts]
        return [repeated(rows.value(observed.place), rows.count) for rows in parts]

    @property
    def count(self) -> int:
        """How many rows pass the conditions."""
        return sum(part.passing.rows.count for part in self._parts)

    @property
    def kept(self) -> Any:
        """Which rows pass the conditions, a boolean array; None: all do."""
        passing = [part.passing for part in self._parts]
        if all(one.kept is None for one in passing):
            return None
        return pa.concat_arrays(
            [pa.repeat(True, p.rows.count) if p.kept is None else p.kept for p in passing]
        )

    def where(self, mask: Any) -> Computation:
        """The same of those rows alone, of the ones that pass, for which a mask is true."""
        parts, start = [], 0
        for part in self._parts:
            rows = part.passing.rows
            own = truths(mask.slice(start, rows.count))
            start += rows.count
            parts.append(_Part(rows.where(own), ()))
        return Computation(self._program, parts)


@dataclass
class _Passed:
    """The rows that pass some conditions.

    Attributes:
        rows: these.
        among: those of which they were chosen; None: they are all rows.
        mask: which of those they are.
    """

    rows: Rows
    among: _Passed | None = None
    mask: Any = None

    @cached_property
    def kept(self) -> Any:
        """Which of all rows these are; None: all."""
        if self.among is None or self.among.kept is None:
            return self.mask
        return truths(spread(self.mask, self.among.kept))

    def and_then(self, condition: int) -> _Passed:
        """Those that pass one more condition.

        One that cannot fail is computed for rows that did not pass the last one, too, if these are
        not many: to pick the others from its columns would take longer.
        """
        among, mask = self, None
        wider = self.among
        near = wider is not None and wider.rows.count <= _MOST_TOO_MANY * self.rows.count
        if wider is not None and near and not self.rows.can_stop(condition):
            among, mask = wider, self.mask
        passed = truths(repeated(among.rows.value(condition), among.rows.count))
        if mask is not None:
            passed = pc.and_(passed, mask)
        if passed.true_count == self.rows.count:
            return self
        return _Passed(among.rows.where(passed), among, passed)


class _Part:
    """Some rows of a batch, and what they have to pass."""

    def __init__(self, rows: Rows, conditions: tuple[int, ...]) -> None:
        self._conditions = conditions
        self._passed = [_Passed(rows)]

    @property
    def passing(self) -> _Passed:
        """The rows that pass all conditions."""
        return self.after(len(self._conditions))

    def after(self, count: int) -> _Passed:
        """The rows that pass the first conditions."""
        while len(self._passed) <= count:
            condition = self._conditions[len(self._passed) - 1]
            self._passed.append(self._passed[-1].and_then(condition))
        return self._passed[count]

    def results(self, places: Sequence[int], *, encoded: bool, encoded_lists: bool) -> list[Any]:
        """What steps give, an array each."""
        rows = self.passing.rows

        def value(place: int) -> Any:
            as_list = rows.kind(place)[0] == "array"
            may_be = encoded_lists if as_list else encoded
            return rows.encoded(place) if may_be else rows.value(place)

        return [shown(repeated(value(place), rows.count), rows.kind(place)) for place in places]


def _chunks(batch: Any) -> Iterable[Any]:
    if batch.num_rows <= CHUNK:
        return [batch]
    return (batch.slice(start, CHUNK) for start in range(0, batch.num_rows, CHUNK))
