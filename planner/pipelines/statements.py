"""A pipeline's SQL file: CREATE STREAMING TABLE, MATERIALIZED VIEW, VIEW and FLOW, SET and USE.

The queries in it are left as text, each in its place in the statement, for the SQL front end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field

from ..model.errors import AnalysisError
from ..model.expressions.base import Origin
from ..model.frozen import dataclass
from ..model.schemas.ddl import parse_schema
from ..model.settings.conf import Conf
from ..sql import parse
from ..sql.cursor import QUERY_WORDS
from .auto_cdc import AutoCdc
from .change_flows import read_change_flow
from .model import DATABASE, Dataset, DatasetKind, Flow, Identifier
from .refusals import bad_statement, without_condition
from .sql_files import split
from .statement_cursor import StatementCursor

_VALUE = re.compile(r"\$\{(?:spark:)?([^${}\s]+)\}")
_DATABRICKS_OF_COLUMNS = ("GENERATED", "MASK", "PRIMARY", "REFERENCES")


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What one statement defines, under the names as they are written.

    Attributes:
        dataset: what it creates; None where it creates no more than a flow.
        flow: writes the data set, or another one; its query is text. None where AS is left out.
    """

    dataset: Dataset | None = None
    flow: Flow | None = None


@dataclass(kw_only=True)
class SqlFile:
    """One file while it is read: what SET and USE say holds for what follows.

    Args:
        text: of the file.
        name: of the file, as messages name it.
        databricks: read what Spark's parser does not know: OR REFRESH, LIVE, EXPECT.
        conf: the session's settings, which `${key}` may name, too.
    """

    text: str
    name: str
    conf: Mapping[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    catalog: str | None = None
    database: str = DATABASE
    databricks: bool = False

    def statements(self, take: Callable[[Statement], None]) -> None:
        """Read all statements; `take` gets each definition when what SET and USE say is in force.

        In Databricks' files those below a refused one are read, too.

        Raises:
            AnalysisError: PARSE_SYNTAX_ERROR, or a statement that defines nothing.
        """
        refused: AnalysisError | None = None
        for line, text in split(self.text):
            origin = Origin(line=line, position=0, stop=0, source=text.strip(), file=self.name)
            text = self._with_values(text)
            try:
                found = self._statement(text, origin)
                flow = None if found is None else found.flow
                if not self.databricks:  # whose queries are changed before they are read
                    _check_query(flow, text)
            except AnalysisError as error:
                error.place = error.place or f"{self.name}:{line}"
                if not self.databricks:
                    raise
                refused = refused or error
                continue
            if found is not None:
                take(found)
        if refused is not None:
            raise refused

    def _with_values(self, text: str) -> str:
        """As Spark's VariableSubstitution, but `${key}` that is not set here stays as it is."""
        known = {**self.conf, **self.settings}
        return _VALUE.sub(lambda found: known.get(found[1], found[0]), text)

    def _statement(self, text: str, origin: Origin) -> Statement | None:
        at = StatementCursor(text)
        if at.take("SET", "CATALOG"):
            self.catalog = at.qualified_name()[0]
        elif at.take("SET"):
            key, equals, value = at.rest().strip().partition("=")
            if not equals:
                raise without_condition(
                    "Invalid SET command without value", "Write SET key = value."
                )
            self.settings[key.strip().strip("`'\"")] = value.strip().strip("'\"")
        elif at.take("USE"):
            self._use(at, text, origin)
        elif self.databricks and at.take("APPLY", "CHANGES", "INTO"):
            target = at.qualified_name()
            changes = read_change_flow(at, databricks=True)
            return Statement(flow=self._flow(target[-1:], target, origin, *changes))
        elif at.take("CREATE"):
            replaces = at.take("OR")
            if replaces and not (self.databricks and at.take("REFRESH")):
                at.need("REPLACE")
            if self.databricks:
                replaces = False
                at.take("PRIVATE")
            if kind := _kind(at, replaces=replaces, databricks=self.databricks):
                return self._created(at, kind, origin)
            if not replaces and at.take("FLOW"):
                return Statement(flow=self._created_flow(at, text, origin))
            raise _other(text, origin)
        else:
            raise _other(text, origin)
        return None

    def _use(self, at: StatementCursor, text: str, origin: Origin) -> None:
        if at.take("CATALOG"):
            if not self.databricks:
                raise at.misfit(f": extra input '{'' if at.at_end else at.token.text}'")
            self.catalog = at.qualified_name()[0]
            return
        if not any(at.take(word) for word in ("DATABASE", "SCHEMA", "NAMESPACE")):
            raise _other(text, origin)
        *catalog, self.database = at.qualified_name()[-2:]
        self.catalog = catalog[0] if catalog else self.catalog

    def _created(self, at: StatementCursor, kind: DatasetKind, origin: Origin) -> Statement:
        """A data set, behind the words that say what is created."""
        at.take("IF", "NOT", "EXISTS")
        name = at.qualified_name()
        dataset = Dataset(identifier=name, kind=kind, origin=origin)
        if at.ahead("("):
            if not self.databricks:
                _refuse_expectations(at)
            columns = at.bracket()
            if self.databricks:
                columns = without_databricks(columns)
            # Names of a view's columns change nothing in Spark's pipelines.
            dataset.schema = parse_schema(columns) if kind.is_table and columns.strip() else None
        bare = ("SELECT", "WITH") if self.databricks else ()  # a query without AS
        while not at.at_end and not any(map(at.ahead, ("AS", "FLOW", *bare))):
            self._clause(at, dataset)
        flow = None
        if kind is DatasetKind.STREAMING_TABLE and at.take("FLOW"):
            at.need("AUTO", "CDC")
            changes = read_change_flow(at, databricks=self.databricks)
            flow = self._flow(name, name, origin, *changes)
        elif at.take("AS") or any(map(at.ahead, bare)):
            flow = self._flow(name, name, origin, at.rest())
        elif kind is not DatasetKind.STREAMING_TABLE:
            raise at.misfit()
        return Statement(dataset=dataset, flow=flow)

    def _clause(self, at: StatementCursor, dataset: Dataset) -> None:
        """A clause between the name of a data set and its query."""
        is_table = dataset.kind.is_table
        if is_table and at.take("USING"):
            dataset.format = ".".join(at.qualified_name()).lower()
        elif at.take("COMMENT"):
            dataset.comment = at.string()
        elif at.take("TBLPROPERTIES") or (is_table and at.take("OPTIONS")):
            at.bracket()
        elif is_table and at.take("PARTITIONED", "BY"):
            dataset.partitioning = at.columns()
        elif is_table and at.take("CLUSTER", "BY"):
            dataset.clustering = () if self.databricks and at.take("AUTO") else at.columns()
        else:
            raise at.misfit()

    def _created_flow(self, at: StatementCursor, text: str, origin: Origin) -> Flow:
        """A flow, behind CREATE FLOW."""
        name = at.qualified_name()
        if at.take("COMMENT"):
            at.string()
        at.need("AS")
        if at.take("AUTO", "CDC"):
            at.need("INTO")
            target = at.qualified_name()
            changes = read_change_flow(at, databricks=self.databricks)
            return self._flow(name, target, origin, *changes)

        def refused(message: str) -> AnalysisError:
            return bad_statement(message, text.strip(), origin)

        if at.take("INSERT", "OVERWRITE"):
            raise refused("INSERT OVERWRITE flows not supported.")
        at.need("INSERT", "INTO")
        once = self.databricks and at.take("ONCE")
        at.take("TABLE")
        target = at.qualified_name()
        if at.take("PARTITION"):
            raise refused("Partition spec may not be specified for flow target.")
        if at.take("IF", "NOT", "EXISTS"):
            raise refused("IF NOT EXISTS not supported for flows.")
        if at.ahead("(") and not _is_query(at):
            raise refused("Column schema may not be specified for flow target.")
        if not at.take("BY", "NAME") and not self.databricks:
            parse(at.rest(), Conf())
            raise refused("Only INSERT INTO by name flows supported.")
        return self._flow(name, target, origin, at.rest(), once=once)

    def _flow(
        self,
        name: Identifier,
        target: Identifier,
        origin: Origin,
        query: str,
        auto_cdc: AutoCdc | None = None,
        *,
        once: bool = False,
    ) -> Flow:
        """A flow with what SET and USE have said so far."""
        return Flow(
            identifier=name,
            target=target,
            query=query,
            settings=dict(self.settings),
            auto_cdc=auto_cdc,
            database=self.database,
            origin=origin,
            once=once,
        )


def _check_query(flow: Flow | None, statement: str) -> None:
    """Refuse a query that is none, with the whole statement in the message."""
    if flow is None or flow.auto_cdc is not None:
        return
    query = str(flow.query)
    try:
        parse(query, Conf())
    except AnalysisError as error:
        error.message = error.message.replace(query, statement)
        first, _, rest = query.partition("\n")
        if not rest:
            error.message = error.message.replace(first, statement)
        raise


def _other(text: str, origin: Origin) -> AnalysisError:
    """A statement that defines nothing, or no statement at all."""
    words = StatementCursor(text).tokens
    first = words[0].text.upper()
    named = {
        "CREATE": "CreateTable",
        "USE": "SetCatalogAndNamespace",
        "INSERT": "InsertIntoStatement",
        "DROP": "DropTable",
    }
    node = named.get(first) or type(parse(text, Conf())).__name__
    message = f"Unsupported plan {node} parsed from SQL query"
    return bad_statement(message, text.strip(), origin)


_LIVE = (
    (("TEMPORARY", "STREAMING", "LIVE", "VIEW"), DatasetKind.TEMPORARY_VIEW),
    (("TEMPORARY", "LIVE", "VIEW"), DatasetKind.TEMPORARY_VIEW),
    (("STREAMING", "LIVE", "VIEW"), DatasetKind.TEMPORARY_VIEW),
    (("LIVE", "VIEW"), DatasetKind.TEMPORARY_VIEW),
    (("TEMPORARY", "STREAMING", "TABLE"), DatasetKind.STREAMING_TABLE),
    (("STREAMING", "LIVE", "TABLE"), DatasetKind.STREAMING_TABLE),
    (("LIVE", "TABLE"), DatasetKind.MATERIALIZED_VIEW),
)


def _kind(at: StatementCursor, *, replaces: bool, databricks: bool) -> DatasetKind | None:
    """What is created; only views are replaced."""
    if databricks:
        for words, kind in _LIVE:
            if at.take(*words):
                return kind
    if not replaces:
        if at.take("STREAMING"):
            if not at.take("TABLE"):
                raise at.misfit(": missing 'TABLE'")
            return DatasetKind.STREAMING_TABLE
        if at.take("MATERIALIZED", "VIEW"):
            return DatasetKind.MATERIALIZED_VIEW
    elif at.ahead("MATERIALIZED") or at.ahead("STREAMING"):
        raise at.misfit()
    if at.take("TEMPORARY", "VIEW") or at.take("TEMP", "VIEW"):
        return DatasetKind.TEMPORARY_VIEW
    if at.take("VIEW"):
        return DatasetKind.PERSISTED_VIEW
    return None


def _refuse_expectations(at: StatementCursor) -> None:
    """Spark's parser knows constraints of tables, and no expectations."""
    for place in range(at.index, len(at.tokens) - 2):
        first, _, third = (at.tokens[place + more].text.upper() for more in range(3))
        if (first, third) == ("CONSTRAINT", "EXPECT"):
            at.move(place + 2)
            raise at.misfit()


def without_databricks(columns: str) -> str:
    """Columns as Spark reads them: how Databricks fills and checks them changes no plan.

    Expectations and keys (CONSTRAINT), generated columns and masks are left out.
    """
    at = StatementCursor(columns)
    kept: list[str] = []
    while not at.at_end:
        start, constraint = at.index, at.ahead("CONSTRAINT")

        def stops(here: StatementCursor, start: int = start) -> bool:
            more = any(here.ahead(word) for word in _DATABRICKS_OF_COLUMNS)
            return here.ahead(",") or (more and here.index > start)

        text = at.until(stops)
        at.until(lambda here: here.ahead(","))
        at.take(",")
        if not constraint:
            kept.append(text)
    return ", ".join(kept)


def _is_query(at: StatementCursor) -> bool:
    return at.peek().text.upper() in (*QUERY_WORDS, "(")
