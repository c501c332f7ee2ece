"""Parts of files, as tasks read them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FilePart:
    """Some of a file's bytes: of a file of lines, the lines that begin there.

    Attributes:
        start, end: the first byte, and the first one behind them; None: to the end of the file.
    """

    start: int = 0
    end: int | None = None

    def __contains__(self, place: int) -> bool:
        return self.start <= place and (self.end is None or place < self.end)


WHOLE = FilePart()
