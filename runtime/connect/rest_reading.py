"""A query over rows at rest as a logical plan, for the client's own session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...planner.connect.places import Message
from ...planner.connect.rows import columns_of_arrow
from ...planner.connect.types import read_schema
from ...planner.model.expressions.core import Origin
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.schemas.types import DataType, StructType, as_nullable
from ..frames import spark_schema
from ..sinks.files import typed_rows
from ..sources.tables import Table
from .reading import StreamReader, StreamReading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class _RestReader(StreamReader):
    """Takes rows that come with a plan as they are: it may be a whole batch."""

    def read(self, message: Message, origin: Origin | None) -> LogicalPlan:
        if message.WhichOneof("rel_type") == "local_relation" and message.local_relation.data:
            return self.session.at_rest(message, session_only=True)
        return super().read(message, origin)


class RestReading(StreamReading):
    """Reads the plan of a query that runs on the client's own session."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._reader = _RestReader(self)

    def table(self, relation: Message, session_only: bool) -> Table:
        table: Table | None = None
        if relation.HasField("local_relation"):
            table = _sent_rows(relation.local_relation)
        return table or super().table(relation, session_only)

    @property
    def owner(self) -> SparkSession | None:
        return None


@dataclass(frozen=True)
class _SentRows(Table):
    """Rows that came with a plan: an Arrow table."""

    rows: Any
    schema: StructType

    def arrow(self) -> Any:
        return self.rows

    def frame(self, spark: SparkSession) -> DataFrame:
        return spark.createDataFrame(self.rows, spark_schema(self.schema))


def _sent_rows(message: Message) -> Table | None:
    """The rows of a LocalRelation; None: the engine is to convert them to the types given."""
    rows = pa.ipc.open_stream(message.data).read_all()
    own = columns_of_arrow(rows.schema)
    schema = read_schema(message.schema) if message.schema else own
    if _types(own) != _types(schema):
        return None
    names = [field.name for field in schema.fields]
    return _SentRows(typed_rows(rows, schema).rename_columns(names), schema)


def _types(schema: StructType) -> list[DataType]:
    return [as_nullable(field.data_type) for field in schema.fields]
