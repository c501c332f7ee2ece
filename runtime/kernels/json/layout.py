"""Where the records of a JSON file begin and end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....planner.model.options import by_lower_name
from ..file_parts import WHOLE, FilePart
from ..readers.line_files import blocks, content


@dataclass(frozen=True)
class Layout:
    """How records lie in files.

    Attributes:
        whole: whether a file is one record, or an array of them (`multiLine`).
        separator: the one byte that ends a line (`lineSep`); None: `\\n`, `\\r\\n` or `\\r` do.
    """

    whole: bool = False
    separator: bytes | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Layout:
        """What a reader's options say, as json/support.py accepts them."""
        given = by_lower_name(options)
        separator = given.get("linesep")
        return cls(
            whole=given.get("multiline", "").lower() == "true",
            separator=None if separator is None else separator.encode(),
        )

    @property
    def in_lines(self) -> bool:
        """Whether lines end with `\\n` once they are read."""
        return not self.whole and self.separator in (None, b"\n")

    def blocks(self, path: str, part: FilePart = WHOLE) -> Iterator[bytes]:
        """The blocks of records of a file; of one that is a record, its first part has it all."""
        if not self.whole:
            yield from blocks(path, self.separator, part)
        elif not part.start:
            yield content(path)

    def records(self, block: bytes) -> list[bytes]:
        """The texts of the records of a block."""
        return [block] if self.whole else block.split(self.separator or b"\n")[:-1]
