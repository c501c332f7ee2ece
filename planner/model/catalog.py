"""The sources that a query can name."""

from __future__ import annotations

from collections.abc import Mapping

from .frozen import dataclass
from .plans.query_plan import LogicalPlan
from .schemas.types import StructType


@dataclass(frozen=True, kw_only=True)
class Source:
    """A named source.

    Attributes:
        name: as the query names it.
        schema: its columns, all nullable as Spark reads files.
        streaming: False for a static table.
        format: `json`, `parquet`, `csv`, `orc`, `text`, `rate`, `memory`, ... Plans show a stream
            of files as `FileSource[path]`.
        either: it may be read as a stream and as a table alike, whatever `streaming` says.
        location: what stands in `FileSource[...]`; the source's name where no path is known.
        size_in_bytes: of a table's files.
        identifier: of a table in Spark's catalog: `spark_catalog.default.events`.
        given_name: a stream's name in the offset log (`DataStreamReader.name`).
    """

    name: str
    schema: StructType
    streaming: bool = True
    format: str = "json"
    location: str = ""
    either: bool = False
    size_in_bytes: int = 0
    identifier: str = ""
    given_name: str | None = None

    @property
    def plan_name(self) -> str:
        """How plans show the source: `FileSource[events]`, `rate`."""
        if self.format in ("json", "parquet", "csv", "orc", "text"):
            return f"FileSource[{self.location or self.name}]"
        return self.format


@dataclass(frozen=True, kw_only=True)
class TempView:
    """A named query, already analyzed: what `createOrReplaceTempView` leaves behind."""

    name: str
    plan: LogicalPlan


Catalog = Mapping[str, Source | TempView]
