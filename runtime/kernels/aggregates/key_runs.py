"""How the rows of a batch fall into keys, and the numbers of each key brought down to one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...state.rows import Int64, Mask
from ...state.sorting import stable_order

Numbers = npt.NDArray[Any]


class KeyRuns(Protocol):
    """Rows of keys, whose order stays that in which the rows came."""

    @property
    def codes(self) -> npt.NDArray[Any]:
        """The number of each row's key."""

    def reduce(self, function: np.ufunc, numbers: Numbers, start: Any) -> Numbers:
        """One number per key, of the numbers of its rows one after the other.

        Args:
            function: of two numbers.
            numbers: of each row.
            start: what changes nothing.
        """

    def longest(self) -> int:
        """How many rows a key has at most, or a bound of it."""


@dataclass(frozen=True)
class SortedRuns:
    """Rows that lie key by key.

    Attributes:
        starts: where each key's begin, ascending; the first is 0.
        count: how many rows there are.
    """

    starts: Int64
    count: int

    def reduce(self, function: np.ufunc, numbers: Numbers, start: Any) -> Numbers:
        if function is np.add and numbers.dtype.kind == "f":
            # reduceat would add up in another order, which rounds in another way.
            return CodedRuns(self.codes, len(self.starts)).reduce(function, numbers, start)
        reduced: Numbers = function.reduceat(numbers, self.starts, dtype=numbers.dtype)
        return reduced

    @cached_property
    def lengths(self) -> Int64:
        """How many rows each key has."""
        return np.diff(np.append(self.starts, self.count))

    @cached_property
    def codes(self) -> Int64:
        """The number of each row's key."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)

    def longest(self) -> int:
        return int(self.lengths.max(initial=0))


@dataclass(frozen=True)
class CodedRuns:
    """Rows that lie as they came.

    Attributes:
        codes: the number of each row's key.
        count: how many keys there are.
    """

    codes: npt.NDArray[Any]
    count: int

    def reduce(self, function: np.ufunc, numbers: Numbers, start: Any) -> Numbers:
        reduced = np.full(self.count, start, numbers.dtype)
        function.at(reduced, self._positions, numbers)
        return reduced

    @cached_property
    def _positions(self) -> npt.NDArray[np.intp]:
        return self.codes.astype(np.intp, copy=False)

    def longest(self) -> int:
        return len(self.codes)


@dataclass(frozen=True)
class KeyCodes:
    """Numbers of rows, the same only where their keys are.

    Equal floats of several forms may have several numbers.

    Attributes:
        codes: of each row, below the length of `first`; of 16 bits where that is enough.
        first: for each number the first row that has it.
    """

    codes: npt.NDArray[Any]
    first: Int64

    @cached_property
    def order(self) -> Int64:
        """The positions that bring rows of one number together, as they came."""
        if self.codes.dtype == np.uint16:
            return np.argsort(self.codes, kind="stable")  # by radix
        return stable_order(self.codes.astype(np.int64))


def present(valid: Mask, runs: KeyRuns) -> Mask:
    """Which keys have a row that is valid."""
    found = runs.reduce(np.maximum, valid.view(np.uint8), 0)  # `logical_or.at` is slow
    return found.view(np.bool_)
