"""What a pipeline defines: data sets, the flows that write them, and who reads what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING

from ..model.expressions.core import Origin
from ..model.frozen import dataclass
from ..model.schemas.types import StructType
from .auto_cdc import AutoCdc

if TYPE_CHECKING:
    from ..incremental_execution import IncrementalExecution

CATALOG, DATABASE = "spark_catalog", "default"
Identifier = tuple[str, ...]


class DatasetKind(StrEnum):
    """What a flow may write; the text is what people read."""

    STREAMING_TABLE = "streaming table"
    MATERIALIZED_VIEW = "materialized view"
    TEMPORARY_VIEW = "temporary view"
    PERSISTED_VIEW = "view"
    SINK = "sink"

    @property
    def is_table(self) -> bool:
        """Whether it keeps rows of its own in the catalog."""
        return self in (DatasetKind.STREAMING_TABLE, DatasetKind.MATERIALIZED_VIEW)

    @property
    def is_view(self) -> bool:
        """Whether it is only a query under a name."""
        return self in (DatasetKind.TEMPORARY_VIEW, DatasetKind.PERSISTED_VIEW)

    @property
    def registered_as(self) -> str:
        """How Spark's messages call it."""
        if self.is_table:
            return "TABLE"
        return "VIEW" if self.is_view else "SINK"


@dataclass(kw_only=True, eq=False)
class _Named:
    """What has a name: of a catalog, a database and its own, or of fewer parts."""

    identifier: Identifier

    @property
    def name(self) -> str:
        """As a session's tables are named: without the default catalog and database."""
        return short_name(self.identifier)

    @property
    def full_name(self) -> str:
        """As Spark's messages name it."""
        return ".".join(self.identifier)


@dataclass(kw_only=True, eq=False)
class Dataset(_Named):
    """A table, a view or a sink that a pipeline defines.

    Attributes:
        identifier: catalog, database and name; the name alone for temporary views and sinks.
        schema: the columns that its definition declares, if it does.
        format: of a table's files, or a sink's.
        origin: the line that defines it.
    """

    kind: DatasetKind
    schema: StructType | None = None
    format: str = ""
    comment: str = ""
    partitioning: tuple[str, ...] = ()
    clustering: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    origin: Origin | None = None


@dataclass(frozen=True, kw_only=True)
class Read:
    """One input of a flow.

    Attributes:
        name: a data set of the pipeline, a table of the catalog, or a source as plans show it.
        streaming: read as a stream.
        within: the pipeline defines it.
    """

    name: str
    streaming: bool
    within: bool


@dataclass(kw_only=True, eq=False)
class Flow(_Named):
    """A query that writes a data set.

    Attributes:
        identifier: catalog, database and name.
        target: the identifier of the data set, as the flow names it.
        query: what the front end plans: a relation of Spark Connect's protocol; of a flow that an
            SQL file defines the text, until the front end takes the flow in.
        settings: Spark settings of this flow alone.
        auto_cdc: how a change flow applies its rows; its query is the source.
        database: what unqualified names in its query belong to.
        reads: its inputs; filled in when it is planned.
        execution: the planned query; None until then, and where it is refused.
        streaming: whether its query is a stream.
        once: a query at rest fills a streaming table, as on Databricks.
    """

    target: Identifier
    query: object
    settings: Mapping[str, str] = field(default_factory=dict)
    auto_cdc: AutoCdc | None = None
    database: str = DATABASE
    origin: Origin | None = None
    reads: tuple[Read, ...] = ()
    execution: IncrementalExecution | None = None
    streaming: bool = False
    once: bool = False


@dataclass(kw_only=True)
class Pipeline:
    """A graph of data sets and flows, each in the order of its definition.

    Attributes:
        name: the pipeline's.
        database: what unqualified names of data sets belong to.
        settings: Spark settings of all flows.
        databricks: written for Databricks, where LIVE stands for the pipeline's own database.
    """

    name: str = ""
    databricks: bool = False
    catalog: str = CATALOG
    database: str = DATABASE
    settings: Mapping[str, str] = field(default_factory=dict)
    datasets: list[Dataset] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)

    def identifier(self, parts: Identifier, *, database: str | None = None) -> Identifier:
        """A name with the catalog and the database that it leaves out."""
        parts = self._without_live(parts)
        if len(parts) > 2:
            return parts
        if len(parts) == 2:
            return (self.catalog, *parts)
        return (self.catalog, database or self.database, *parts)

    def found(self, parts: Identifier, *, database: str | None = None) -> Dataset | None:
        """The data set that a query means by a name: a temporary view before a table.

        Letters compare without their case. Nobody reads a sink.
        """
        parts = self._without_live(parts)
        wanted = (folded(parts), folded(self.identifier(parts, database=database)))
        readable = [d for d in self.datasets if d.kind is not DatasetKind.SINK]
        return next((d for one in wanted for d in readable if folded(d.identifier) == one), None)

    def _without_live(self, parts: Identifier) -> Identifier:
        named_so = self.databricks and len(parts) > 1 and parts[0].lower() == "live"
        return parts[1:] if named_so else parts

    def target_of(self, flow: Flow) -> Dataset | None:
        """The data set that a flow writes: a sink, where no table or view has the name."""
        sinks = [d for d in self.datasets if d.kind is DatasetKind.SINK]
        others = (d for d in self.datasets if d.kind is not DatasetKind.SINK)
        own = folded(flow.target)
        found = next((d for d in others if folded(d.identifier) == own), None)
        return found or next((d for d in sinks if folded(d.identifier) == own[-1:]), None)

    def flows_of(self, dataset: Dataset) -> list[Flow]:
        """The flows that write a data set."""
        return [flow for flow in self.flows if self.target_of(flow) is dataset]


def folded(parts: Identifier) -> Identifier:
    """A name to compare."""
    return tuple(part.lower() for part in parts)


def short_name(identifier: Identifier) -> str:
    """A name without the default catalog and database."""
    parts = identifier
    if len(parts) > 2 and parts[0] == CATALOG:
        parts = parts[1:]
    if len(parts) > 1 and parts[0] == DATABASE:
        parts = parts[1:]
    return ".".join(parts)


def is_target(target: str, name: str) -> bool:
    """Whether a table that a query names is the one of a definition of Databricks'."""
    target, name = target.lower(), name.lower()
    return target in (name, name.removeprefix("live.")) or target.endswith(f".{name}")
