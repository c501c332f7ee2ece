"""Rows on their way to a user's function, and from it, as PySpark's own worker converts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ...state.rows import Int64, columns_of, concat, take

AT_ONCE = 1_000
"""Rows of DataFrames with the same columns that are converted together."""


@dataclass(frozen=True, kw_only=True)
class PandasSettings:
    """How rows become pandas and back.

    Attributes:
        zone: the session's time zone.
        most: rows that a DataFrame has at most; a group with more comes in several.
        safe: whether a value that loses something on its way is an error.
        by_name: whether columns of a result go by their names, if these are texts.
        coerces_ints: whether whole numbers may stand for decimals.
        extension_ints: whether whole numbers with nulls stay whole.
    """

    zone: str = "UTC"
    most: int = 10_000
    safe: bool = False
    by_name: bool = True
    coerces_ints: bool = False
    extension_ints: bool = False


def series_of(batch: Any, settings: PandasSettings) -> list[Any]:
    """The columns of a record batch, under its names."""
    from pyspark.sql.conversion import ArrowBatchTransformer

    return list(
        ArrowBatchTransformer.to_pandas(
            batch, timezone=settings.zone, prefer_int_ext_dtype=settings.extension_ints
        )
    )


class Frames:
    """The rows of each group as the DataFrames that PySpark makes of them alone.

    They are converted together and cut afterwards, which is ten times as fast. Whole numbers and
    booleans become another dtype where a null is among them: groups with nulls in the same columns
    go together. What is nested is converted for each group.

    Args:
        rows: a record batch, the rows of each group together.
        starts: where each group begins, and the end of all.
        settings: how they are converted.
    """

    def __init__(self, rows: Any, starts: Int64, settings: PandasSettings) -> None:
        self._rows, self._settings = rows, settings
        lengths = np.diff(starts)
        most = settings.most if settings.most > 0 else max(1, rows.num_rows)
        counts = -(-lengths // most)
        self._first = np.concatenate([[0], np.cumsum(counts)])
        within = np.arange(self._first[-1]) - np.repeat(self._first[:-1], counts)
        self._starts = np.repeat(starts[:-1], counts) + within * most
        self._lengths = np.minimum(most, np.repeat(starts[1:], counts) - self._starts)
        self._converted: dict[int, Any] = {}
        self._kinds = self._places = np.zeros(0, np.int64)
        self._nested = any(pa.types.is_nested(kind) for kind in rows.schema.types)
        if not self._nested and len(self._starts):
            self._convert()

    def of(self, group: int) -> Iterator[Any]:
        """The rows of a group, so many at a time."""
        for piece in range(int(self._first[group]), int(self._first[group + 1])):
            whole, place = self._with(piece)
            length = int(self._lengths[piece])
            # Its own object: the user's function may write to it; nobody reads these rows again.
            frame = whole[place : place + length].copy(deep=False)
            frame.index = range(length)
            yield frame

    def first_rows(self) -> list[tuple[Any, ...]]:
        """The first row of each group."""
        first = self._first[:-1]
        if self._nested:
            return [_rows_of(self._with(int(piece))[0].iloc[:1])[0] for piece in first]
        made: list[Any] = [None] * len(first)
        for kind, frame in self._converted.items():
            groups = np.flatnonzero(self._kinds[first] == kind)
            rows = _rows_of(frame.iloc[self._places[first[groups]]])
            for group, row in zip(groups, rows, strict=True):
                made[group] = row
        return made

    def _with(self, piece: int) -> tuple[Any, int]:
        """A DataFrame that holds the rows of a piece, and from which place on."""
        if self._nested:
            rows = self._rows.slice(int(self._starts[piece]), int(self._lengths[piece]))
            return _frame(rows, self._settings), 0
        return self._converted[int(self._kinds[piece])], int(self._places[piece])

    def _convert(self) -> None:
        """Convert the pieces that have nulls in the same columns together."""
        kinds = np.zeros(len(self._starts), np.int64)
        for column in self._rows.columns:
            if column.null_count and not _keeps_dtype(column.type):
                null = column.is_null().to_numpy(zero_copy_only=False)
                _, kinds = np.unique(
                    kinds * 2 + np.logical_or.reduceat(null, self._starts), return_inverse=True
                )
        self._kinds, self._places = kinds, np.zeros(len(kinds), np.int64)
        of_rows = np.repeat(kinds, self._lengths)
        for kind in range(int(kinds.max()) + 1):
            chosen = kinds == kind
            lengths = self._lengths[chosen]
            self._places[chosen] = np.cumsum(lengths) - lengths
            rows = self._rows if chosen.all() else take(self._rows, np.flatnonzero(of_rows == kind))
            self._converted[kind] = _frame(rows, self._settings)


def _keeps_dtype(kind: Any) -> bool:
    """Whether the values of a type are of the same dtype with a null among them."""
    return not (pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _frame(batch: Any, settings: PandasSettings) -> Any:
    import pandas as pd

    return pd.concat(series_of(batch, settings), axis=1)


def _rows_of(frame: Any) -> list[tuple[Any, ...]]:
    """Rows as tuples of what a Series gives at a place: values of NumPy's or of pandas'."""
    columns = (frame.iloc[:, i].array for i in range(len(frame.columns)))
    return list(zip(*columns, strict=True))


class Emitted:
    """What a function has returned, as record batches.

    Args:
        schema: what the operator emits.
        returned: the type that the function is declared with, PySpark's.
        settings: how it is converted.
    """

    def __init__(self, schema: Any, returned: Any, settings: PandasSettings) -> None:
        self._schema, self._returned, self._settings = schema, returned, settings
        self._frames: list[Any] = []
        self._kind: list[Any] | None = None  # of each of these
        self._rows = 0
        self._batches: list[Any] = []

    def add_frame(self, frame: Any) -> None:
        """Take in a DataFrame."""
        if not len(frame):
            return
        # `dtypes` makes a Series, which takes longer than all else here.
        dtypes = [column.dtype for column in frame._iter_column_arrays()]
        kind = [frame.columns.dtype, *frame.columns, *dtypes]
        if self._rows > AT_ONCE or kind != self._kind:
            self._convert()
        self._kind = kind
        self._frames.append(frame)
        self._rows += len(frame)

    def add_rows(self, rows: Sequence[Any]) -> None:
        """Take in PySpark rows."""
        from pyspark.sql.pandas.types import to_arrow_type

        if not rows:
            return
        kind = to_arrow_type(self._returned, timezone="UTC")
        dicts = [row.asDict(True) for row in rows]
        found = pa.RecordBatch.from_pylist(dicts, schema=pa.schema(list(kind)))
        self._add(found.columns, len(dicts))

    def batch(self) -> Any:
        """All rows, under the operator's schema."""
        self._convert()
        none = [pa.array([], field.type) for field in self._schema]
        return concat(self._batches or [columns_of(none, self._schema, 0)])

    def _convert(self) -> None:
        import pandas as pd
        from pyspark.sql.conversion import PandasToArrowConversion
        from pyspark.sql.types import StructField, StructType

        if not self._frames:
            return
        frames = self._frames
        frame = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
        made = PandasToArrowConversion.convert(
            [frame],
            StructType([StructField("_0", self._returned)]),
            timezone=self._settings.zone,
            safecheck=self._settings.safe,
            arrow_cast=True,
            assign_cols_by_name=self._settings.by_name,
            int_to_decimal_coercion_enabled=self._settings.coerces_ints,
        )
        self._add(made.column(0).flatten(), len(frame))
        self._frames, self._rows = [], 0

    def _add(self, columns: Sequence[Any], count: int) -> None:
        arrays = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(columns, self._schema, strict=True)
        ]
        self._batches.append(columns_of(arrays, self._schema, count))
