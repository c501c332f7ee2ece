"""One client's session: its settings, its views, and the DataFrames it has made so far."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ...rules.analysis import analyze, inline_ctes
from ...rules.analysis.context import Context
from ...rules.analysis.expressions.expressions import Resolver
from ...rules.analysis.names.hidden_columns import may_mean_metadata, metadata_column
from ...rules.analysis.names.names import unresolved_column
from ...rules.analysis.relations.relations import source_plan
from ..incremental_execution import IncrementalExecution
from ..model.catalog import Catalog, Source, TempView
from ..model.errors import AnalysisError, StateplanError
from ..model.expressions.core import Alias, AttributeReference, Expression, Origin
from ..model.expressions.unresolved import UnresolvedAttribute, UnresolvedFunction
from ..model.frozen import dataclass
from ..model.ids import id_scope
from ..model.output_modes import OutputMode
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import WithCTE
from ..model.schemas.ddl import timestamp_type
from ..model.schemas.open_schemas import OpenSchemas
from ..model.schemas.types import StructType
from ..model.settings.conf import Conf
from ..model.text.literal_text import time_zone_scope
from ..model.text.quoting import in_quotes, to_sql_id
from ..model.tree import replace
from ..pipelines.model import Pipeline
from .failures import missing_schema, unsupported
from .guesses import Guesses
from .places import Message, origin_of, placed
from .protocol import UNKNOWN_TABLE
from .python_functions import call_of, unknown_call
from .relations import RelationReader
from .streams import StartedQuery
from .widening import Widening

if TYPE_CHECKING:
    from .pipelines.resolution import Resolution


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A DataFrame: its last operator as written over what it was made of, and its analyzed plan."""

    logical: LogicalPlan
    analyzed: LogicalPlan


