"""The members of the objects in a block of JSON lines, found by its quotes, braces and commas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..columns.texts import cut
from .conversion import Positions

_BLANK = np.isin(np.arange(256), list(b" \t"))
_MARK = np.isin(np.arange(256), list(b'":,{}[]')).tobytes()
_BEFORE_VALUE = np.isin(np.arange(256), list(b":,["))
IN_NUMBER = np.isin(np.arange(256), list(b"-0123456789"))
"""Letters with which a number may begin."""
_DEEPER = np.zeros(256, np.int8)
_DEEPER[list(b"{[")] = 1
_DEEPER[list(b"}]")] = -1
# numpy takes a value for each byte in twice the time of bytes.translate, and what a mask chooses in
# three times that of `take` with the places where it is true.
Letters = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Texts:
    """Parts of a block: where each begins, and where it ends."""

    letters: Letters
    starts: Positions
    ends: Positions

    def first(self) -> Letters:
        """The first letter of each."""
        return self.letters.take(self.starts)

    def array(self, mask: Any = None) -> Any:
        """The texts as an Arrow array, null where a mask is true."""
        return cut(self.letters, self.starts, self.ends, mask)

    def equal_to(self, text: str) -> Positions:
        """Which of them are a text."""
        wanted = np.frombuffer(text.encode(), np.uint8)
        at = np.flatnonzero(self.ends - self.starts == len(wanted))
        for place, letter in enumerate(wanted):
            at = at[self.letters[self.starts[at] + place] == letter]
        return at

    def at(self, places: Positions) -> Texts:
        """Those at some places."""
        return Texts(self.letters, self.starts.take(places), self.ends.take(places))


@dataclass(frozen=True)
class Members:
    """Members of objects that lie equally deep, in the order in which they stand.

    Attributes:
        lines: the line of each.
        at: where each has its colon.
        names: their names, which hold nothing that is escaped.
        values: their values, without blanks around them.
    """

    lines: Positions
    at: Positions
    names: Texts
    values: Texts


class Marks:
    """The quotes of a block, and the marks outside of strings.

    Args:
        letters: a block of lines that are objects or arrays; none has a backslash.
        lines: where each line begins, and the end of the last.
    """

    def __init__(self, letters: Letters, lines: Positions) -> None:
        self._letters, self._lines = letters, lines
        at = np.flatnonzero(np.frombuffer(letters.tobytes().translate(_MARK), np.bool_))
        kinds = letters.take(at)
        quotes = kinds == ord('"')
        count = np.cumsum(quotes, dtype=np.int32)
        outside = np.flatnonzero(~quotes & (count & 1 == 0))
        self._quotes = at.take(np.flatnonzero(quotes))
        self._at, self._kinds = at.take(outside), kinds.take(outside)
        self._before = count.take(outside)

    def members(self, depth: int) -> Members:
        """The members of objects so deep in the lines: 1, those of the lines themselves."""
        depths = np.cumsum(_DEEPER.take(self._kinds), dtype=np.int32)
        here = depths == depth
        colon = here & (self._kinds == ord(":"))
        closing = (self._kinds == ord("}")) & (depths == depth - 1)
        chosen = np.flatnonzero(colon | closing | (here & (self._kinds == ord(","))))
        colons = np.flatnonzero(colon.take(chosen))
        here, behind = chosen.take(colons), chosen.take(colons + 1)
        at, ends = self._at.take(here), self._at.take(behind)
        last = self._before.take(here)
        names = Texts(self._letters, self._quotes[last - 2] + 1, self._quotes[last - 1])
        counts = np.diff(np.searchsorted(at, self._lines))
        lines = np.repeat(np.arange(len(counts)), counts)
        return Members(lines, at, names, self._trimmed(at + 1, ends))

    def lines_of(self, at: Positions) -> Positions:
        """The lines of some letters."""
        return np.searchsorted(self._lines, at, side="right") - 1

    def numbers(self) -> Texts:
        """The numbers in lines that are without blanks outside of strings."""
        before = np.flatnonzero(_BEFORE_VALUE[self._kinds])
        before = before[IN_NUMBER[self._letters[self._at[before] + 1]]]
        return Texts(self._letters, self._at[before] + 1, self._at[before + 1])

    def without_blanks(self) -> tuple[Letters, Positions]:
        """The block without blanks outside of strings, and where its lines begin and end then."""
        is_blank = (self._letters == ord(" ")) | (self._letters == ord("\t"))
        blanks = np.flatnonzero(is_blank)
        blanks = blanks[np.searchsorted(self._quotes, blanks) & 1 == 0]
        if not len(blanks):
            return self._letters, self._lines
        kept = np.ones(len(self._letters), np.bool_)
        kept[blanks] = False
        return self._letters[kept], self._lines - np.searchsorted(blanks, self._lines)

    def _trimmed(self, starts: Positions, ends: Positions) -> Texts:
        while (blank := _BLANK.take(self._letters.take(starts))).any():
            starts = starts + blank
        while (blank := _BLANK.take(self._letters.take(ends - 1))).any():
            ends = ends - blank
        return Texts(self._letters, starts, ends)
