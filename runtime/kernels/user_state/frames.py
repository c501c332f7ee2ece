"""Rows on their way to a user's function, and from it, as PySpark's own worker converts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ...state.rows import columns_of, concat

AT_ONCE = 10_000
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


def slices(batch: Any, settings: PandasSettings) -> Iterator[Any]:
    """The rows of a group, so many at a time."""
    most = settings.most if settings.most > 0 else max(1, batch.num_rows)
    return (batch.slice(start, most) for start in range(0, batch.num_rows, most))


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
        self._rows = 0
        self._batches: list[Any] = []

    def add_frame(self, frame: Any) -> None:
        """Take in a DataFrame."""
        if not len(frame):
            return
        if self._frames and (self._rows > AT_ONCE or not _alike(self._frames[-1], frame)):
            self._convert()
        self._frames.append(frame)
        self._rows += len(frame)

    def add_rows(self, rows: Sequence[Any]) -> None:
        """Take in rows of PySpark's."""
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


def _alike(one: Any, other: Any) -> bool:
    return bool(
        len(one.columns) == len(other.columns)
        and (one.columns == other.columns).all()
        and (one.dtypes == other.dtypes).all()
    )
