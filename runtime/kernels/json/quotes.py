"""Strings in single quotes, which are no JSON and which Jackson reads all the same."""

from __future__ import annotations

import re
from bisect import bisect_right

_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|["']""", re.DOTALL)
_ESCAPED = re.compile(r"""\\.|\"""", re.DOTALL)
_CHANGED = {"\\'": "'", '"': '\\"'}


class Requoted(str):
    """A text of which strings have got other quotes.

    Attributes:
        original: the text as it was.
        places: where pieces between strings begin, here and there.
    """

    original: str
    places: list[tuple[int, int]]

    def as_it_was(self, start: int, end: int) -> str:
        """What stood where now something from one sign between strings to another does."""
        return self.original[self._place(start) : self._place(end)]

    def _place(self, at: int) -> int:
        new, old = self.places[bisect_right(self.places, at, key=lambda pair: pair[0]) - 1]
        return old + at - new


def in_double_quotes(text: str) -> str:
    """A text with all its strings in double quotes; as it is, if it has none in single ones.

    It stays as it is, too, where a quote is open: whoever reads it finds the error.
    """
    if "'" not in text:
        return text
    parts: list[str] = []
    places, at, length = [(0, 0)], 0, 0
    for found in _QUOTED.finditer(text):
        quoted = found[0]
        if len(quoted) == 1:
            return text
        inner = _ESCAPED.sub(lambda one: _CHANGED.get(one[0], one[0]), quoted[1:-1])
        parts += text[at : found.start()], f'"{inner}"'
        length += found.start() - at + len(inner) + 2
        at = found.end()
        places.append((length, at))
    whole = Requoted("".join([*parts, text[at:]]))
    whole.original, whole.places = text, places
    return whole
