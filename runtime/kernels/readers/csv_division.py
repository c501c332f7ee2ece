"""Records of CSV as texts of columns: by Arrow where their bytes show that Spark divides them so.

All others are divided one by one (csv_tokens.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from ..json.errors import Uncertain
from ..json.time_columns import UncertainValue
from .csv_lines import CsvBlock
from .csv_options import CsvOptions
from .csv_tokens import BLANKS, Tokenizer, Tokens


class Division:
    """Divides records.

    Args:
        options: how they are written.
        expected: how many values each should have.
        places: those of the values that are read; where these are not all, Spark skips the others.
    """

    def __init__(self, options: CsvOptions, expected: int, places: Sequence[int]) -> None:
        self._options = options
        self._expected = expected
        self._places = places
        self.pruned = len(places) < expected
        self._tokenizer = Tokenizer(options, places if self.pruned else None)

    def tokens(self, line: str, *, first: bool, split: bool) -> Tokens:
        """The values of one record, see `Tokenizer.tokens`."""
        return self._tokenizer.tokens(line, first=first, split=split)

    def texts(
        self, block: CsvBlock, *, first: bool = False, split: bool = False
    ) -> tuple[list[Any], dict[int, int]]:
        """The texts of the columns, null for nothing.

        And of the rows with too few or too many values, how many they have: of all rows, or of none
        where some values are skipped.

        Args:
            block: the records.
            first: whether its first record is the first that a parser is given.
            split: see `Tokenizer.tokens`.

        Raises:
            UncertainValue: nobody knows what Spark makes of a record.
        """
        if not block.rows:
            return [pa.nulls(0, pa.string()) for _ in self._places], {}
        clean = block.clean(self._expected, pruned=self.pruned)
        lengths = {}
        parts: list[list[Any]] = []
        if clean.any():
            parts.append(self._by_arrow(block.bytes_of(clean), int(clean.sum())))
        others = np.flatnonzero(~clean)
        if len(others):
            rows = []
            for row in others:
                try:
                    found = self.tokens(block.text(int(row)), first=first and row == 0, split=split)
                except Uncertain as error:
                    raise UncertainValue(int(row), error) from None
                if not self.pruned and len(found) != self._expected:
                    lengths[int(row)] = len(found)
                rows.append([found[p] if p < len(found) else None for p in self._places])
            parts.append([pa.array(values, pa.string()) for values in zip(*rows, strict=True)])
        if len(parts) == 1:
            texts = parts[0]
        else:
            order = np.empty(block.rows, np.int64)
            order[np.concatenate([np.flatnonzero(clean), others])] = np.arange(block.rows)
            places = pa.array(order)
            texts = [pa.concat_arrays(both).take(places) for both in zip(*parts, strict=True)]
        null = self._options.null_value
        return [_nulled(text, null) for text in texts], lengths

    def _by_arrow(self, lines: bytes, count: int) -> list[Any]:
        """The texts of clean lines."""
        options = self._options
        names = [str(place) for place in range(self._expected)]
        wanted = [str(place) for place in self._places]
        table = pyarrow.csv.read_csv(
            pa.BufferReader(lines),
            read_options=pyarrow.csv.ReadOptions(
                use_threads=False, block_size=len(lines) + 1, column_names=names
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=CsvBlock.separator(options),
                quote_char=False if options.quote == "\0" else options.quote,
                double_quote=False,
                escape_char=False,
                newlines_in_values=options.multi_line,
                ignore_empty_lines=False,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                check_utf8=False,
                column_types={name: pa.string() for name in names},
                null_values=[""],
                strings_can_be_null=True,
                include_columns=wanted,
            ),
        )
        assert table.num_rows == count, "Arrow has found other lines"
        texts = [column.combine_chunks() for column in table.columns]
        texts = [t.chunk(0) if isinstance(t, pa.ChunkedArray) else t for t in texts]
        if options.leading or options.trailing:
            texts = [_trimmed(text, options) for text in texts]
        return texts


def _nulled(texts: Any, null_value: str) -> Any:
    """Texts, null where they are the null value."""
    if texts.null_count == len(texts):
        return texts
    same = pc.fill_null(pc.equal(texts, null_value), False)
    if not pc.any(same).as_py():
        return texts
    return pc.if_else(same, pa.scalar(None, pa.string()), texts)


def _trimmed(texts: Any, options: CsvOptions) -> Any:
    if options.leading:
        texts = pc.ascii_ltrim(texts, BLANKS)
    if options.trailing:
        texts = pc.ascii_rtrim(texts, BLANKS)
    empty = pc.fill_null(pc.equal(texts, ""), False)
    return pc.if_else(empty, pa.scalar(None, pa.string()), texts)
