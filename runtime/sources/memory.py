"""A source that a program feeds: for tests and examples."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...planner.model.errors import RuntimeFailure
from ...planner.model.schemas.types import StructType
from ..checkpoint import Offset
from ..frames import rows_frame, rows_table
from ..rows import in_order
from .base import Source, SourceRequest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = Sequence[object]
_VALUE_BYTES = 16  # about


class MemorySource(Source):
    """Rows added by `add`; each call is one step that a batch reads whole.

    The offset is the number of steps. The rows live in this object alone: a restart needs the same
    object. A step without rows still makes a batch, like an empty file.

    Args:
        schema: the columns.
        steps_per_trigger: how many steps a batch takes at most; None: all there are.
    """

    def __init__(self, schema: StructType, steps_per_trigger: int | None = None) -> None:
        self.schema = schema
        self.steps_per_trigger = steps_per_trigger
        self._steps: list[list[Row]] = []
        self._end: int | None = None
        self._lock = threading.Lock()

    @classmethod
    def create(cls, request: SourceRequest) -> MemorySource:
        return cls(request.needed_schema)

    @property
    def description(self) -> str:
        return f"MemoryStream[{','.join(field.name for field in self.schema.fields)}]"

    def add(self, rows: Sequence[Row | Mapping[str, object]]) -> int:
        """Add a step of rows; returns the number of steps.

        Args:
            rows: values as PySpark takes them, in the schema's order, or mappings by its names.

        Raises:
            DescriptionError: a row has other columns.
        """
        fields, what = self.schema.fields, self.description
        read: list[Row] = [tuple(in_order(row, fields, what)) for row in rows]
        with self._lock:
            self._steps.append(read)
            return len(self._steps)

    def prepare_for_available_now(self) -> None:
        self._end = len(self._steps)

    def latest_offset(self, start: Offset | None, *, unlimited: bool = False) -> Offset | None:
        first = 0 if start is None else _number(start)
        end = len(self._steps) if self._end is None else self._end
        if self.steps_per_trigger is not None and not unlimited:
            end = min(end, first + self.steps_per_trigger)
        return max(end, first) or None

    def newest_offset(self) -> Offset | None:
        return len(self._steps) or None

    def batch(self, spark: SparkSession, start: Offset | None, end: Offset) -> DataFrame:
        return rows_frame(spark, self.schema, self._rows(start, end))

    def batch_table(self, start: Offset | None, end: Offset) -> Any:
        return rows_table(self.schema, self._rows(start, end))

    def _rows(self, start: Offset | None, end: Offset) -> list[Row]:
        first, last = 0 if start is None else _number(start), _number(end)
        if last > len(self._steps):
            raise RuntimeFailure(
                "STATEPLAN_SOURCE_ROWS_GONE",
                f"{self.description} holds {len(self._steps)} steps, but the batch ends at {last}.",
                hint="A memory source cannot be restored: restart with the same source object.",
            )
        return [row for step in self._steps[first:last] for row in step]

    def batch_rows(self, start: Offset | None, end: Offset) -> int | None:
        first, last = 0 if start is None else _number(start), _number(end)
        return sum(map(len, self._steps[first:last]))

    def batch_bytes(self, start: Offset | None, end: Offset) -> int | None:
        return (self.batch_rows(start, end) or 0) * len(self.schema.fields) * _VALUE_BYTES


def _number(offset: Offset) -> int:
    assert isinstance(offset, int)
    return offset
