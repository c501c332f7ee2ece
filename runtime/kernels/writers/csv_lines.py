"""Lines of CSV files as Spark's writer (univocity) writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..columns.distinct import each
from ..columns.texts import concatenated

_SPACE = "".join(map(chr, range(33)))
"""What is taken from the ends of values."""
_COMMENT = "#"
"""With it at its beginning the first column of a line is quoted."""


@dataclass(frozen=True, kw_only=True)
class CsvFormat:
    """How values are written.

    Attributes:
        separator, quote, escape: a sign each.
        null, empty: what stands for null, and for an empty text.
        quote_all: whether all values are quoted.
        trims_left, trims_right: whether white space at the ends of values is left out.
    """

    separator: str = ","
    quote: str = '"'
    escape: str = "\\"
    null: str = ""
    empty: str = '""'
    quote_all: bool = False
    trims_left: bool = True
    trims_right: bool = True

    @classmethod
    def of(cls, options: Mapping[str, str]) -> CsvFormat:
        """The format that options ask for; their names are in small letters."""
        usual = cls()
        return cls(
            separator=options.get("sep", options.get("delimiter", usual.separator)),
            quote=options.get("quote", usual.quote),
            escape=options.get("escape", usual.escape),
            null=options.get("nullvalue", usual.null),
            empty=options.get("emptyvalue", usual.empty),
            quote_all=_flag(options, "quoteall", False),
            trims_left=_flag(options, "ignoreleadingwhitespace", True),
            trims_right=_flag(options, "ignoretrailingwhitespace", True),
        )

    def lines(self, columns: Sequence[Any]) -> Any:
        """The lines of rows, without their ends.

        Args:
            columns: texts, an Arrow array each.
        """
        written = [self._written(column, first=not i) for i, column in enumerate(columns)]
        return concatenated(*written, between=self.separator)

    def header(self, names: Sequence[str]) -> str:
        """The line of the columns' names."""
        line: str = self.lines([pa.array([name]) for name in names])[0].as_py()
        return line

    def _written(self, column: Any, *, first: bool) -> Any:
        signs = [*map(re.escape, (self.separator, self.quote)), r"\n", r"\r"]
        special = f"^[\\x00-\\x20]|[\\x00-\\x20]$|^$|^{_COMMENT}|{'|'.join(signs)}"
        others = column.is_valid()
        if not self.quote_all:
            others = pc.match_substring_regex(column, special).fill_null(False)
        if others.true_count:  # the rest are written as they are
            changed = each(
                column.filter(others), lambda text: self._value(text, first=first), pa.string()
            )
            column = pc.replace_with_mask(column, others, changed)
        return column.fill_null(self._special(self.null, first=first))

    def _value(self, text: str, *, first: bool) -> str:
        rest = text.lstrip(_SPACE) if self.trims_left else text
        shown = rest.rstrip(_SPACE) if self.trims_right else rest
        if not shown:
            return self._special(self.empty, first=first)
        begins = rest[0] == self.quote or (first and text[0] == _COMMENT)
        held = any(sign in rest for sign in (self.separator, self.quote, "\n", "\r"))
        return self._quoted(shown) if self.quote_all or begins or held else shown

    def _special(self, text: str, *, first: bool) -> str:
        """What stands for null or an empty text; quoted as values are, unless it is already."""
        if len(text) > 1 and text[0] == text[-1] == self.quote:
            return text
        if not text:
            return self.quote * 2 if self.quote_all else text
        return self._value(text, first=first)

    def _quoted(self, text: str) -> str:
        if self.escape != self.quote:
            text = text.replace(self.escape, self.escape * 2)
        return f"{self.quote}{text.replace(self.quote, self.escape + self.quote)}{self.quote}"


def _flag(options: Mapping[str, str], name: str, usual: bool) -> bool:
    return options.get(name, str(usual)).lower() == "true"
