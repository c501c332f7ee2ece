"""Rows that are in this process, or come here: a DataFrame only where the engine is needed.

What kernels give, what our own code reads, and what our Arrow code makes of these stays here, batch
by batch. A small batch may need no query of the engine at all. Rows of the engine's come here once,
for all that our code makes of them in a row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from os import cpu_count
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np
import pyarrow as pa

from ...planner.model.schemas.types import IntegerType, StructField, StructType
from ..arrow_types import arrow_type, without_hidden
from ..frames import spark_schema
from ..state.rows import columns_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


T = TypeVar("T")

ROW = StructType((StructField("row", IntegerType()),))
"""What stands for the columns of rows that have none."""
Part = Iterable[Any]
"""Arrow batches, which may be asked for more than once."""
Holder = Literal["batch", "query"]
"""How long rows of this process are held for the engine: until the batch, or the query, ends."""
Give = Callable[[Sequence[Part], Any, Holder], "DataFrame"]
"""From parts, and PySpark's schema of uniquely named columns, to a DataFrame of the engine's."""
Over = Callable[[Iterable[Any]], Iterable[Any]]
"""What our code makes of the batches of a part."""
Call = Callable[["DataFrame", Over, Any], "DataFrame"]
"""The DataFrame of what a function makes of each partition, under PySpark's schema."""


@dataclass(frozen=True)
class Rows(ABC):
    """What of a DataFrame our own code asks for; the engine has the rest.

    Attributes:
        kind: the columns; names may repeat.
    """

    kind: StructType

    @property
    @abstractmethod
    def frame(self) -> DataFrame:
        """The rows as a DataFrame."""

    @abstractmethod
    def over_parts(self, kind: StructType, make: Over) -> Rows:
        """What a function makes of each part."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [field.name for field in self.kind.fields]

    @property
    def schema(self) -> Any:
        """The columns in PySpark's classes."""
        return spark_schema(self.kind)

    def toDF(self, *names: str) -> Self:
        """The same rows under other names."""
        fields = zip(self.kind.fields, names, strict=True)
        kind = StructType(tuple(replace(f, name=name) for f, name in fields))
        return replace(self, kind=kind)

    def made(self, kind: StructType, make: Callable[[Any], Iterable[Any]]) -> Rows:
        """What a function makes of each batch."""

        def over(batches: Iterable[Any]) -> Iterator[Any]:
            for batch in batches:
                yield from make(batch)

        return self.over_parts(kind, over)

    def numbered(self) -> Rows:
        """Rows without columns as rows with one.

        A batch without any would lose its number of rows on the way to the engine and back.
        """
        return self.made(ROW, _with_row)

    def only(self, places: Sequence[int]) -> Rows:
        """Some columns by their places."""
        kind = StructType(tuple(self.kind.fields[place] for place in places))
        return self.made(kind, lambda batch: (batch.select(list(places)),))

    def seen(self, look: Callable[[Any], None]) -> Rows:
        """The rows, each batch of which a function sees."""

        def looked(batch: Any) -> Iterable[Any]:
            look(batch)
            return (batch,)

        return self.made(self.kind, looked)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.frame, name)


