"""A client's stream as a logical plan; what the plan does not say is asked of the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from pyspark.errors import PySparkException
from pyspark.sql.connect import proto
from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
from pyspark.sql.connect.plan import LogicalPlan as ClientPlan

from ...planner.connect.failures import unsupported
from ...planner.connect.places import Message
from ...planner.connect.protocol import UNKNOWN_TABLE
from ...planner.connect.relations import RelationReader
from ...planner.connect.session import Planned, PlannerSession
from ...planner.connect.types import read_schema
from ...planner.described_sources import files_size
from ...planner.model.catalog import Source as Known
from ...planner.model.catalog import TempView
from ...planner.model.errors import AnalysisError, RuntimeFailure, StateplanError
from ...planner.model.expressions.core import Expression, Origin
from ...planner.model.expressions.subqueries import subqueries_in
from ...planner.model.formats import FILE_FORMATS, fixed_schema
from ...planner.model.options import by_lower_name
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.plans.relations import Relation
from ...planner.model.schemas.schema_json import type_from_json
from ...planner.model.schemas.types import StructType
from ...planner.model.settings.conf import Conf
from ...planner.model.text.spark_sql import quote
from ...planner.model.tree import replace
from ..engines.embedded_folders import with_folder_columns
from ..engines.embedded_session import is_embedded
from ..failures import innermost
from ..files import local_path
from ..frames import spark_schema
from ..listing import base_path
from ..options import Options
from ..output_log import found_files
from ..sinks.tables import table_files
from ..sources import PythonSource, Source, make_source, no_such_source
from ..sources.python import data_source
from ..sources.tables import Table
from ..streaming import stream_names
from .files_at_rest import FilesAtRest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Rows that only the client's own session has: the query's session cannot name them.
_SESSION_ONLY = (
    "cached_remote_relation",
    "cached_local_relation",
    "chunked_cached_local_relation",
)


class Sent(ClientPlan):
    """A relation as a client sent it, as a plan of PySpark's client in this process."""

    def __init__(self, relation: Message) -> None:
        super().__init__(None)
        self._relation = relation

    def plan(self, session: Any) -> Message:
        made = self._create_proto_relation()
        number = made.common.plan_id
        made.CopyFrom(self._relation)
        made.common.plan_id = number
        return made


def frame_of(spark: SparkSession, relation: Message) -> DataFrame:
    """The DataFrame of a relation that a client sent."""
    return cast("DataFrame", ConnectFrame(Sent(relation), cast(Any, spark)))


class EngineTable(Table):
    """What a query reads at rest, by the engine.

    Args:
        relation: how it is read.
        schema: the columns.
        owner: the client's session, where no other session has the rows.
    """

    def __init__(
        self, relation: Message, schema: StructType, owner: SparkSession | None = None
    ) -> None:
        self._relation = relation
        self.schema = schema
        self._owner = owner
        self._held: Any = None

    def frame(self, spark: SparkSession) -> DataFrame:
        rows = self.arrow()
        if rows is None:
            return frame_of(spark, self._relation)
        return spark.createDataFrame(rows, spark_schema(self.schema))

    def arrow(self) -> Any:
        if self._held is not None or self._owner is None:
            return self._held
        return frame_of(self._owner, self._relation).toArrow()

    def hold(self, spark: SparkSession) -> None:
        """Keep the rows that there are now: the name is about to be another view's."""
        self._held = frame_of(self._owner or spark, self._relation).toArrow()


class StreamReader(RelationReader):
    """Leaves the reading of what is at rest to the engine."""

    session: StreamReading

    def read(self, message: Message, origin: Origin | None) -> LogicalPlan:
        kind = message.WhichOneof("rel_type")
        if kind == "read" and message.read.WhichOneof("read_type") == "data_source":
            return self.session.input(message)
        if kind in _SESSION_ONLY:
            return self.session.at_rest(message, session_only=True)
        return super().read(message, origin)


