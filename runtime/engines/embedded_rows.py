"""How rows get from the embedded engine to our own code, and back.

They cross as Arrow batches of shared memory: the engine calls Python functions in this process.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from ...planner.model.schemas.schema_json import type_from_json
from ...planner.model.schemas.types import StructType, as_nullable
from ..frames import spark_schema
from .embedded_calls import HELD, ArrivingRows, Calling, Giving
from .embedded_plans import RememberedPlans
from .local_rows import ROW, ComingRows, FileRows, Holder, LocalRows, Over, Part, Rows, T, each

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class RowCrossing:
    """The rows that cross between the engine and our own code.

    Args:
        spark: the query's session.

    Attributes:
        failures: what our code raised when the engine called it: the engine has only its trace.
        plans: those that the engine has read.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._id = uuid.uuid4()
        self._held: dict[Holder, list[str]] = {"batch": [], "query": []}
        self._ranges: dict[int, DataFrame] = {}
        self.failures: list[Exception] = []
        self.plans = RememberedPlans(spark)

    # -------------------------------------------------------------------------------- to our code

    def arriving(self, frame: DataFrame, kind: StructType | None = None) -> Rows:
        """The rows for our own code; `kind` need not be theirs if its first step has another."""
        if isinstance(frame, Rows):
            return frame
        if kind is None:
            kind = cast("StructType", type_from_json(frame.schema.jsonValue()))
        return ComingRows(kind=kind, below=frame, call=self._mapped)

    def over_partitions(self, frame: DataFrame, take: Callable[[Iterable[Any]], T]) -> list[T]:
        """What a function makes of each partition; the engine may compute its rows for it.

        In the order of the partitions; where the engine computes them, as they come.
        """
        here = frame.here() if isinstance(frame, FileRows) else frame
        if isinstance(here, LocalRows):
            return each(take, here.parts)

        rows = self.arriving(frame, StructType(()))
        assert isinstance(rows, ComingRows)
        taken: list[T] = []

        def taking(batches: Iterable[Any]) -> Iterable[Any]:
            taken.append(take(rows.through(batches)))
            return ()

        handed = self._mapped(rows.below, taking, spark_schema(ROW))
        handed.write.format("noop").mode("overwrite").save()
        return taken

    def all_of(self, frame: DataFrame) -> list[Any]:
        """All batches."""
        return list(chain.from_iterable(self.over_partitions(frame, list)))

    def _mapped(self, frame: DataFrame, function: Over, schema: Any) -> DataFrame:
        def called(batches: Iterator[Any]) -> Iterator[Any]:
            rows = ArrivingRows(batches)
            try:
                yield from function(iter(rows))
            except Exception as error:
                if not rows.failed:
                    self.failures.append(error)
                raise

        calling = Calling(self._hold(called, "batch", str(uuid.uuid4())))
        return self.plans.remembered(frame).mapInArrow(calling, schema)

    # ------------------------------------------------------------------------------ to the engine

    def local(self, parts: Sequence[Part], kind: StructType, holder: Holder = "batch") -> DataFrame:
        """The rows of batches of this process."""
        # It stands for a DataFrame in what the engine's own methods are asked for.
        return cast("DataFrame", self.local_rows(parts, kind, holder))

    def local_rows(self, parts: Sequence[Part], kind: StructType, holder: Holder) -> LocalRows:
        """The same, for what knows where they are."""
        return LocalRows(kind, parts, self._given, holder)

    def local_table(
        self, table: Any | None, schema: StructType, holder: Holder = "batch"
    ) -> DataFrame:
        """The rows of an Arrow table, or none."""
        kind = as_nullable(schema)
        assert isinstance(kind, StructType)
        return self.local([] if table is None else [table.to_batches()], kind, holder)

    def kept(self, frame: DataFrame) -> DataFrame:
        """The rows, computed now and once, and held in this process."""
        if isinstance(frame, LocalRows):
            return cast("DataFrame", frame.kept())
        schema = frame.schema
        names = [f"c{i}" for i in range(len(frame.columns))]
        batches = self.all_of(frame.toDF(*names))
        typed = type(schema)([_renamed(f, n) for f, n in zip(schema.fields, names, strict=True)])
        return self._given([batches], typed, "batch").toDF(*frame.columns)

    def _given(self, parts: Sequence[Part], schema: Any, holder: Holder) -> DataFrame:
        """A DataFrame of the engine's: a partition for each part."""
        # The next batch's rows are to be found where this one's are: its plan is the same.
        giving = Giving(self._hold(parts, holder, f"{holder} {len(self._held[holder])}"))
        count = len(parts)
        if count not in self._ranges:  # one that has been asked for its columns
            self._ranges[count] = self._spark.range(0, count, 1, max(1, count))
        return self._ranges[count].mapInArrow(giving, schema)

    # -------------------------------------------------------------------------------- what is held

    def _hold(self, value: Any, holder: Holder, name: str) -> str:
        """Keep a value where the engine's Python functions find it, until its holder ends."""
        key = f"{self._id} {name}"
        HELD[key] = value
        self._held[holder].append(key)
        return key

    def let_go(self, holder: Holder) -> None:
        """Forget what was held so long."""
        for key in self._held[holder]:
            HELD.pop(key, None)
        self._held[holder].clear()


def _renamed(field: Any, name: str) -> Any:
    return type(field)(name, field.dataType, field.nullable)