@dataclass(frozen=True)
class LocalRows(Rows):
    """Rows in parts of this process.

    Attributes:
        parts: what the engine would have in a partition each.
        give: makes a DataFrame.
        holder: for how long. What a batch makes of the rows of a query is the batch's.
    """

    parts: Sequence[Part]
    give: Give
    holder: Holder = "batch"

    @cached_property
    def frame(self) -> DataFrame:
        if not self.columns:
            return self.numbered().frame
        named = self.toDF(*(f"c{i}" for i in range(len(self.columns))))
        schema = named.arrow_schema
        renamed = named.made(named.kind, lambda batch: (_under(schema, batch),))
        return self.give(renamed.parts, named.schema, self.holder).toDF(*self.columns)

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns in Arrow's types."""
        return pa.schema([(f.name, arrow_type(f.data_type)) for f in self.kind.fields])

    def toArrow(self) -> pa.Table:
        """All rows, part after part."""
        schema = self.arrow_schema
        batches = [_under(schema, b) for part in each(list, self.parts) for b in part]
        return pa.Table.from_batches(batches, schema)

    def computed(self) -> int:
        """How many rows there are, of each of which every column is computed."""
        return sum(each(_computed, self.parts))

    def over_parts(self, kind: StructType, make: Over) -> Self:
        parts = [_Made(part, make) for part in self.parts]
        return replace(self, parts=parts, kind=kind, holder="batch")

    def coalesce(self, count: int) -> LocalRows:
        """The rows in at most so many parts, neighbours in one as Spark's CoalescedRDD has them."""
        had = len(self.parts)
        if had <= count:
            return self
        bounds = [had * i // count for i in range(count + 1)]
        parts = [_Chained(self.parts[a:b]) for a, b in pairwise(bounds)]
        return replace(self, parts=parts)

    def limit(self, count: int) -> LocalRows:
        """The first rows, part after part, in one part; of the others no more is made than needed.

        The engine would take those that come first, another time others.
        """

        def first(batches: Iterable[Any]) -> Iterator[Any]:
            left = count
            for batch in batches if count else ():
                yield batch.slice(0, left)
                left -= batch.num_rows
                if left <= 0:
                    return

        return self.coalesce(1).over_parts(self.kind, first)

    def kept(self) -> LocalRows:
        """The rows, made now and once."""
        return replace(self, parts=each(list, self.parts))


@dataclass(frozen=True)
class ComingRows(Rows):
    """Rows of the engine's on their way into this process.

    Attributes:
        below: what the engine computes.
        call: has the engine call a function.
        steps: what our code makes of them, one after the other.
    """

    below: DataFrame
    call: Call
    steps: tuple[Over, ...] = field(default=())

    @cached_property
    def frame(self) -> DataFrame:
        if not self.columns:
            return self.numbered().frame
        named = self.toDF(*(f"c{i}" for i in range(len(self.columns))))

        def back(batches: Iterable[Any]) -> Iterator[Any]:
            for batch in self.through(batches):
                arrays = list(map(without_hidden, batch.columns))
                yield pa.RecordBatch.from_arrays(arrays, names=named.columns)

        return self.call(self.below, back, named.schema).toDF(*self.columns)

    def over_parts(self, kind: StructType, make: Over) -> Self:
        return replace(self, steps=(*self.steps, make), kind=kind)

    def through(self, batches: Iterable[Any]) -> Iterable[Any]:
        """What the steps make of a partition."""
        for step in self.steps:
            batches = step(batches)
        return batches


@dataclass(frozen=True)
class FileRows(Rows):
    """Rows of files that the engine reads sooner, unless our own code is the first to take them.

    Attributes:
        below: what the engine reads, all columns, `t0` and so on.
        read: reads columns by their places; whether strings may stay encoded.
        places: those of the columns.
    """

    below: DataFrame
    read: Callable[[Sequence[int], bool], LocalRows]
    places: Sequence[int]

    @property
    def frame(self) -> DataFrame:
        return self.below.select(*(f"t{place}" for place in self.places)).toDF(*self.columns)

    def here(self, *, encoded: bool = False) -> LocalRows:
        """The rows, read by our own code."""
        return self.read(self.places, encoded).toDF(*self.columns)

    def over_parts(self, kind: StructType, make: Over) -> LocalRows:
        return self.here().over_parts(kind, make)

    def coalesce(self, count: int) -> LocalRows:
        """As `LocalRows.coalesce`."""
        return self.here().coalesce(count)

    def limit(self, count: int) -> LocalRows:
        """As `LocalRows.limit`."""
        return self.here().limit(count)

    def only(self, places: Sequence[int]) -> FileRows:
        kind = StructType(tuple(self.kind.fields[place] for place in places))
        return replace(self, kind=kind, places=[self.places[place] for place in places])


def united(rows: Sequence[LocalRows]) -> LocalRows:
    """Rows of the same columns, in all their parts."""
    first = rows[0]
    return replace(first, parts=[part for one in rows for part in one.parts])


def dataframe(frame: DataFrame | Rows) -> DataFrame:
    """The rows as a DataFrame of the engine's."""
    return frame.frame if isinstance(frame, Rows) else frame


def each(run: Callable[[Any], T], parts: Sequence[Any]) -> list[T]:
    """A function over each part, some at a time."""
    if len(parts) < 2:
        return list(map(run, parts))
    with ThreadPoolExecutor(min(len(parts), cpu_count() or 1)) as pool:
        return list(pool.map(run, parts))


def _computed(part: Part) -> int:
    return sum(batch.num_rows for batch in part)


def _with_row(batch: Any) -> Iterator[Any]:
    yield pa.RecordBatch.from_arrays([pa.array(np.zeros(batch.num_rows, np.int32))], ["row"])


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
    make: Over

    def __iter__(self) -> Iterator[Any]:
        yield from self.make(self.part)


@dataclass(frozen=True)
class _Chained:
    parts: Sequence[Part]

    def __iter__(self) -> Iterator[Any]:
        for part in self.parts:
            yield from part