class PlannerSession:
    """Plans what one client sends.

    Args:
        catalog: tables and streams by name.
        conf: the settings to start with.
    """

    def __init__(self, catalog: Catalog | None = None, conf: Conf | None = None) -> None:
        self.tables: dict[str, Source | TempView] = dict(catalog or {})
        self.views: dict[str, TempView] = {}
        # Whether SQL text may name the tables, as it may those of a catalog.
        self.named_tables = True
        # Whether a file is explained: what it asks of tables at rest has no rows.
        self.scripted = False
        self.open = OpenSchemas()
        self.guesses = Guesses(self.open)
        self.database = "default"
        self.databases: set[str] = set()
        self.settings: dict[str, str] = dict((conf or Conf()).settings)
        self.ids = itertools.count()
        self.watermarks = itertools.count()
        self.user_functions: dict[str, Message] = {}
        self.queries: dict[str, StartedQuery] = {}
        self.references: dict[int, Message] = {}
        self.pipelines: dict[str, Pipeline] = {}
        # The run of a pipeline whose data sets queries may name now.
        self.pipeline: Resolution | None = None
        # By plan id: the relation as it was sent, and its plan.
        self.frames: dict[int, tuple[bytes, Planned]] = {}
        self.widening = Widening(self)
        self._made: dict[tuple[str, bool], Message] = {}  # views, and tables written, in order
        self._reader = RelationReader(self)

    # ---------------------------------------------------------------------------------- settings

    @property
    def conf(self) -> Conf:
        """The settings as they are now."""
        return Conf(dict(self.settings))

    @property
    def retains_group_columns(self) -> bool:
        return self.settings.get("spark.sql.retainGroupColumns", "true").lower() == "true"

    @property
    def catalog(self) -> Catalog:
        """What SQL text and `spark.table` may name."""
        named = self._named_tables() if self.named_tables else {}
        return {**named, **self.guesses.tables(), **self.views}

    def _named_tables(self) -> Catalog:
        """The tables, those of the current database by their short names too."""
        start = f"{self.database}."
        short = {n.removeprefix(start): t for n, t in self.tables.items() if n.startswith(start)}
        return {**self.tables, **short}

    def full_name(self, name: str) -> str:
        """A table's name with the current database, if it says none and this one has it."""
        name = name.replace("`", "").removeprefix("spark_catalog.")
        if "." in name or self.database == "default":
            return name.removeprefix("default.")
        return f"{self.database}.{name}"

    def knows(self, name: str) -> bool:
        """Whether there is a table or view of that name."""
        known = {other.lower() for other in self.catalog}
        return name.lower() in known or self.full_name(name).lower() in known

    def add_table(
        self,
        name: str,
        schema: StructType,
        format_: str,
        location: str = "",
        query: Message | None = None,
    ) -> None:
        """A table that the script makes, of a `query` if so, to be read as a stream or at rest."""
        if query is not None:
            self._keep(name, False, query)
        database = "" if "." in name else "default."
        self.tables[name] = Source(
            name=name,
            schema=schema,
            format=format_,
            location=location,
            either=True,
            identifier="" if location else f"spark_catalog.{database}{name}",
        )

    # -------------------------------------------------------------------------------- DataFrames

    def planned(self, relation: Message, used: Sequence[Expression] = ()) -> Planned:
        """The DataFrame of a relation; the same one for the same plan id.

        What only a missing module or the data knows has the columns that the code uses: where one
        is refused, it is added, and all is planned again.

        Args:
            relation: the relation.
            used: what will be asked of its columns besides; nothing is refused for it here.

        Raises:
            StateplanError: it is refused; the message's place is put in where it is known.
        """
        while True:
            try:
                if not self.scripted or self.widening.under_way:
                    return self.replanned(relation)
                return self.widening.planned(relation, used)
            except StateplanError as error:
                # A data set of a pipeline is made when it is first read.
                inner = self.widening.under_way
                if inner or self.pipeline is None or not self.pipeline.provide(error):
                    raise

    def _keep(self, name: str, is_view: bool, relation: Message) -> None:
        self._made.pop((name, is_view), None)
        self._made[name, is_view] = relation

    def plan_again(self) -> None:
        """Forget what was planned with other columns, and plan the views with those known now."""
        self.frames.clear()
        self.open.used.clear()
        for (name, is_view), relation in self._made.items():
            if is_view and name in self.views:
                view = self.views[name]
                self.views[name] = replace(view, plan=self.replanned(relation).analyzed)
            elif not is_view and isinstance(table := self.tables.get(name), Source):
                schema = self.replanned(relation).analyzed.schema
                self.tables[name] = replace(table, schema=schema)
        if self.pipeline is not None:
            self.pipeline.plan_again()

    def replanned(self, relation: Message) -> Planned:
        """A relation with the columns that are known now.

        Raises:
            StateplanError: it is refused.
        """
        number = relation.common.plan_id if relation.common.HasField("plan_id") else None
        content = relation.SerializeToString(deterministic=True)
        if number is not None and number in self.frames:
            known, frame = self.frames[number]
            if known == content:
                return frame
        origin = origin_of(relation)
        try:
            kind = self.conf["spark.sql.timestampType"]
            with (
                id_scope(self.ids),
                time_zone_scope(self.conf.time_zone),
                timestamp_type(kind),
            ):
                statement = relation.WhichOneof("rel_type") == "sql"
                logical = self._reader.read(relation, origin)
                if self.pipeline is not None:
                    self.pipeline.check_reads(logical)
                frame = Planned(logical=logical, analyzed=self.analyzed(logical, statement))
        except StateplanError as error:
            if error.condition in UNKNOWN_TABLE:
                error.hint = "Describe its columns in a file given with --catalog."
            raise placed(error, origin) from None
        if number is not None:
            self.frames[number] = (content, frame)
        return frame

    def analyzed(self, logical: LogicalPlan, at_once: bool = False) -> LogicalPlan:
        """A plan over analyzed ones, or `at_once` a whole statement, analyzed."""
        analyzed = analyze(logical, self.catalog, self.conf, at_once=at_once)
        return inline_ctes(analyzed) if isinstance(analyzed, WithCTE) else analyzed

    def execution(
        self, frame: Planned, output_mode: OutputMode = "append", *, supported: bool = True
    ) -> IncrementalExecution:
        """The DataFrame's query.

        Args:
            frame: the DataFrame.
            output_mode: append, update or complete.
            supported: refuse what streams do not support, as starting a query does; explaining
                one does not.
        """
        return IncrementalExecution(
            frame.logical,
            catalog=self.catalog,
            output_mode=output_mode,
            conf=self.conf,
            ids=self.ids,
            analyzed=frame.analyzed,
            supported_only=supported,
        )

    def subquery(self, plan_id: int) -> LogicalPlan:
        """The plan of a DataFrame that stands in an expression of another."""
        return self._reader.subquery(self.references[plan_id])

    # ------------------------------------------------------------------------------------ columns

    def column(
        self, plan_id: int, parts: tuple[str, ...], origin: Origin | None, *, named: bool = False
    ) -> Expression:
        """`df["name"]`: the column of that DataFrame, found at once as PySpark finds it.

        Args:
            plan_id: the DataFrame's.
            parts: the name.
            origin: where it was written.
            named: give a field inside a struct the field's name.

        Raises:
            AnalysisError: the DataFrame has no such column.
        """
        plan = self._frame_of(plan_id, ".".join(parts))
        found = self.resolved_over(plan, UnresolvedAttribute(parts=parts, origin=origin))
        if found is None:
            raise unresolved_column(parts, plan.output, origin, ordered=False)
        if named and not isinstance(found, AttributeReference):
            return Alias(child=found, name=parts[-1], origin=origin)
        return found

    def columns(self, plan_id: int, name: str) -> tuple[AttributeReference, ...]:
        """`df["*"]`: all columns of that DataFrame.

        Raises:
            AnalysisError: there is no such DataFrame.
        """
        return self._frame_of(plan_id, name).output

    def _frame_of(self, plan_id: int, name: str) -> LogicalPlan:
        if plan_id not in self.frames:
            raise AnalysisError.of("CANNOT_RESOLVE_DATAFRAME_COLUMN", name=in_quotes(name))
        return self.frames[plan_id][1].analyzed

    def context(self) -> Context:
        """What analysis knows besides a plan."""
        return Context(catalog=self.catalog, conf=self.conf)

    def resolved_over(self, plan: LogicalPlan, name: UnresolvedAttribute) -> Expression | None:
        """The column of an analyzed plan that a name means, if it means one."""
        context = self.context()
        found = Resolver(plan.output, context).column(name.parts, name)
        hidden = None
        if found is None and may_mean_metadata(name.parts):
            hidden = metadata_column(plan)
        if hidden is None:
            return found
        return Resolver((hidden,), context).column(name.parts, name)

    def call(self, function: UnresolvedFunction) -> Expression:
        """A call; of a function that the session registered, if there is one of that name.

        One that nobody knows gives a text where the code may be guessed from.
        """
        name = function.name.lower()
        registered = self.user_functions.get(name)
        if registered is None and name in self.guesses.functions:
            return unknown_call(function)
        if registered is None:
            return function
        if registered.WhichOneof("function") != "python_udf":
            raise unsupported(f"The function {function.name}()", function.origin)
        return call_of(registered, function.arguments, (), function.origin)

    @property
    def named_functions(self) -> bool:
        """Whether SQL text may call functions that are not Spark's."""
        return bool(self.user_functions or self.guesses.functions)

    def called(self, node: Expression) -> Expression:
        """`call`, of a node of a parsed expression."""
        return self.call(node) if isinstance(node, UnresolvedFunction) else node

    # ------------------------------------------------------------------------------------ sources

    def catalog_source(self, name: str) -> Source:
        """A source of the catalog.

        Raises:
            DescriptionError: there is none of that name.
        """
        source = self.tables.get(name)
        if not isinstance(source, Source):
            raise missing_schema(f"the source '{name}'")
        return source

    def known_path(self, path: str) -> Source | None:
        """The catalog's entry for a directory: of the same path, or named as its last part.

        A table that the code makes may have the name of a directory that it is made from.
        """
        sources = [s for s in self.tables.values() if isinstance(s, Source)]
        wanted = path.rstrip("/")
        for source in sources:
            if source.location and source.location.rstrip("/") == wanted:
                return source
        stem = PurePosixPath(wanted).name
        stems = (stem, stem.split(".")[0])
        entries = (s for s in sources if not s.location and not s.identifier)
        return next((s for s in entries if s.name in stems), None)

    def source_plan(self, source: Source) -> LogicalPlan:
        """A source as a plan, with column ids of its own."""
        return source_plan(source, self.conf)

    def clone(self) -> PlannerSession:
        """A session of its own with these settings, views and functions."""
        other = PlannerSession(self.tables, self.conf)
        other.views.update(self.views)
        other.user_functions.update(self.user_functions)
        other.database, other.databases = self.database, set(self.databases)
        other.scripted = self.scripted
        other.ids, other.watermarks = self.ids, self.watermarks
        return other

    # -------------------------------------------------------------------------------------- views

    def create_view(self, name: str, relation: Message, *, replace_existing: bool) -> None:
        """`createOrReplaceTempView` of a relation.

        Raises:
            AnalysisError: there is one of that name, and it is not to be replaced.
        """
        if not replace_existing and name.lower() in self.views:
            raise AnalysisError.of(
                "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS", relationName=to_sql_id(name)
            )
        plan = self.planned(relation).analyzed
        self.views[name.lower()] = TempView(name=name, plan=plan)
        self._keep(name.lower(), True, relation)
