"""Rows that are in this process: a DataFrame only where the engine is needed for them.

What kernels give, what our own code reads, and what our Arrow code makes of these stays here, batch
by batch. A small batch may need no query of the engine at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from os import cpu_count
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...planner.model.schemas.types import StructType
from ..arrow_types import arrow_type, without_hidden
from ..frames import spark_schema
from ..state.rows import columns_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


Part = Iterable[Any]
"""Arrow batches, which may be asked for more than once."""
Give = Callable[[Sequence[Part], Any], "DataFrame"]
"""From parts, and PySpark's schema of uniquely named columns, to a DataFrame of the engine's."""


@dataclass(frozen=True)
class LocalRows:
    """Rows in parts, with what of a DataFrame our own code asks for; the engine has the rest.

    Attributes:
        parts: what the engine would have in a partition each.
        kind: the columns; names may repeat.
        give: makes a DataFrame.
    """

    parts: Sequence[Part]
    kind: StructType
    give: Give

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [field.name for field in self.kind.fields]

    @property
    def schema(self) -> Any:
        """The columns in PySpark's classes."""
        return spark_schema(self.kind)

    @cached_property
    def frame(self) -> DataFrame:
        """The rows as a DataFrame."""
        named = self.toDF(*(f"c{i}" for i in range(len(self.columns))))
        schema = named.arrow_schema
        parts = [_Made(part, lambda batch: [_under(schema, batch)]) for part in self.parts]
        return self.give(parts, named.schema).toDF(*self.columns)

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns in Arrow's types."""
        return pa.schema([(f.name, arrow_type(f.data_type)) for f in self.kind.fields])

    def toDF(self, *names: str) -> LocalRows:
        """The same rows under other names."""
        fields = zip(self.kind.fields, names, strict=True)
        kind = StructType(tuple(replace(f, name=name) for f, name in fields))
        return replace(self, kind=kind)

    def toArrow(self) -> pa.Table:
        """All rows, part after part."""
        schema = self.arrow_schema
        batches = [_under(schema, b) for part in each(list, self.parts) for b in part]
        return pa.Table.from_batches(batches, schema)

    def made(self, kind: StructType, make: Callable[[Any], Iterable[Any]]) -> LocalRows:
        """What a function makes of each batch."""
        return replace(self, parts=[_Made(part, make) for part in self.parts], kind=kind)

    def over_parts(
        self, kind: StructType, make: Callable[[Iterable[Any]], Iterable[Any]]
    ) -> LocalRows:
        """What a function makes of each part."""
        return replace(self, parts=[_MadeOfPart(part, make) for part in self.parts], kind=kind)

    def only(self, places: Sequence[int]) -> LocalRows:
        """Some columns by their places."""
        kind = StructType(tuple(self.kind.fields[place] for place in places))
        return self.made(kind, lambda batch: (batch.select(list(places)),))

    def seen(self, look: Callable[[Any], None]) -> LocalRows:
        """The rows, each batch of which a function sees."""

        def looked(batch: Any) -> Iterable[Any]:
            look(batch)
            return (batch,)

        return self.made(self.kind, looked)

    def together(self) -> LocalRows:
        """The rows in one part."""
        return replace(self, parts=[_Chained(self.parts)]) if len(self.parts) > 1 else self

    def kept(self) -> LocalRows:
        """The rows, made now and once."""
        return replace(self, parts=each(list, self.parts))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.frame, name)


def united(rows: Sequence[LocalRows]) -> LocalRows:
    """Rows of the same columns, in all their parts."""
    first = rows[0]
    return replace(first, parts=[part for one in rows for part in one.parts])


def dataframe(frame: DataFrame | LocalRows) -> DataFrame:
    """The rows as a DataFrame of the engine's."""
    return frame.frame if isinstance(frame, LocalRows) else frame


def each(run: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
    """A function over each part, some at a time."""
    if len(parts) < 2:
        return list(map(run, parts))
    with ThreadPoolExecutor(min(len(parts), cpu_count() or 1)) as pool:
        return list(pool.map(run, parts))


def _under(schema: pa.Schema, batch: Any) -> Any:
    """A batch under the names and types of a schema: zone and nullability may be others."""
    arrays = [
        without_hidden(array if array.type == field.type else array.cast(field.type))
        for array, field in zip(batch.columns, schema, strict=True)
    ]
    return columns_of(arrays, schema, batch.num_rows)


@dataclass(frozen=True)
class _Made:
    part: Part
    make: Callable[[Any], Iterable[Any]]

    def __iter__(self) -> Iterator[Any]:
        for batch in self.part:
            yield from self.make(batch)


@dataclass(frozen=True)
class _MadeOfPart:
    part: Part
    make: Callable[[Iterable[Any]], Iterable[Any]]

    def __iter__(self) -> Iterator[Any]:
        yield from self.make(self.part)


@dataclass(frozen=True)
class _Chained:
    parts: Sequence[Part]

    def __iter__(self) -> Iterator[Any]:
        for part in self.parts:
            yield from part