class StreamReading(PlannerSession):
    """Reads one stream's plan, and keeps how its sources and tables are read.

    Args:
        spark: the client's session on the engine.
        conf: its settings.
        views: its temporary views that are streams, as relations.
        functions: its functions for SQL text, as they were registered.
        data_sources: its data sources in Python, by format.
        files: what reads files at rest on the embedded engine, whose other sessions do not see what
            this one has made; None: the engine is Spark.
    """

    def __init__(
        self,
        spark: SparkSession,
        conf: Conf,
        *,
        views: Mapping[str, Message],
        functions: Mapping[str, Message],
        data_sources: Mapping[str, Any],
        files: FilesAtRest | None,
    ) -> None:
        super().__init__({}, conf)
        self._spark = spark
        self._streaming_views = views
        self._data_sources = data_sources
        self._files = files
        self.user_functions.update(functions)
        self._reader = StreamReader(self)
        self._inputs: dict[str, tuple[Message, StructType]] = {}
        self._at_rest: dict[str, Table] = {}

    # ------------------------------------------------------------------------------ what is read

    def planned(self, relation: Message, used: Sequence[Expression] = ()) -> Planned:
        """The DataFrame of a relation; tables that it names are looked up in the engine."""
        while True:
            try:
                return super().planned(relation, used)
            except StateplanError as error:
                if error.condition not in UNKNOWN_TABLE or not self._look_up(error.subject):
                    raise

    def _look_up(self, parts: tuple[str, ...]) -> bool:
        """Make a table or view of the engine known; False if it is, or there is none."""
        name = ".".join(parts)
        if not parts or name in self.tables or name.lower() in self.views:
            return False
        read = proto.Read(
            named_table=proto.Read.NamedTable(unparsed_identifier=".".join(map(quote, parts)))
        )
        relation = proto.Relation(read=read)
        view = self._streaming_views.get(name.lower())
        if view is not None:
            self.views[name.lower()] = TempView(name=name, plan=self.planned(view).analyzed)
            return True
        with suppress(PySparkException):
            schema = self._schema(relation)
            self.tables[name] = Known(name=name, schema=schema, format="table", either=True)
            self._at_rest[name] = EngineTable(relation, schema, self.owner)
            self._inputs[name] = (read, schema)
            return True
        return False

    @property
    def owner(self) -> SparkSession | None:
        """The client's session, where the query's own does not see what that one has made."""
        return None if self._files is None else self._spark

    def input(self, relation: Message) -> LogicalPlan:
        """What `spark.read...load()` or `spark.readStream...load()` reads.

        Raises:
            StateplanError: the engine does not know its columns.
        """
        read = relation.read
        if not read.is_streaming:
            return self.at_rest(relation)
        message = read.data_source
        format_ = (message.format or self.conf["spark.sql.sources.default"]).lower()
        if format_ in self._data_sources:
            schema = self._python_source(format_, message).schema
        elif format_ in FILE_FORMATS:
            schema = self._of_files(format_, relation)
        elif message.schema:
            schema = read_schema(message.schema)
        elif fixed := fixed_schema(format_, dict(message.options)):
            schema = fixed
        elif is_embedded(self._spark):
            raise no_such_source(message.format)
        else:
            schema = self._asked(relation)
        path = _path(message)
        name = self._name(path if format_ in FILE_FORMATS and path else format_, read)
        self._inputs[name] = (read, schema)
        return self.source_plan(Known(name=name, schema=schema, format=format_, location=path))

    def _of_files(self, format_: str, relation: Message) -> StructType:
        """The columns of a stream of files.

        Those of directories' names stand behind the others, whatever a given schema says: Spark
        knows them. The embedded engine infers other columns than Spark.
        """
        message = relation.read.data_source
        if not is_embedded(self._spark):
            return self._asked(relation)
        schema = fixed_schema(format_, dict(message.options))
        if message.schema:
            schema = read_schema(message.schema)
        if schema is None and self.conf.flag("spark.sql.streaming.schemaInference"):
            at_rest = proto.Relation(read=proto.Read(data_source=message))
            return self.table(at_rest, session_only=False).schema
        if schema is None:
            raise AnalysisError.of("_LEGACY_ERROR_TEMP_2048")
        options = Options(dict(message.options), f"the source '{format_}'")
        if not _path(message):
            return schema
        location = str(local_path(_path(message), "the source"))
        base = base_path(
            location,
            recursive=options.flag("recursiveFileLookup"),
            given=options.get("basePath"),
        )
        if base is None:
            return schema
        files = found_files(location, name_glob=options.get("pathGlobFilter"))
        return with_folder_columns(schema, [file.path for file in files], base)

    def at_rest(self, relation: Message, *, session_only: bool = False) -> LogicalPlan:
        """Rows that the engine reads, whatever of."""
        message = relation.read.data_source
        table = self.table(relation, session_only)
        schema = table.schema
        format_ = "rows" if session_only else (message.format or "parquet").lower()
        name = f"{_path(message) or format_}#{len(self._at_rest)}"
        self._at_rest[name] = table
        size = sum(map(files_size, message.paths))
        source = Known(
            name=name, schema=schema, streaming=False, format=format_, size_in_bytes=size
        )
        plan = self.source_plan(source)
        if not session_only:
            return plan  # files may lack a value, whatever their schema says
        assert isinstance(plan, Relation)
        pairs = zip(plan.attributes, schema.fields, strict=True)
        attributes = tuple(replace(a, is_nullable=field.nullable) for a, field in pairs)
        return replace(plan, attributes=attributes)

    def table(self, relation: Message, session_only: bool) -> Table:
        """What has the rows of a relation; `session_only`: no session but the client's has them."""
        table = None if session_only or self._files is None else self._files.table(relation)
        if table is not None:
            return table
        owner = self._spark if session_only else self.owner
        return EngineTable(relation, self._asked(relation), owner)

    def _name(self, wanted: str, read: Message) -> str:
        """A name for a stream: the same one for what is read in the same way."""
        name, number = wanted, 1
        while name in self._inputs and self._inputs[name][0] != read:
            number += 1
            name = f"{wanted} {number}"
        return name

    def _asked(self, relation: Message) -> StructType:
        try:
            return self._schema(relation)
        except PySparkException as error:
            condition, message = innermost(error)
            raise AnalysisError(condition, message, hint="Correct what is read.") from error

    def _schema(self, relation: Message) -> StructType:
        found = type_from_json(frame_of(self._spark, relation).schema.jsonValue())
        assert isinstance(found, StructType)
        return found

    # --------------------------------------------------------------------------------- to run it

    def sources(self, plan: LogicalPlan) -> dict[str, Source]:
        """The streams of a plan, by name.

        Raises:
            StateplanError: there is no such source here, or an option of it is unusable.
        """
        return {name: self._source(name) for name in dict.fromkeys(stream_names(plan))}

    def static_tables(self, plan: LogicalPlan) -> dict[str, Table]:
        """The tables of a plan and of its subqueries, by name."""
        found: dict[str, Table] = {}
        for operator in plan.walk():
            if isinstance(operator, Relation):
                table = found[operator.name] = self._at_rest[operator.name]
                names = {field.name for field in table.schema.fields}
                if not 0 < len(names) == len(table.schema.fields):  # they are read by name
                    raise unsupported("A table at rest without columns, or with two of one name")
            for expression in operator.expressions:
                for subquery in subqueries_in(expression):
                    found |= self.static_tables(subquery.plan)
        return found

    def _source(self, name: str) -> Source:
        read, schema = self._inputs[name]
        if read.WhichOneof("read_type") == "named_table":
            return self._table_source(name, read, schema)
        message = read.data_source
        format_ = (message.format or self.conf["spark.sql.sources.default"]).lower()
        if format_ in self._data_sources:
            return self._python_source(format_, message)
        options = {key: value for key, value in message.options.items() if key.lower() != "path"}
        return make_source(
            format_,
            path=_path(message) or None,
            schema=schema if message.schema or format_ in FILE_FORMATS else None,
            options=options,
        )

    def _python_source(self, format_: str, message: Message) -> Source:
        options = Options(dict(message.options), f"the source '{format_}'")
        made = data_source(self._data_sources[format_], options, _path(message) or None)
        return PythonSource(made, read_schema(message.schema) if message.schema else None)

    def _table_source(self, name: str, read: Message, schema: StructType) -> Source:
        """A table as a stream: its files.

        Raises:
            RuntimeFailure: it is no table of files.
        """
        table = read.named_table.unparsed_identifier
        format_, location = table_files(self._spark, table)
        if format_ not in (*FILE_FORMATS, "delta") or location is None:
            raise RuntimeFailure(
                "STATEPLAN_TABLE_NOT_OF_FILES",
                f"The table '{name}' cannot be read as a stream: its provider is '{format_}'.",
                hint="Read a table of files, or of Delta.",
            )
        options = dict(read.named_table.options)
        return make_source(format_, path=location, schema=schema, options=options)


def _path(message: Message) -> str:
    """The path that `load(path)` or the option `path` names."""
    options = by_lower_name(message.options)
    return ",".join(message.paths) or str(options.get("path", ""))
